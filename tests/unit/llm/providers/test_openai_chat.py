"""OpenAI's chat completions: what goes out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from everturn.llm.chunks import ReasoningDelta
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.openai_chat import OpenAiChatWire
from transcripts.openai import refusals
from unit.llm.providers.openai_kit import (
    ADD,
    DOTTED,
    FILE,
    IMAGE,
    LOOSE,
    STRICT,
    asked,
    body_of,
    call,
    conversations,
    encoded,
    said,
    text,
)

WIRE = OpenAiChatWire()
ALWAYS = {"stream": True, "stream_options": {"include_usage": True}}
USER = {"role": "user", "content": "Hi"}


def test_the_least_that_is_sent() -> None:
    sent = encoded(WIRE, asked())

    assert sent.url == "https://api.openai.com/v1/chat/completions"
    assert sent.headers == {"authorization": "Bearer sk-test"}
    assert sent.body == {"model": "gpt-4.1", "messages": [USER], **ALWAYS}


def test_the_most_that_is_sent() -> None:
    messages: list[dict[str, Any]] = [
        {"id": "s", "role": "system", "content": "Be brief."},
        {"id": "u", "role": "user", "content": [text("Look"), IMAGE, FILE], "name": "ann"},
        {
            "id": "a",
            "role": "assistant",
            "content": "I add.",
            "tool_calls": [call("c/1"), call("c2", "math.add", "")],
        },
        {"id": "t1", "role": "tool", "tool_call_id": "c/1", "content": [text("2"), IMAGE]},
        {"id": "t2", "role": "tool", "tool_call_id": "c2", "name": "math.add", "content": "0"},
        {"id": "s2", "role": "system", "content": "Be kind."},
    ]

    sent = body_of(
        WIRE,
        asked(
            messages,
            tools=[ADD, DOTTED],
            tool_choice={"name": "math.add"},
            parallel_tool_calls=False,
            temperature=0.5,
            max_completion_tokens=50,
            stop=["a", "b", "c", "d", "e"],
            output_schema=STRICT,
            reasoning={"effort": "high"},
            cache_key="s-1",
        ),
    )

    first = sent["messages"][2]["tool_calls"][0]["id"]
    second = sent["tools"][1]["function"]["name"]
    assert first.startswith("call_")
    assert second.startswith("math_add_")
    assert sent == {
        "model": "gpt-4.1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [text("Look"), IMAGE, FILE], "name": "ann"},
            {
                "role": "assistant",
                "content": "I add.",
                "tool_calls": [call(first), call("c2", second, "{}")],
            },
            {"role": "tool", "tool_call_id": first, "content": "2"},
            {"role": "tool", "tool_call_id": "c2", "content": "0"},
            {
                "role": "user",
                "content": [text(f"[Everturn] From the result of call {first}:"), IMAGE],
            },
            {"role": "system", "content": "Be kind."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": "Adds.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
            for name in ("add", second)
        ],
        "tool_choice": {"type": "function", "function": {"name": second}},
        "parallel_tool_calls": False,
        "temperature": 0.5,
        "max_completion_tokens": 50,
        "stop": ["a", "b", "c", "d"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "output", "schema": STRICT, "strict": True},
        },
        "prompt_cache_key": "s-1",
        **ALWAYS,
    }
    assert [*refusals(sent)] == []


def test_a_model_that_reasons_is_sent_what_it_takes() -> None:
    settings: dict[str, Any] = {"temperature": 0, "stop": ["x"], "parallel_tool_calls": True}

    sent = body_of(WIRE, asked(model="o3", tools=[ADD], reasoning={"max_tokens": 9000}, **settings))

    assert sent["reasoning_effort"] == "high"
    assert not sent.keys() & settings.keys()


def test_a_newer_model_takes_tools_without_reasoning_only() -> None:
    sent = body_of(WIRE, asked(model="gpt-5.6-sol", tools=[ADD]))

    assert sent["reasoning_effort"] == "none"
    assert "reasoning_effort" not in body_of(WIRE, asked(model="gpt-5.6-sol"))


def test_a_routes_limit_stands_where_the_request_has_none() -> None:
    assert body_of(WIRE, asked(default_max_tokens=9))["max_completion_tokens"] == 9
    limited = asked(default_max_tokens=9, max_completion_tokens=5)
    assert body_of(WIRE, limited)["max_completion_tokens"] == 5


def test_a_schema_that_is_not_strict() -> None:
    told = body_of(WIRE, asked(output_schema=LOOSE))["response_format"]

    assert told["json_schema"] == {"name": "output", "schema": LOOSE, "strict": False}
    assert "response_format" not in body_of(WIRE, asked(output_schema={"type": "array"}))


def test_a_key_is_needed_and_the_place_is_the_accounts() -> None:
    sent = encoded(WIRE, asked(base_url="https://example.org/openai/v1"))

    assert sent.url == "https://example.org/openai/v1/chat/completions"
    with pytest.raises(ModelFailed) as failed:
        WIRE.encode(asked(key=""))
    assert failed.value.code == FailureCode.AUTH


@given(conversations())
def test_any_conversation_fits(messages: list[dict[str, Any]]) -> None:
    sent = body_of(WIRE, asked(messages, tools=[ADD, DOTTED], tool_choice="required"))

    assert [*refusals(sent)] == []


@given(conversations())
def test_what_was_sent_before_is_sent_alike_again(messages: list[dict[str, Any]]) -> None:
    begun = [USER, *messages]
    before = body_of(WIRE, asked(begun))["messages"]

    after = body_of(WIRE, asked([*begun, {"role": "user", "content": "And?"}]))["messages"]

    assert after == [*before, {"role": "user", "content": "And?"}]


@pytest.mark.parametrize(("reasoning", "shown"), [({"exclude": True}, 0), ({}, 1)])
def test_reasoning_that_is_excluded_is_not_shown(reasoning: dict[str, Any], shown: int) -> None:
    reader = encoded(WIRE, asked(reasoning=reasoning)).reader
    delta = {"choices": [{"index": 0, "delta": {"reasoning": "Hm."}, "finish_reason": "stop"}]}

    chunks = said(reader, [delta])

    assert sum(isinstance(one, ReasoningDelta) for one in chunks) == shown
