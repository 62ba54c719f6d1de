"""Triggers."""

from typing import Any

import pytest

from everturn.protocol.trigger import TRIGGER
from everturn.protocol.wire import parse, to_json
from everturn.rejections import SchemaViolation

DRAFT = {"role": "user", "content": "hi"}
DEADLINE = "2030-01-01T00:00:00.000Z"

TRIGGERS: list[dict[str, Any]] = [
    {"type": "session.start"},
    {
        "type": "client.messages",
        "messages": [DRAFT],
        "new_from": 0,
        "client": {
            "tools": [{"name": "t"}],
            "context": [None, {"k": 1}],
            "state": {},
            "forwarded_props": 1.5,
        },
    },
    {"type": "client.action", "name": "n", "args": {"a": None}},
    {
        "type": "tool.execute",
        "id": "c1",
        "name": "t",
        "arguments": "{}",
        "input": {"status": "valid", "value": None},
        "attempt": 1,
        "deadline": DEADLINE,
        "idempotency_key": "k",
    },
    {
        "type": "tool.execute",
        "id": "c1",
        "name": "t",
        "arguments": "{}",
        "input": {"status": "invalid", "value": {}, "error": "/city: required"},
        "attempt": 1,
    },
    {
        "type": "tool.execute",
        "id": "c1",
        "name": "t",
        "arguments": "",
        "input": {"status": "malformed", "error": "not JSON"},
        "attempt": 1,
    },
    {
        "type": "tool.poll",
        "id": "c1",
        "name": "t",
        "task_id": "x",
        "continuation": [1],
        "pending_answer": {
            "interrupt_id": "c1-input-1",
            "question": "q",
            "answer": "a",
            "resolution": "declined",
        },
        "attempt": 1,
    },
    {"type": "tool.finished", "id": "c1", "ok": True, "name": "t", "result": "r"},
    {"type": "tool.finished", "id": "c1", "ok": False, "name": "t", "error": "e"},
    {
        "type": "llm.execute",
        "id": "c1",
        "request": {"model": "m", "n": None},
        "format": "openai",
        "stream": True,
        "attempt": 2,
        "deadline": DEADLINE,
    },
    {
        "type": "llm.finished",
        "id": "c1",
        "ok": True,
        "message": {"role": "assistant", "content": "x"},
        "truncated": False,
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "cost": "0.0004",
    },
    {
        "type": "llm.finished",
        "id": "c1",
        "ok": False,
        "truncated": False,
        "error": "e",
        "code": "rate_limited",
        "detail": {"reason": "x"},
    },
    {
        "type": "sub_agent.finished",
        "id": "c1",
        "ok": True,
        "session_id": "s2",
        "agent_id": "a",
        "result": "r",
    },
    {"type": "interrupt.resumed", "interrupt_id": "i1", "payload": [None]},
]


@pytest.mark.parametrize("data", TRIGGERS)
def test_every_trigger_is_read_and_written_alike(data: dict[str, Any]) -> None:
    trigger = parse(TRIGGER, data)

    assert to_json(trigger) == data


def test_the_news_of_a_view_begin_at_an_index() -> None:
    data = {"type": "client.messages", "messages": [], "new_from": -1, "client": {}}

    with pytest.raises(SchemaViolation, match="/new_from: should be greater than or equal to 0"):
        parse(TRIGGER, data)
