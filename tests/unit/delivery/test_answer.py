"""W-8, D-6 to D-9, O-11: what came of a delivery, told as a fact."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pytest

from everturn.delivery.answer import AnswerHead, read_answer
from everturn.outbound.retry_after import to_retry_after_s
from everturn.ports.decider import Answered, Deferred, DeliveryFailed, WorkerAnswer
from everturn.protocol.decision import DecisionResponse
from everturn.protocol.limits import MAX_DECISION_BODY_BYTES, MAX_SSE_FRAME_BYTES

NOW = 1_800_000_000.0
JSON = AnswerHead(200, "application/json; charset=utf-8")
STREAM = AnswerHead(200, "text/event-stream")
EMPTY = Answered(DecisionResponse())


def read(head: AnswerHead, *chunks: bytes) -> WorkerAnswer:
    return read_answer(head, chunks, now_epoch_s=NOW)


def invalid(error: str, code: str = "invalid_json", status: int = 200) -> DeliveryFailed:
    return DeliveryFailed(error, code, True, "unknown", status, invalid=True)


@pytest.mark.parametrize("content_type", ["application/json", "", "Application/Vnd.X+JSON;a=b"])
def test_a_json_answer_is_a_decision(content_type: str) -> None:
    answer = read(AnswerHead(200, content_type), b'{"st', b'ate": {"a": 1}}')

    assert answer == Answered(DecisionResponse(state={"a": 1}))


@pytest.mark.parametrize("body", [b"", b" \n"])
def test_202_with_nothing_in_it_promises_an_answer(body: bytes) -> None:
    answer = read(AnswerHead(202, "text/plain"), body)

    assert answer == Deferred()


def test_202_with_a_decision_is_an_answer() -> None:
    answer = read(AnswerHead(202, "application/json"), b"{}")

    assert answer == EMPTY


@pytest.mark.parametrize(
    ("head", "body", "failure"),
    [
        pytest.param(JSON, b"", invalid("the answer is empty"), id="empty 200"),
        pytest.param(
            AnswerHead(204), b"", invalid("the answer is empty", status=204), id="no content"
        ),
        pytest.param(
            AnswerHead(200, "text/html; charset=utf-8"),
            b"<html>secret</html>",
            invalid("the worker answered text/html instead of JSON"),
            id="html",
        ),
        pytest.param(
            AnswerHead(200, 'evil "secret"/x'),
            b"{}",
            invalid("the worker answered something unnamed instead of JSON"),
            id="a content type that is none",
        ),
        pytest.param(
            JSON,
            b"{secret",
            invalid("not JSON: Expecting property name enclosed in double quotes at character 1"),
            id="not JSON",
        ),
        pytest.param(
            JSON,
            b'{"secret": 1}',
            invalid("/secret: unknown field", "schema_violation"),
            id="unknown field",
        ),
        pytest.param(
            JSON,
            b'{"actions": [{"type": "tool.call", "name": "t", "arguments": 1, "id": 5}]}',
            invalid("/actions/0/id: should be a valid string", "schema_violation"),
            id="wrong type",
        ),
        pytest.param(
            AnswerHead(200, "application/json", "br"),
            b"{}",
            invalid("the answer is packed in a way that cannot be unpacked"),
            id="an encoding nobody offered",
        ),
        pytest.param(
            AnswerHead(200, "application/json", "gzip"),
            b"{}",
            invalid("the answer is packed in a way that cannot be unpacked"),
            id="not gzip",
        ),
        pytest.param(
            AnswerHead(200, "application/json", "gzip"),
            gzip.compress(b"{}")[:-4],
            invalid("the answer is packed in a way that cannot be unpacked"),
            id="cut gzip",
        ),
    ],
)
def test_an_answer_that_cannot_be_read_says_where_but_never_what(
    head: AnswerHead, body: bytes, failure: DeliveryFailed
) -> None:
    assert read(head, body) == failure


@pytest.mark.parametrize(
    ("head", "failure"),
    [
        (
            AnswerHead(429, retry_after="7"),
            DeliveryFailed("the worker answered 429", "rate_limited", True, "no", 429, 7.0),
        ),
        (
            AnswerHead(503),
            DeliveryFailed("the worker answered 503", "unavailable", True, "no", 503),
        ),
        (
            AnswerHead(302),
            DeliveryFailed("the worker answered 302", "redirect_refused", True, "unknown", 302),
        ),
        (
            AnswerHead(500),
            DeliveryFailed("the worker answered 500", "http_status", True, "unknown", 500),
        ),
        (
            AnswerHead(404, retry_after="9"),
            DeliveryFailed("the worker answered 404", "http_status", True, "unknown", 404),
        ),
    ],
)
def test_another_status_fails_the_attempt_and_its_body_is_not_read(
    head: AnswerHead, failure: DeliveryFailed
) -> None:
    def untouched() -> Iterator[bytes]:
        pytest.fail("the body was read")
        yield b""

    answer = read_answer(head, untouched(), now_epoch_s=NOW)

    assert answer == failure


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 30 ", 30.0),
        ("99999999999999999999", 3600.0),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 60.0),
        ("Fri, 15 Jan 1999 08:01:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert to_retry_after_s(value, NOW) == seconds


def test_a_stream_ends_with_its_final_frame_and_nothing_after_it_is_read() -> None:
    """Conformance 19: W-8."""
    deltas: list[str] = []

    def chunks() -> Iterator[bytes]:
        yield b': hi\n\nevent: llm.token.delta\ndata: {"text":"a"}\n\nevent: later\ndata: x\n\n'
        yield b'event: llm.token.delta\r\ndata: {"text":\r\ndata: "b"}\r\n\r\n'
        yield b"event: decision.result\ndata: {}\n\nevent: decision.error\ndata: {}\n\n"
        pytest.fail("read on after the final frame")

    answer = read_answer(STREAM, chunks(), on_delta=deltas.append, now_epoch_s=NOW)

    assert (answer, deltas) == (EMPTY, ['{"text":"a"}', '{"text":\n"b"}'])


@pytest.mark.parametrize(
    ("frame", "error", "retryable"),
    [
        ({"message": "busy"}, "busy", True),
        ({"message": "busy", "retryable": True}, "busy", True),
        ({"message": "busy", "retryable": None}, "busy", True),
        ({"message": "no", "retryable": False, "more": 1}, "no", False),
        ({"message": ""}, "the worker gave no reason", True),
        ({"message": "x" * 5000}, "x" * 1000, True),
    ],
)
def test_decision_error_is_retried_unless_it_says_no(
    frame: dict[str, object], error: str, retryable: bool
) -> None:
    """Conformance 19: D-8, D-9."""
    answer = read(STREAM, b"event: decision.error\ndata: " + json.dumps(frame).encode() + b"\n\n")

    assert answer == DeliveryFailed(error, "worker_error", retryable, "unknown", 200)


@pytest.mark.parametrize(
    ("frame", "failure"),
    [
        (
            b"event: decision.error\ndata: nope\n\n",
            invalid("not JSON: Expecting value at character 0"),
        ),
        (
            b"event: decision.error\ndata: []\n\n",
            invalid("/message: is required", "schema_violation"),
        ),
        (
            b'event: decision.result\ndata: {"a":1}\n\n',
            invalid("/a: unknown field", "schema_violation"),
        ),
        (
            b'event: llm.token.delta\ndata: {"text":"a"}\n\nevent: decision.result\ndata: {}\n',
            DeliveryFailed(
                "the stream ended without a final frame", "stream_ended", True, "unknown", 200
            ),
        ),
    ],
)
def test_a_stream_without_a_readable_final_frame_fails_the_attempt(
    frame: bytes, failure: DeliveryFailed
) -> None:
    """Conformance 19: W-8."""
    assert read(STREAM, frame) == failure


@pytest.mark.parametrize(
    ("head", "chunk", "error"),
    [
        pytest.param(
            JSON,
            b" " * 65536,
            "the answer is larger than it may be",
            id="a body without end",
        ),
        pytest.param(
            STREAM,
            b"data: " + b"x" * 65536 + b"\n",
            "a frame of the answer is larger than it may be",
            id="a frame without end",
        ),
        pytest.param(
            AnswerHead(200, "application/json", "gzip"),
            gzip.compress(b" " * MAX_DECISION_BODY_BYTES),
            "the answer is larger than it may be",
            id="a small body that unpacks to a large one",
        ),
    ],
)
def test_an_answer_over_the_limit_is_final_and_not_read_to_its_end(
    head: AnswerHead, chunk: bytes, error: str
) -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield chunk

    answer = read_answer(head, endless(), now_epoch_s=NOW)

    assert answer == DeliveryFailed(error, "too_large", False, "unknown", 200, invalid=True)
    assert taken <= MAX_DECISION_BODY_BYTES // 65536 + 1


@pytest.mark.parametrize("over", [-1, 0, 1], ids=["one below", "at the limit", "one above"])
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_an_answer_of_exactly_the_limit_is_read(over: int, encoding: str) -> None:
    body = b"{}".ljust(MAX_DECISION_BODY_BYTES + over)
    head = AnswerHead(200, "application/json", encoding)

    answer = read(head, gzip.compress(body, 1) if encoding else body)

    too_large = DeliveryFailed(
        "the answer is larger than it may be", "too_large", False, "unknown", 200, invalid=True
    )
    assert answer == (too_large if over > 0 else EMPTY)


def test_a_packed_answer_is_unpacked_whatever_its_size_and_members() -> None:
    body = json.dumps({"state": "x" * 300_000}).encode()
    packed = gzip.compress(body[:100_000]) + gzip.compress(body[100_000:])

    answer = read(AnswerHead(200, "application/json", "GZIP"), packed[:50], packed[50:])

    assert answer == Answered(DecisionResponse(state="x" * 300_000))


def test_a_frame_of_the_largest_size_is_accepted() -> None:
    data = json.dumps({"state": "x" * (MAX_SSE_FRAME_BYTES - 100)}).encode()

    answer = read(STREAM, b"event: decision.result\ndata: " + data + b"\n\n")

    assert isinstance(answer, Answered)
