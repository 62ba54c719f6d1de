"""Servers of OpenAI's kind: what goes out, and what goes back to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from everturn.llm.assemble import assemble
from everturn.llm.chunks import Finished, ReasoningBlock
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.openai_compatible import OpenAiCompatibleWire, is_open_router
from everturn.ports.model import Replay
from transcripts.openai import refusals
from unit.llm.providers.openai_kit import (
    ADD,
    AUDIO,
    DOTTED,
    FILE,
    IMAGE,
    LINKED,
    STRICT,
    VIDEO,
    asked,
    body_of,
    call,
    conversations,
    encoded,
    said,
    text,
)

WIRE = OpenAiCompatibleWire()
LOCAL = "http://localhost:8000/v1"
ROUTER = "https://openrouter.ai/api/v1"
USER = {"role": "user", "content": "Hi"}
ALWAYS = {"stream": True, "stream_options": {"include_usage": True}}


def test_the_least_that_is_sent() -> None:
    sent = encoded(WIRE, asked(base_url=LOCAL, key="", model="llama"))

    assert sent.url == "http://localhost:8000/v1/chat/completions"
    assert sent.headers == {}
    assert sent.body == {"model": "llama", "messages": [USER], **ALWAYS}
    assert encoded(WIRE, asked(base_url=LOCAL)).headers == {"authorization": "Bearer sk-test"}


def test_the_most_that_is_sent() -> None:
    sent = body_of(
        WIRE,
        asked(
            [{"role": "user", "content": [text("Look"), IMAGE]}],
            base_url=LOCAL,
            model="gpt-5",
            tools=[ADD],
            tool_choice="required",
            parallel_tool_calls=True,
            temperature=2.5,
            max_completion_tokens=50,
            stop=["a", "b", "c", "d", "e"],
            output_schema=STRICT,
            reasoning={"effort": "high"},
            cache_key="s-1",
        ),
    )

    assert sent == {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": [text("Look"), IMAGE]}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "add",
                    "description": "Adds.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "tool_choice": "required",
        "parallel_tool_calls": True,
        "temperature": 2.5,
        "max_tokens": 50,
        "stop": ["a", "b", "c", "d", "e"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "output", "schema": STRICT, "strict": False},
        },
        "reasoning_effort": "high",
        **ALWAYS,
    }


def test_an_account_names_the_server() -> None:
    with pytest.raises(ModelFailed) as failed:
        WIRE.encode(asked())

    assert failed.value.code == FailureCode.INVALID_REQUEST
    assert "no base URL" in str(failed.value)


@pytest.mark.parametrize(
    ("url", "is_it"),
    [
        (ROUTER, True),
        ("https://eu.openrouter.ai/api/v1", True),
        ("https://openrouter.ai.example.org/v1", False),
        ("https://notopenrouter.ai/v1", False),
        ("", False),
    ],
)
def test_open_router_is_known_by_its_host(url: str, is_it: bool) -> None:
    assert is_open_router(url) is is_it


@pytest.mark.parametrize(
    ("reasoning", "told"),
    [
        ({}, {}),
        ({"effort": "high"}, {"reasoning_effort": "high"}),
        ({"effort": "none"}, {"reasoning_effort": "none"}),
        ({"max_tokens": 9000}, {"reasoning_effort": "high"}),
        ({"enabled": True}, {"reasoning_effort": "medium"}),
        ({"enabled": False}, {}),
        ({"exclude": True}, {}),
    ],
)
def test_how_a_server_is_told_to_think(reasoning: dict[str, Any], told: dict[str, Any]) -> None:
    sent = body_of(WIRE, asked(base_url=LOCAL, reasoning=reasoning))

    assert {name: value for name, value in sent.items() if "reasoning" in name} == told


@pytest.mark.parametrize(
    ("reasoning", "told"),
    [
        ({}, None),
        ({"effort": "high", "max_tokens": 9}, {"effort": "high"}),
        ({"effort": "none"}, {"effort": "none"}),
        ({"max_tokens": 9000, "exclude": True}, {"max_tokens": 9000, "exclude": True}),
        ({"enabled": True}, {"enabled": True}),
        ({"enabled": False, "effort": "high"}, {"enabled": False}),
        ({"max_tokens": 0}, None),
    ],
)
def test_how_open_router_is_told_to_think(reasoning: dict[str, Any], told: Any) -> None:
    sent = body_of(WIRE, asked(base_url=ROUTER, reasoning=reasoning))

    assert sent.get("reasoning") == told
    assert "reasoning_effort" not in sent


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return a chunk."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


ASKS = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": "{}"}}]}


def replayed(base_url: str, deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the message of the model in a second request, after it said `deltas`."""
    reader = encoded(WIRE, asked(base_url=base_url, tools=[ADD])).reader
    told = assemble(said(reader, [*map(chunk, deltas), chunk(ASKS), chunk({}, "tool_calls")]))
    blocks: list[dict[str, Any]] = [
        {"type": "reasoning", "thinking": one.thinking, "signature": one.signature}
        if isinstance(one, ReasoningBlock)
        else {"type": "tool-call"}
        for one in told.blocks
    ]
    messages: list[dict[str, Any]] = [
        USER,
        {"id": "a1", "role": "assistant", "tool_calls": [call("c1", "add", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]
    replay = Replay("p", "gpt-4.1", tuple(blocks), told.replay_state)
    sent = body_of(WIRE, asked(messages, base_url=base_url, replays={"a1": replay}, tools=[ADD]))
    message: dict[str, Any] = sent["messages"][1]
    public = {"role": "assistant", "content": None, "tool_calls": [call("c1", "add", "{}")]}
    assert {name: message.pop(name) for name in public} == public
    return message


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_goes_back_in_its_field(name: str) -> None:
    assert replayed(LOCAL, [{name: "Hm"}, {name: "."}]) == {name: "Hm."}
    assert replayed(ROUTER, [{name: "Hm."}]) == {name: "Hm."}
    assert replayed(LOCAL, []) == {}


def test_details_go_back_to_open_router_as_they_were() -> None:
    details = [
        {"type": "reasoning.text", "text": "Let me.", "signature": "sig", "index": 0},
        {"type": "reasoning.summary", "summary": "Sum.", "index": 1},
        {"type": "reasoning.encrypted", "data": "x==", "id": "rs_1", "index": 2},
    ]
    pieces = [{"reasoning_details": [one], "reasoning": one.get("text")} for one in details]

    assert replayed(ROUTER, pieces) == {"reasoning_details": details}
    assert replayed(LOCAL, pieces) == {}


@pytest.mark.parametrize(
    ("signature", "state"),
    [
        ("{", "{"),
        (None, None),
        ("[]", "[]"),
        ('{"v":2,"detail":{}}', '{"v":2,"reasoning":"reasoning"}'),
        ('{"v":1,"detail":[]}', '{"v":1,"reasoning":"role"}'),
    ],
)
def test_what_cannot_be_read_does_not_go_back(signature: str | None, state: str | None) -> None:
    blocks = (
        {"type": "reasoning", "thinking": "Hm", "signature": signature},
        {"type": "text", "text": "a"},
    )
    messages = [USER, {"id": "a1", "role": "assistant", "content": "a"}]
    replays = {"a1": Replay("p", "gpt-4.1", blocks, state)}

    sent = body_of(WIRE, asked(messages, base_url=ROUTER, replays=replays))

    assert sent["messages"][1] == {"role": "assistant", "content": "a"}


def test_thinking_that_is_excluded_is_not_shown() -> None:
    given = asked(base_url=LOCAL, reasoning={"exclude": True})

    chunks = said(WIRE.encode(given).reader, [chunk({"reasoning": "Hm"}), chunk({}, "stop")])

    assert isinstance(chunks[-1], Finished)
    assert len(chunks) == 2


@given(conversations())
def test_any_conversation_fits(messages: list[dict[str, Any]]) -> None:
    given = asked(messages, base_url=LOCAL, tools=[ADD, DOTTED])

    sent = body_of(WIRE, given)

    assert [*refusals(sent)] == []
    for message in sent["messages"]:
        for one in message.get("tool_calls") or ():
            assert isinstance(json.loads(one["function"]["arguments"]), dict)
        assert message["role"] != "tool" or isinstance(message["content"], str)


@pytest.mark.parametrize("link", ["file:///etc/passwd", "http://10.0.0.1/x", "https://localhost/x"])
def test_a_server_inside_is_not_made_to_fetch_from_its_own_network(link: str) -> None:
    for part in (
        {"type": "image_url", "image_url": {"url": link}},
        {"type": "video_url", "video_url": {"url": link}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": link}},
    ):
        with pytest.raises(ModelFailed) as failed:
            WIRE.encode(asked([{"role": "user", "content": [part]}], base_url=LOCAL))

        assert failed.value.reason == "unsupported_content"


def test_a_server_gets_parts_as_they_are_and_base64_alone_as_data() -> None:
    bare = {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBERg=="}}
    parts = [text("a"), IMAGE, FILE, LINKED, VIDEO, AUDIO]

    sent = WIRE.encode(asked([{"role": "user", "content": [*parts, bare]}], base_url=LOCAL)).body

    assert sent["messages"][0]["content"] == [*parts, FILE]
