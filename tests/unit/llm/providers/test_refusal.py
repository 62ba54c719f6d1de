"""Refusals of providers, as they word them, and what each means."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from everturn.llm.failure import FailureCode, consequence, detail_of
from everturn.llm.providers.exchange import Refused
from everturn.llm.providers.refusal import (
    MAX_SENTENCE_CHARS,
    ErrorBody,
    error_body,
    failed_stream,
    refused_request,
)

JSON = {"content-type": "application/json"}


def refused(status: int, body: Any = None, **headers: str) -> Refused:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Refused(status, {**JSON, **named}, content)


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (429, error("Slow down.", type="rate_limit_error"), FailureCode.RATE_LIMIT),
        (429, error("Too many tokens, please wait.", type="x"), FailureCode.RATE_LIMIT),
        (429, None, FailureCode.RATE_LIMIT),
        (503, None, FailureCode.OVERLOADED),
        (529, error("Overloaded", type="overloaded_error"), FailureCode.OVERLOADED),
        (529, None, FailureCode.OVERLOADED),
        (500, None, FailureCode.SERVER),
        (502, b"<html>Bad gateway</html>", FailureCode.SERVER),
        (504, None, FailureCode.SERVER),
        (408, None, FailureCode.TIMEOUT),
        (401, error("Incorrect key", code="invalid_api_key"), FailureCode.AUTH),
        (403, None, FailureCode.AUTH),
        (402, error("Add credits"), FailureCode.AUTH),
        (404, error("model: no-such", type="not_found_error"), FailureCode.INVALID_REQUEST),
        (400, error("messages: bad", type="invalid_request_error"), FailureCode.INVALID_REQUEST),
        (413, error("Request too large", type="request_too_large"), FailureCode.INVALID_REQUEST),
        (400, error("x", code="context_length_exceeded"), FailureCode.CONTEXT_WINDOW_EXCEEDED),
        (
            400,
            error("prompt is too long: 212345 tokens > 200000 maximum", type="x_error"),
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (
            400,
            error("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"),
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (
            400,
            error("This model's maximum context length is 8192 tokens. You asked for 9000"),
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (
            400,
            error("The input token count (1200000) exceeds the maximum number of tokens allowed"),
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (
            400,
            {"message": "Input is too long for requested model."},
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
        ),
        (400, error("no", code="content_policy_violation"), FailureCode.REFUSED),
        (
            400,
            error("No.", status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}]),
            FailureCode.AUTH,
        ),
        (400, {"error": "plain words"}, FailureCode.INVALID_REQUEST),
        (400, b"not json", FailureCode.INVALID_REQUEST),
        (301, error("Moved."), FailureCode.INVALID_REQUEST),
        (200, error("Overloaded", type="overloaded_error"), FailureCode.OVERLOADED),
    ],
)
def test_each_refusal_has_its_cause(status: int, body: Any, code: FailureCode) -> None:
    """Vocabulary, "Failures"; L-9."""
    failed = refused_request("Acme", refused(status, body))

    assert (failed.code, failed.status) == (code, status)
    assert failed.message == f"Acme answered {status}"


def test_context_overflow_is_final_until_somebody_compacts() -> None:
    assert not consequence(FailureCode.CONTEXT_WINDOW_EXCEEDED).retryable


def test_the_detail_keeps_the_providers_own_words_and_ids() -> None:
    body = error("messages.0: bad", type="invalid_request_error")

    failed = refused_request("Acme", refused(400, body, request_id="req_1"))

    assert detail_of(failed) == {
        "reason": "invalid_request",
        "status": 400,
        "request_id": "req_1",
        "provider_code": "invalid_request_error",
        "provider_message": "messages.0: bad",
    }


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "7", "retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "soon"}, None),
        ({"retry_after_ms": "99999999999"}, 3600.0),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    failed = refused_request("Acme", refused(429, error("Slow down."), **headers))

    assert failed.retry_after_s == seconds


def test_gemini_says_in_the_body_how_long_to_wait() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}]

    failed = refused_request(
        "Gemini",
        refused(429, [error("Quota.", code=429, status="RESOURCE_EXHAUSTED", details=details)]),
    )

    assert (failed.code, failed.retry_after_s) == (FailureCode.RATE_LIMIT, 13.5)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_sentence_is_kept_up_to_its_limit(extra: int) -> None:
    chars = MAX_SENTENCE_CHARS + extra

    failed = refused_request("Acme", refused(400, error("x" * chars)))

    assert failed.provider_message == "x" * min(chars, MAX_SENTENCE_CHARS)


def test_pages_for_people_are_not_kept() -> None:
    page = Refused(502, {"content-type": "text/html"}, b"<html>Bad gateway</html>")

    assert refused_request("Acme", page).provider_message is None
    plain = Refused(502, {"content-type": "text/plain"}, b" upstream \n")
    assert refused_request("Acme", plain).provider_message == "upstream"


@pytest.mark.parametrize("body", [None, 3, "x", [], [1, 2], {}, {"choices": [], "id": "x"}])
def test_what_is_no_error_is_none(body: Any) -> None:
    assert error_body(body) is None


def test_an_error_in_a_stream_counts_like_a_status() -> None:
    said = error_body({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}})

    assert said == ErrorBody("Busy", ("overloaded_error",))
    failed = failed_stream("Anthropic", said, "req_2")
    assert (failed.code, failed.request_id) == (FailureCode.OVERLOADED, "req_2")
    unknown = failed_stream("Acme", ErrorBody("?", ()))
    assert (unknown.code, unknown.status) == (FailureCode.SERVER, None)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_base_url_that_redirects_is_told_and_not_tried_again(status: int) -> None:
    secret = "https://example.com/v1?token=s3cret"
    moved = Refused(status, {"location": secret, "content-type": "text/plain"}, secret.encode())

    failed = refused_request("Acme", moved)

    assert failed.code is FailureCode.INVALID_REQUEST
    assert failed.message == (
        f"Acme answered {status}: it redirects to another address; set base_url to it"
    )
    assert "s3cret" not in str(detail_of(failed))


@pytest.mark.parametrize("body", [{"id": "x", "choices": []}, {}, [], b"Welcome to nginx!", b""])
def test_a_page_instead_of_a_stream_is_told_and_not_tried_again(body: Any) -> None:
    failed = refused_request("Acme", refused(200, body))

    assert failed.code is FailureCode.INVALID_REQUEST
    assert failed.message == "Acme answered 200 without a stream of events"


KEYS = [
    "Incorrect API key provided: sk-proj-****************aB3d. You can find your API key here.",
    "Received API Key = sk-...aB3d, Key Hash (Token) =88dc28d0f030c55ed4ab77ed8faf0981",
    "Your api key: ****aB3d is invalid",
    "invalid header: Bearer aB3d",
    "no such key 0123456789abcdef0123456789aB3d",
]


@pytest.mark.parametrize("told", KEYS)
def test_whoever_sees_a_session_sees_no_end_of_a_key(told: str) -> None:
    refusal = refused_request("Acme", refused(401, error(told)))
    broken = failed_stream("Acme", ErrorBody(told, ("invalid_api_key",)))

    for failed in (refusal, broken):
        assert failed.code is FailureCode.AUTH
        assert failed.provider_message is not None
        assert "[masked]" in failed.provider_message
        assert not re.search("aB3d|88dc28d0", failed.provider_message)


def test_words_without_a_key_stay_as_they_are() -> None:
    told = "Your credit balance is too low: see https://example.com/settings/billing."

    assert refused_request("Acme", refused(402, error(told))).provider_message == told
    model = "The model claude-haiku-4-5-20251001 is not there"
    assert refused_request("Acme", refused(404, error(model))).provider_message == model
