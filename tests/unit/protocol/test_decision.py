"""Decision requests and responses, and the actions in them."""

from typing import Any

import pytest

from everturn.errors import RejectedError
from everturn.protocol.action import ACTION, SETTLE_ACTION
from everturn.protocol.decision import (
    DECISION_REQUEST,
    DECISION_RESPONSE,
    DecisionResponse,
    check_interrupt,
)
from everturn.protocol.limits import (
    MAX_ACTIONS,
    MAX_AGENT_BYTES,
    MAX_DONE_DATA_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_REASON_BYTES,
    MAX_STATE_BYTES,
    MAX_VIEW_MESSAGES,
)
from everturn.protocol.wire import parse, to_json
from everturn.rejections import SchemaViolation
from worker_answers import read_response

POLICY = {"timeout_secs": 60, "max_retries": 3, "backoff_base_secs": 2, "backoff_max_secs": 60}
USER = {"id": "m1", "role": "user", "content": "hi"}
DRAFT = {"role": "user", "content": "hi"}
DEADLINE = "2030-01-01T00:00:00.000Z"

ACTIONS: list[dict[str, Any]] = [
    {"type": "llm.call"},
    {
        "type": "llm.call",
        "id": "c1",
        "model": "m",
        "messages": [],
        "tools": [{"name": "t", "description": "", "input": {}, "output": False}],
        "temperature": 0,
        "max_completion_tokens": 1,
        "reasoning": {"effort": "none"},
        "stream": False,
        "retry": POLICY,
        "handler": "server",
    },
    {"type": "tool.call", "name": "t", "arguments": None},
    {
        "type": "tool.call",
        "id": "c1",
        "name": "t",
        "arguments": "{}",
        "handler": "client",
        "retry": POLICY,
    },
    {"type": "tool.result", "result": None},
    {"type": "tool.result", "id": "c1", "attempt": 1, "result": {"a": None}},
    {
        "type": "tool.error",
        "id": "c1",
        "attempt": 1,
        "error": "e",
        "retryable": True,
        "code": "provider_error",
        "detail": 1,
    },
    {"type": "llm.result", "id": "c1", "attempt": 1, "response": {"model": "m"}},
    {"type": "llm.error", "error": "e"},
    {
        "type": "sub_agent.spawn",
        "session_id": "s2",
        "agent_id": "a",
        "tool_call_id": "c1",
        "retry": POLICY,
    },
    {"type": "message.send", "session_id": "s2", "message": DRAFT},
    {"type": "interrupt", "interrupt_id": "i1", "reason": "r", "payload": {"a": 1}},
    {"type": "done", "data": {"a": None}},
    {
        "type": "tool.ask",
        "question": "q",
        "choices": ["a"],
        "allows_free_text": False,
        "continuation": 1,
    },
    {"type": "tool.task", "task_id": "x", "poll_interval_seconds": 1, "continuation": 1},
    {"type": "tool.pending", "poll_interval_seconds": 1.5},
]


def refusal(data: object) -> tuple[str, str]:
    with pytest.raises(RejectedError) as caught:
        read_response(data, decides="worker")
    return caught.value.code, caught.value.message


def text_of(size_bytes: int) -> str:
    """A string whose JSON, quotes included, has this size."""
    return "x" * (size_bytes - 2)


@pytest.mark.parametrize("data", ACTIONS)
def test_every_action_is_accepted_and_written_alike(data: dict[str, Any]) -> None:
    """X-9: each action's form."""
    response = read_response({"actions": [data]}, decides="worker")

    assert to_json(response) == {"actions": [data]}
    assert parse(ACTION, data) == (response.actions or ())[0]


def test_a_request_always_shows_its_nullable_fields() -> None:
    data = {
        "session_id": "s1",
        "decision_id": "d1",
        "agent_id": "a",
        "identity": {"id": "u", "metadata": {"plan": "free"}},
        "trigger": {"type": "session.start"},
        "proposed": {},
        "state": None,
        "agent": None,
        "calls": [
            {
                "id": "c1",
                "kind": "tool_call",
                "status": "pending",
                "attempt": 1,
                "deadline": DEADLINE,
                "anchor": "m1",
                "name": "t",
                "arguments": "{}",
                "handler": "client",
            },
            {"id": "c2", "kind": "llm_call", "status": "queued", "attempt": 1, "stream": True},
            {
                "id": "c3",
                "kind": "sub_agent",
                "status": "completed",
                "attempt": 1,
                "agent_id": "a",
                "session_id": "s2",
            },
        ],
        "pending_calls": 2,
        "messages": [USER],
        "message_tree": {"nodes": [{"message": USER}], "head_id": "m1"},
        "ancestry": ["s0"],
        "attempts": 1,
        "deadline": None,
        "turn_id": None,
    }

    request = parse(DECISION_REQUEST, data)

    assert to_json(request) == data
    assert list(to_json(request)) == list(data)


@pytest.mark.parametrize("data", [{}, dict.fromkeys(DecisionResponse.model_fields)])
def test_an_empty_response_is_valid(data: dict[str, Any]) -> None:
    """P-1."""
    response = read_response(data, decides="worker")

    assert response == DecisionResponse()
    assert to_json(response) == {}


def test_a_whole_response_is_read_and_written_alike() -> None:
    data = {
        "messages": [USER],
        "actions": [{"type": "done"}],
        "state": {"a": None},
        "agent": {"model": "m"},
    }

    response = read_response(data, decides="worker")

    assert to_json(response) == data


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        ({"actions": [{"type": "sing"}]}, "schema_violation", "/actions/0: unknown type; known: "),
        (
            {"actions": [{"type": "tool.result", "attempt": 0, "result": 1}]},
            "schema_violation",
            "/actions/0/attempt: should be greater than or equal to 1",
        ),
        (
            {"actions": [{"type": "llm.call", "id": "a/b"}]},
            "invalid_id",
            "/actions/0/id: needs 1 to 200 characters",
        ),
        (
            {"actions": [{"type": "tool.result", "result": 1, "arguments": 1}]},
            "schema_violation",
            "/actions/0/arguments: unknown field",
        ),
        (
            {"agent": {"model": "m", "worker": "https://w.example"}},
            "schema_violation",
            "/agent/worker: unknown field",
        ),
        ({"messages": [{"role": "user"}]}, "invalid_message", "the new user message: "),
        (
            {"actions": [{"type": "message.send", "session_id": "s", "message": {"role": "tool"}}]},
            "invalid_message",
            "the new tool message: ",
        ),
        (
            {"actions": [{"type": "done"}, {"type": "llm.call", "handler": "client"}]},
            "invalid_handler",
            "/actions/1/handler: ",
        ),
        (
            {"actions": [{"type": "tool.call", "name": "t", "arguments": 1, "handler": "server"}]},
            "invalid_handler",
            "/actions/0/handler: ",
        ),
        (
            {"agent": {"model": "m", "tools": [{"name": "t", "handler": "server"}]}},
            "invalid_handler",
            "/agent/tools/0/handler: ",
        ),
        (
            {"actions": [{"type": "done"}, {"type": "done"}]},
            "multiple_done",
            "/actions: done stands there twice",
        ),
        (
            {"actions": [{"type": "done"}, {"type": "interrupt", "reason": "r"}]},
            "done_with_interrupt",
            "/actions: done and interrupt exclude each other",
        ),
    ],
)
def test_a_response_out_of_order_is_refused_with_its_code(
    data: dict[str, Any], code: str, message: str
) -> None:
    """X-1, X-8, P-3."""
    found, told = refusal(data)

    assert (found, told[: len(message)]) == (code, message)


@pytest.mark.parametrize(
    ("field", "item", "limit"),
    [
        ("actions", {"type": "tool.call", "name": "t", "arguments": 1}, MAX_ACTIONS),
        ("messages", DRAFT, MAX_VIEW_MESSAGES),
    ],
)
def test_a_response_holds_as_many_items_as_allowed(field: str, item: object, limit: int) -> None:
    response = read_response({field: [item] * limit}, decides="worker")

    assert len(to_json(response)[field]) == limit
    assert refusal({field: [item] * (limit + 1)}) == (
        "schema_violation",
        f"/{field}: has more than {limit} items",
    )


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/state", MAX_STATE_BYTES),
        ("/actions/0/payload", MAX_PAYLOAD_BYTES),
        ("/actions/0/data", MAX_DONE_DATA_BYTES),
    ],
)
def test_values_are_as_large_as_allowed(path: str, limit: int) -> None:
    def response_of(value: str) -> dict[str, Any]:
        responses: dict[str, dict[str, Any]] = {
            "/state": {"state": value},
            "/actions/0/payload": {
                "actions": [{"type": "interrupt", "reason": "", "payload": value}]
            },
            "/actions/0/data": {"actions": [{"type": "done", "data": value}]},
        }
        return responses[path]

    accepted = read_response(response_of(text_of(limit)), decides="worker")

    assert to_json(accepted) == response_of(text_of(limit))
    assert refusal(response_of(text_of(limit + 1))) == (
        "schema_violation",
        f"{path}: more than {limit} bytes",
    )


def test_an_agent_is_as_large_as_allowed() -> None:
    frame = len('{"model":"m","system":""}')

    def response_of(size_bytes: int) -> dict[str, Any]:
        return {"agent": {"model": "m", "system": "x" * (size_bytes - frame)}}

    accepted = read_response(response_of(MAX_AGENT_BYTES), decides="worker")

    assert accepted.agent is not None
    assert refusal(response_of(MAX_AGENT_BYTES + 1)) == (
        "schema_violation",
        f"/agent: more than {MAX_AGENT_BYTES} bytes",
    )


def test_a_reason_is_measured_in_bytes() -> None:
    check_interrupt("é" * (MAX_REASON_BYTES // 2), None)

    with pytest.raises(SchemaViolation) as caught:
        check_interrupt("é" * (MAX_REASON_BYTES // 2) + "x", None)

    assert caught.value.message == "/reason: more than 1024 bytes"


def test_only_four_actions_settle() -> None:
    settled = parse(SETTLE_ACTION, {"type": "llm.error", "id": "c1", "error": "e"})

    assert to_json(settled) == {"type": "llm.error", "id": "c1", "error": "e"}
    with pytest.raises(SchemaViolation) as caught:
        parse(SETTLE_ACTION, {"type": "done"})
    assert caught.value.message == (
        "/: unknown type; known: tool.result, tool.error, llm.result, llm.error"
    )


def test_a_response_adapter_reads_without_checks() -> None:
    response = parse(DECISION_RESPONSE, {"messages": [{"role": "user"}]})

    assert to_json(response) == {"messages": [{"role": "user"}]}
