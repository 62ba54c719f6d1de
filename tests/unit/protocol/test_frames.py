"""WebSocket frames."""

from typing import Any

import pytest

from everturn.errors import RejectedError, to_http
from everturn.protocol.frames import OUT_FRAME, read_frame
from everturn.protocol.wire import parse, to_json
from everturn.rejections import TurnAlreadyActive

MESSAGE = {
    "type": "client.message",
    "agent_id": "a",
    "message": {"role": "user", "content": "hi"},
}

IN_FRAMES: list[dict[str, Any]] = [
    {"action": "subscribe", "id": "1", "session_id": "s1"},
    {"action": "subscribe", "id": "1", "session_id": "s1", "after": "4.2-7", "turn_id": "t1"},
    {"action": "input", "id": "2", "input": MESSAGE},
    {
        "action": "input",
        "id": "2",
        "session_id": "s1",
        "identity": {"id": "u1"},
        "input": {"type": "interrupt.resume", "interrupt_id": "i1"},
    },
    {"action": "ping"},
    {"action": "ping", "id": "3"},
    {"action": "unsubscribe", "id": "1"},
]

OUT_FRAMES: list[dict[str, Any]] = [
    {"type": "subscribed", "id": "1", "session_id": "s1", "seq": 4},
    {"type": "unsubscribed", "id": "1"},
    {
        "type": "event",
        "id": "1",
        "session_id": "s1",
        "cursor": "5.2-0",
        "seq": 5,
        "prev_seq": 4,
        "event": {
            "session_id": "s1",
            "seq": 5,
            "occurred_at": "2030-01-01T00:00:00.000Z",
            "turn_id": "t1",
            "payload": {"type": "session.done", "cause": None},
        },
    },
    {
        "type": "delta",
        "session_id": "s1",
        "cursor": "5.2-1",
        "prev_n": 0,
        "delta": {
            "text": "hel",
            "type": "llm.token.delta",
            "session_id": "s1",
            "agent_id": "a",
            "call_id": "c1",
            "attempt": 1,
            "seq": 1,
        },
    },
    {"type": "more", "id": "1", "session_id": "s1", "cursor": "500.2-0"},
    {
        "type": "event_ref",
        "session_id": "s1",
        "cursor": "6.2-0",
        "seq": 6,
        "prev_seq": 5,
        "event_type": "message.new",
    },
    {
        "type": "accepted",
        "id": "2",
        "session_id": "s1",
        "turn_id": "t1",
        "duplicate": True,
        "turn_status": "queued",
        "continued": True,
        "resumed": False,
    },
    {
        "type": "error",
        "id": "2",
        "error": "stale_attempt",
        "code": "stale_attempt",
        "message": "m",
        "hint": "h",
        "attempt": 2,
    },
    {"type": "pong"},
]


@pytest.mark.parametrize("data", IN_FRAMES)
def test_every_frame_of_a_client_is_read_and_written_alike(data: dict[str, Any]) -> None:
    frame = read_frame(data)

    assert to_json(frame) == data


@pytest.mark.parametrize("data", OUT_FRAMES)
def test_every_frame_to_a_client_is_read_and_written_alike(data: dict[str, Any]) -> None:
    frame = parse(OUT_FRAME, data)

    assert to_json(frame) == data


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (
            {"action": "shout"},
            "schema_violation",
            "/: unknown action; known: subscribe, input, ping, unsubscribe",
        ),
        ({}, "schema_violation", "/: action is required"),
        ({"action": "subscribe", "id": "1"}, "schema_violation", "/session_id: is required"),
        (
            {"action": "input", "id": "1", "input": {"type": "x"}},
            "unknown_input",
            "/input: unknown type; known: client.message, ",
        ),
        (
            {"action": "input", "id": "1", "input": MESSAGE | {"message": {"role": "user"}}},
            "invalid_message",
            "the new user message: role user needs content",
        ),
        ({"action": "ping", "id": "a b"}, "invalid_id", "/id: needs 1 to 200"),
    ],
)
def test_a_frame_out_of_order_is_refused_with_its_code(
    data: object, code: str, message: str
) -> None:
    with pytest.raises(RejectedError) as caught:
        read_frame(data)

    told = caught.value.message[: len(message)]
    assert (caught.value.code, told) == (code, message)


@pytest.mark.parametrize("frame_id", ["2", None])
def test_an_error_frame_says_what_the_http_answer_says(frame_id: str | None) -> None:
    _, body = to_http(TurnAlreadyActive("turn t1 is open", turn_id="t1"))

    named = {} if frame_id is None else {"id": frame_id}
    frame = {"type": "error", **named, **body}

    assert to_json(OUT_FRAME.validate_python(frame)) == frame
