"""Client inputs and their envelope."""

from typing import Any

import pytest

from everturn.errors import RejectedError
from everturn.protocol.client_input import CLIENT_INPUT, read_input
from everturn.protocol.json_text import read_json
from everturn.protocol.limits import MAX_JSON_DEPTH, MAX_VIEW_MESSAGES
from everturn.protocol.wire import parse, to_json
from everturn.rejections import UnknownInput

USER = {"role": "user", "content": "hi"}
MESSAGE = {"type": "client.message", "agent_id": "a", "message": USER}

INPUTS: list[dict[str, Any]] = [
    MESSAGE,
    MESSAGE | {"turn_id": "t1", "stream": True},
    {
        "type": "client.messages",
        "agent_id": "a",
        "turn_id": "t1",
        "messages": [USER],
        "stream": False,
        "client": {"tools": [{"name": "t", "handler": "server"}]},
    },
    {"type": "client.action", "agent_id": "a", "turn_id": "t1", "name": "n", "args": [None]},
    {"type": "interrupt.resume", "interrupt_id": "i1", "payload": {"a": None}},
    {"type": "tool.result", "id": "c1", "attempt": 1, "result": {"a": None}},
    {"type": "tool.error", "id": "c1", "error": "e", "retryable": False, "attempt": 2},
]


def refusal(data: object) -> tuple[str, str]:
    with pytest.raises(RejectedError) as caught:
        read_input(data)
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("data", INPUTS)
def test_every_input_is_read_and_written_alike(data: dict[str, Any]) -> None:
    """K-1."""
    request = read_input({"input": data})

    assert to_json(request) == {"input": data}
    assert parse(CLIENT_INPUT, data) == request.input


def test_the_envelope_names_session_and_owner() -> None:
    data = {
        "session_id": "s1",
        "identity": {"id": "u1", "metadata": {"plan": "free"}},
        "input": MESSAGE,
    }

    request = read_input(data)

    assert to_json(request) == data


@pytest.mark.parametrize("data", [{"type": "client.shout"}, {"type": 5}])
def test_an_unknown_input_lists_the_known_ones(data: dict[str, Any]) -> None:
    with pytest.raises(UnknownInput) as caught:
        read_input({"input": data})

    assert (caught.value.status, caught.value.message) == (
        422,
        "/input: unknown type; known: client.message, client.messages, client.action, "
        "interrupt.resume, tool.result, tool.error",
    )


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        ({}, "schema_violation", "/input: is required"),
        ([], "schema_violation", "/: should be an object"),
        ({"input": {}}, "unknown_input", "/input: type is required"),
        ({"input": "hi"}, "schema_violation", "/input: should be an object"),
        ({"input": MESSAGE, "tenant": "x"}, "schema_violation", "/tenant: unknown field"),
        (
            {"input": MESSAGE | {"message": {"role": "robot"}}},
            "schema_violation",
            "/input/message/role: should be 'system', 'user', 'assistant' or 'tool'",
        ),
        (
            {"input": MESSAGE | {"message": USER | {"content": [{"type": "smell"}]}}},
            "schema_violation",
            "/input/message/content/0: unknown type; known: ",
        ),
        ({"input": MESSAGE, "session_id": "a/b"}, "invalid_id", "/session_id: needs 1 to 200"),
        ({"input": MESSAGE | {"turn_id": ""}}, "invalid_id", "/input/turn_id: needs 1 to 200"),
        ({"input": MESSAGE | {"agent_id": "a" * 201}}, "invalid_id", "/input/agent_id: needs"),
        (
            {"input": MESSAGE | {"message": USER | {"id": "a b"}}},
            "invalid_id",
            "/input/message/id: needs",
        ),
        ({"input": MESSAGE, "identity": {"id": ""}}, "invalid_id", "/identity/id: needs"),
        (
            {"input": {"type": "tool.error", "id": "c1", "error": "e"}},
            "schema_violation",
            "/input/retryable: is required",
        ),
        (
            {"input": MESSAGE | {"message": {"role": "user"}}},
            "invalid_message",
            "the new user message: role user needs content",
        ),
        (
            {"input": {"type": "client.messages", "agent_id": "a", "messages": []}},
            "empty_messages",
            "client.messages needs at least one message",
        ),
        (
            {
                "input": {
                    "type": "client.messages",
                    "agent_id": "a",
                    "messages": [USER, {"id": "m2", "role": "tool"}],
                }
            },
            "invalid_message",
            "message m2: role tool needs tool_call_id",
        ),
    ],
)
def test_a_request_out_of_order_is_refused_with_its_code(
    data: object, code: str, message: str
) -> None:
    """K-2, V-10, O-21."""
    found, told = refusal(data)

    assert (found, told[: len(message)]) == (code, message)


def test_a_view_holds_as_many_messages_as_allowed() -> None:
    view = {"type": "client.messages", "agent_id": "a", "messages": [USER] * MAX_VIEW_MESSAGES}

    request = read_input({"input": view})

    assert to_json(request) == {"input": view}
    assert refusal({"input": view | {"messages": [USER] * (MAX_VIEW_MESSAGES + 1)}}) == (
        "schema_violation",
        f"/input/messages: has more than {MAX_VIEW_MESSAGES} items",
    )


def test_the_deepest_json_that_is_read_is_also_written() -> None:
    inside = MAX_JSON_DEPTH - 2
    deep = "[" * inside + "]" * inside
    text = f'{{"input":{{"type":"client.action","agent_id":"a","name":"n","args":{deep}}}}}'

    request = read_input(read_json(text))

    assert to_json(request) == read_json(text)
