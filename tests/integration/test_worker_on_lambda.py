"""A worker as a Lambda handler: on the repository's sample events, and on hostile ones."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from everturn.protocol.signature import signed_headers
from everturn.workers import NotADecision, Worker

EVENTS = Path(__file__).parents[2] / "events"
SAMPLES = {path.stem: json.loads(path.read_text()) for path in sorted(EVENTS.glob("*.json"))}
POSTED = SAMPLES["sample_worker"]
DECISION = json.loads(POSTED["body"])
CONVERTED = {"actions": [{"type": "tool.result", "result": "3.107 mi"}]}

TOLD_APART = {
    "http_api": (400, "schema_violation"),
    "reader": (200, None),
    "sample_worker": (200, None),
}
"""The samples that come by payload 2.0, and what a worker says to each."""


def converting(**options: Any) -> Worker:
    worker = Worker(**options)

    @worker.tool(effect="read")
    async def convert(value: float, source: Annotated[str, Field(alias="from")], to: str) -> str:
        await asyncio.sleep(0)
        return f"{value / 1.609344:.3f} {to}" if source == "km" else "?"

    return worker


@pytest.fixture
def worker() -> Worker:
    return converting()


def told(reply: dict[str, Any]) -> tuple[int, str | None]:
    """Return the status and, where there is one, the code of a reply."""
    return reply["statusCode"], json.loads(reply["body"]).get("code")


@pytest.mark.parametrize("name", sorted(TOLD_APART))
def test_an_event_with_http_is_answered_as_http(worker: Worker, name: str) -> None:
    assert told(worker.lambda_handler(SAMPLES[name], None)) == TOLD_APART[name]


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - TOLD_APART))
def test_any_other_event_is_refused_as_what_it_is(worker: Worker, name: str) -> None:
    with pytest.raises(NotADecision, match="neither a decision request nor"):
        worker.lambda_handler(SAMPLES[name], None)


def test_a_function_url_and_an_invocation_get_the_same_answer(worker: Worker) -> None:
    posted = worker.lambda_handler(POSTED, None)
    invoked = worker.lambda_handler(DECISION, None)

    assert posted == {
        "statusCode": 200,
        "headers": {"content-type": "application/json", "cache-control": "no-store"},
        "body": json.dumps(CONVERTED, separators=(",", ":")),
        "isBase64Encoded": False,
    }
    assert invoked == CONVERTED


def test_a_body_in_base64_is_the_same_body(worker: Worker) -> None:
    packed = base64.b64encode(POSTED["body"].encode()).decode()

    reply = worker.lambda_handler({**POSTED, "body": packed, "isBase64Encoded": True}, None)

    assert json.loads(reply["body"]) == CONVERTED


def signed(body: str, secret: bytes = b"whsec", ago_s: int = 0) -> dict[str, Any]:
    headers = signed_headers(secret, body.encode(), int(time.time()) - ago_s)
    lower = {name.lower(): value for name, value in headers.items()}
    return {**POSTED, "headers": {**POSTED["headers"], **lower}, "body": body}


def test_a_worker_with_a_secret_answers_signed_posts_and_any_invocation() -> None:
    worker = converting(secret="whsec")

    assert told(worker.lambda_handler(signed(POSTED["body"]), None)) == (200, None)
    assert worker.lambda_handler(DECISION, None) == CONVERTED


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(POSTED, id="not signed"),
        pytest.param(signed(POSTED["body"], b"other"), id="other secret"),
        pytest.param(signed(POSTED["body"], ago_s=301), id="replayed"),
        pytest.param({**signed(POSTED["body"]), "body": POSTED["body"] + " "}, id="tampered"),
        pytest.param({**signed(POSTED["body"]), "headers": None}, id="no headers"),
        pytest.param(signed("{", b"other"), id="unreadable, which nobody gets to see"),
    ],
)
def test_a_post_that_is_not_vouched_for_is_refused_unread(event: dict[str, Any]) -> None:
    reply = converting(secret="whsec").lambda_handler(event, None)

    assert reply["statusCode"] == 401
    assert json.loads(reply["body"]) == {
        "error": "unauthenticated",
        "code": "unauthenticated",
        "message": "The request is not signed with a secret of this worker.",
    }


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"body": None}, (400, "invalid_json")),
        ({"body": "{"}, (400, "invalid_json")),
        ({"body": "[" * 1990}, (400, "invalid_json")),
        ({"body": "\ud800"}, (400, "invalid_json")),
        ({"body": "%%%", "isBase64Encoded": True}, (400, "invalid_json")),
        ({"body": "é", "isBase64Encoded": True}, (400, "invalid_json")),
        ({"body": "//79", "isBase64Encoded": True}, (400, "invalid_json")),
        ({"body": "[]"}, (400, "schema_violation")),
        ({"body": "{}"}, (400, "schema_violation")),
        ({"body": '{"trigger": "tool.execute"}'}, (400, "schema_violation")),
        ({"body": '"' + "x" * 2000 + '"'}, (413, "too_large")),
        ({"headers": {"Content-Length": "2001"}}, (413, "too_large")),
        ({"headers": {"content-length": "9" * 5000}}, (413, "too_large")),
        ({"headers": {"content-length": "many"}}, (200, None)),
    ],
)
def test_a_post_that_is_no_decision_request_is_told_why(
    change: dict[str, Any], answer: tuple[int, str | None]
) -> None:
    worker = converting(max_body_bytes=2000)

    assert told(worker.lambda_handler({**POSTED, **change}, None)) == answer


@pytest.mark.parametrize(
    ("method", "status"),
    [("GET", 200), ("HEAD", 200), ("PUT", 405), ("DELETE", 405), ("OPTIONS", 405), ("PATCH", 405)],
)
def test_a_worker_takes_posts_and_says_that_it_is_there(method: str, status: int) -> None:
    worker = converting(secret="whsec")

    reply = worker.lambda_handler({"requestContext": {"http": {"method": method}}}, None)

    assert reply["statusCode"] == status
    assert ("allow" in reply["headers"]) == (status == 405)
    assert status == 405 or json.loads(reply["body"]) == {"ok": True}


def test_secrets_that_cannot_be_read_mean_that_nothing_was_started() -> None:
    def unreadable() -> list[str]:
        raise OSError("no route")

    reply = converting(secrets=unreadable).lambda_handler(signed(POSTED["body"]), None)

    assert told(reply) == (503, "secret_unavailable")
    assert reply["headers"]["retry-after"] == "1"


def test_a_handler_that_fails_is_a_500_without_detail_or_a_failed_invocation(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    @worker.on("session.start")
    async def start(_request: Any) -> None:
        raise LookupError("hunter2")

    request = {"trigger": {"type": "session.start"}}
    reply = worker.lambda_handler({**POSTED, "body": json.dumps(request)}, None)

    assert told(reply) == (500, "internal")
    assert "hunter2" not in reply["body"]
    assert [record.getMessage() for record in caplog.records] == ["the worker could not answer"]
    with pytest.raises(LookupError):
        worker.lambda_handler(request, None)


def test_invocations_in_several_threads_do_not_meet(worker: Worker) -> None:
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(worker.lambda_handler(DECISION)))
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert answers == [CONVERTED] * 8
