"""A provider's refusal, by status or inside a stream -> why the attempt failed; sends nothing."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.exchange import Refused
from everturn.outbound.retry_after import MAX_RETRY_AFTER_S, to_retry_after_s

OVERLOADED: Final = 529
"""Anthropic's own status. Source: Anthropic API, "Errors"."""

MAX_SENTENCE_CHARS: Final = 1000
"""Of a provider's own words that are kept."""

_UNREADABLE_INPUT: Final = frozenset(
    {
        "invalid_image",
        "invalid_image_format",
        "invalid_base64_image",
        "invalid_image_url",
        "invalid_image_mode",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
        "image_file_too_large",
        "image_file_not_found",
        "unsupported_image_media_type",
        "empty_image_file",
        "failed_to_download_image",
        "data_residency_mismatch",
    }
)
"""What a stream of OpenAI's Responses may end with, where there is no status to tell it by.

Source: OpenAI API, "ResponseError".
"""

_WORDS: Final = {
    **dict.fromkeys(_UNREADABLE_INPUT, FailureCode.INVALID_REQUEST),
    "rate_limit_error": FailureCode.RATE_LIMIT,
    "rate_limit_exceeded": FailureCode.RATE_LIMIT,
    "resource_exhausted": FailureCode.RATE_LIMIT,
    "throttlingexception": FailureCode.RATE_LIMIT,
    "servicequotaexceededexception": FailureCode.RATE_LIMIT,
    "overloaded_error": FailureCode.OVERLOADED,
    "overloaded": FailureCode.OVERLOADED,
    "unavailable": FailureCode.OVERLOADED,
    "serviceunavailableexception": FailureCode.OVERLOADED,
    "modelnotreadyexception": FailureCode.OVERLOADED,
    "api_error": FailureCode.SERVER,
    "server_error": FailureCode.SERVER,
    "internal": FailureCode.SERVER,
    "cancelled": FailureCode.SERVER,
    "aborted": FailureCode.SERVER,
    "internalserverexception": FailureCode.SERVER,
    "modelstreamerrorexception": FailureCode.SERVER,
    "modelerrorexception": FailureCode.SERVER,
    "timeout_error": FailureCode.TIMEOUT,
    "modeltimeoutexception": FailureCode.TIMEOUT,
    "deadline_exceeded": FailureCode.TIMEOUT,
    "context_length_exceeded": FailureCode.CONTEXT_WINDOW_EXCEEDED,
    "content_filter": FailureCode.REFUSED,
    "content_policy_violation": FailureCode.REFUSED,
    "invalid_prompt": FailureCode.REFUSED,
    "bio_policy": FailureCode.REFUSED,
    "misalignment_policy_violation": FailureCode.REFUSED,
    "image_content_policy_violation": FailureCode.REFUSED,
    "insufficient_quota": FailureCode.AUTH,
    "authentication_error": FailureCode.AUTH,
    "permission_error": FailureCode.AUTH,
    "billing_error": FailureCode.AUTH,
    "invalid_api_key": FailureCode.AUTH,
    "api_key_invalid": FailureCode.AUTH,
    "unauthenticated": FailureCode.AUTH,
    "permission_denied": FailureCode.AUTH,
    "accessdeniedexception": FailureCode.AUTH,
    "unrecognizedclientexception": FailureCode.AUTH,
    "expiredtokenexception": FailureCode.AUTH,
}
"""Codes, types and statuses of error bodies, in lower case. Source: each provider's "Errors"."""

_STATUSES: Final = {
    HTTPStatus.UNAUTHORIZED: FailureCode.AUTH,
    HTTPStatus.PAYMENT_REQUIRED: FailureCode.AUTH,
    HTTPStatus.FORBIDDEN: FailureCode.AUTH,
    HTTPStatus.REQUEST_TIMEOUT: FailureCode.TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS: FailureCode.RATE_LIMIT,
    HTTPStatus.SERVICE_UNAVAILABLE: FailureCode.OVERLOADED,
    OVERLOADED: FailureCode.OVERLOADED,
}

_TOO_LONG: Final = re.compile(
    r"prompt is too long"
    r"|input is too long"
    r"|too many (input )?tokens"
    r"|maximum context length"
    r"|exceeds? (the )?(maximum|available|model'?s?) (number of (input )?tokens|context)"
    r"|exceeds? the context window"
    r"|input length and `?max_tokens`? exceed context limit"
    r"|context (length|window|size) (is |was )?exceeded"
    r"|input token count.{0,40}(exceeds|only supports)",
    re.IGNORECASE,
)
"""How providers say in words alone that a request is too long; most have no code for it.

Anthropic, Bedrock, Gemini, and servers of OpenAI's kind (vLLM, Ollama, LiteLLM, llama.cpp).
"""

_KEY: Final = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[^\s,;'\"]+|\bBearer\s+\S+", re.IGNORECASE)
_PART_OF_A_KEY: Final = re.compile(
    r"[^\s,;'\"]*\*{2,}[^\s,;'\"]*|(?=[\w+/=-]*\d)[\w+/=-]{20,}", re.ASCII
)
"""Ends of a key beside stars; a long word with a digit in it."""

MASKED: Final = "[masked]"
"""Stands for what looks like a key."""

_DELAY: Final = re.compile(r"(\d+(?:\.\d+)?)s")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error object says."""

    sentence: str
    words: tuple[str, ...]
    """Its codes, the most telling first, as the provider spells them."""

    status: int | None = None
    retry_after_s: float | None = None


def error_body(body: Any) -> ErrorBody | None:
    """Return what a JSON value says, if it is an error of any of the providers; else nothing.

    `{"error": {message, code?, type?, status?}}`, `{"error": "…"}`, the same in a list of one, or
    `{"message": …}` alone.
    """
    value = body[0] if isinstance(body, list) and len(body) == 1 else body
    if not isinstance(value, Mapping):
        return None
    given = value.get("error", value if _is_bare(value) else None)
    if isinstance(given, str):
        return ErrorBody(given[:MAX_SENTENCE_CHARS], ())
    if not isinstance(given, Mapping):
        return None
    listed = given.get("details")
    details = (
        [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    )
    words = [one.get("reason") for one in details]
    words += [given.get(name) for name in ("code", "type", "status")]
    code = given.get("code")
    return ErrorBody(
        sentence=str(given.get("message") or "")[:MAX_SENTENCE_CHARS],
        words=tuple(word for word in words if isinstance(word, str) and word),
        status=code if isinstance(code, int) else None,
        retry_after_s=_delay(details),
    )


def _is_bare(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("message"), str) and not value.get("choices")


def _delay(details: list[Mapping[str, Any]]) -> float | None:
    """Source: google.rpc.RetryInfo."""
    for one in details:
        found = _DELAY.fullmatch(str(one.get("retryDelay") or ""))
        if found:
            return float(found[1])
    return None


def refused_request(provider: str, refused: Refused) -> ModelFailed:
    """Return why a request got no stream. Source: vocabulary, "Failures"; decision-protocol L-9."""
    try:
        said = error_body(json.loads(refused.body))
    except (ValueError, RecursionError):
        said = None
    if said is None and refused.status < HTTPStatus.BAD_REQUEST:
        return _no_stream(provider, refused)
    said = said or ErrorBody(_plain(refused), ())
    code = code_of(said, refused.status)
    headers = refused.headers
    return ModelFailed(
        f"{provider} answered {refused.status}",
        code,
        status=refused.status,
        retry_after_s=retry_after_of(headers) or said.retry_after_s,
        request_id=headers.get("x-request-id") or headers.get("request-id"),
        provider_code=next(iter(said.words), None),
        provider_message=_masked(said.sentence, code),
    )


def _no_stream(provider: str, refused: Refused) -> ModelFailed:
    """Return why an answer that is no refusal is of no use; the next one would be like it.

    Neither where a redirection leads nor what it says is kept: both may hold secrets.
    """
    told = f"{provider} answered {refused.status} without a stream of events"
    is_redirect = refused.status >= HTTPStatus.MULTIPLE_CHOICES
    if is_redirect:
        told = f"{provider} answered {refused.status}: it redirects to another address; "
        told += "set base_url to it"
    return ModelFailed(
        told,
        FailureCode.INVALID_REQUEST,
        status=refused.status,
        provider_message=None if is_redirect else _masked(_plain(refused), FailureCode.AUTH),
    )


def failed_stream(provider: str, said: ErrorBody, request_id: str | None = None) -> ModelFailed:
    """Return why a stream ended with an error in it."""
    code = code_of(said, said.status or HTTPStatus.INTERNAL_SERVER_ERROR)
    return ModelFailed(
        f"{provider} broke its answer off with an error",
        code,
        status=said.status,
        retry_after_s=said.retry_after_s,
        request_id=request_id,
        provider_code=next(iter(said.words), None),
        provider_message=_masked(said.sentence, code),
    )


def code_of(said: ErrorBody, status: int) -> FailureCode:
    """Return the cause: by the provider's code, else by its words on length, else by the status."""
    known = [_WORDS[word.lower()] for word in said.words if word.lower() in _WORDS]
    if FailureCode.CONTEXT_WINDOW_EXCEEDED in known or _is_too_long(said, status):
        return FailureCode.CONTEXT_WINDOW_EXCEEDED
    if known and not (known[0] is FailureCode.SERVER and status in _STATUSES):  # which says more
        return known[0]
    if status in _STATUSES:
        return _STATUSES[HTTPStatus(status) if status != OVERLOADED else OVERLOADED]
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return FailureCode.INVALID_REQUEST
    return FailureCode.SERVER


def _masked(sentence: str, code: FailureCode) -> str | None:
    """Return a provider's words without what looks like a key: clients of a session see them."""
    kept = _KEY.sub(MASKED, sentence)
    return (_PART_OF_A_KEY.sub(MASKED, kept) if code is FailureCode.AUTH else kept) or None


def _is_too_long(said: ErrorBody, status: int) -> bool:
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return False  # "too many tokens" a minute is a limit of the account
    return _TOO_LONG.search(said.sentence) is not None


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds to wait, by headers of lower-case names; None where none says so.

    Source: RFC 9110, 10.2.3; OpenAI's `retry-after-ms`, which is finer.
    """
    finer = headers.get("retry-after-ms", "")
    if finer.isascii() and finer.isdigit():
        return min(int(finer[:9]) / 1000, MAX_RETRY_AFTER_S)
    return to_retry_after_s(headers.get("retry-after", ""), time.time())


def _plain(refused: Refused) -> str:
    """Return a body that is no JSON, if it is text for people."""
    if "html" in refused.headers.get("content-type", ""):
        return ""
    return refused.body.decode("utf-8", "replace").strip()[:MAX_SENTENCE_CHARS]
