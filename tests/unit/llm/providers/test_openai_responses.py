"""OpenAI's Responses: what goes out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.openai_responses import OpenAiResponsesWire
from unit.llm.providers.openai_kit import (
    ADD,
    DOTTED,
    LOOSE,
    STRICT,
    asked,
    body_of,
    call,
    conversations,
    encoded,
)

WIRE = OpenAiResponsesWire()
USER = {"role": "user", "content": "Hi"}
ALWAYS = {"store": False, "stream": True}


def test_the_least_that_is_sent() -> None:
    sent = encoded(WIRE, asked())

    assert sent.url == "https://api.openai.com/v1/responses"
    assert sent.headers == {"authorization": "Bearer sk-test"}
    assert sent.body == {"model": "gpt-4.1", "input": [USER], **ALWAYS}
    assert encoded(WIRE, asked(base_url="https://x.org/v1")).url == "https://x.org/v1/responses"
    with pytest.raises(ModelFailed) as failed:
        WIRE.encode(asked(key=""))
    assert failed.value.code == FailureCode.AUTH


def test_the_most_that_is_sent() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        USER,
        {"role": "assistant", "content": "I add.", "tool_calls": [call("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "system", "content": "Go on."},
    ]

    sent = body_of(
        WIRE,
        asked(
            messages,
            model="gpt-5.6-sol",
            tools=[ADD, DOTTED],
            tool_choice={"name": "add"},
            parallel_tool_calls=False,
            temperature=0.5,
            max_completion_tokens=50,
            stop=["a"],
            output_schema=STRICT,
            reasoning={"effort": "high"},
            cache_key="s-1",
        ),
    )

    dotted = sent["tools"][1]["name"]
    assert dotted.startswith("math_add_")
    assert sent == {
        "model": "gpt-5.6-sol",
        "instructions": "Be brief.\n\nBe kind.",
        "input": [
            USER,
            {"role": "assistant", "content": "I add."},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
            {"type": "function_call_output", "call_id": "c1", "output": "1"},
            {"role": "system", "content": "Go on."},
        ],
        "tools": [
            {
                "type": "function",
                "name": name,
                "description": "Adds.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
            for name in ("add", dotted)
        ],
        "tool_choice": {"type": "function", "name": "add"},
        "parallel_tool_calls": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "max_output_tokens": 50,
        "text": {
            "format": {"type": "json_schema", "name": "output", "schema": STRICT, "strict": True}
        },
        "prompt_cache_key": "s-1",
        **ALWAYS,
    }


@pytest.mark.parametrize(
    ("model", "reasoning", "told"),
    [
        ("gpt-4.1", {"effort": "high"}, {}),
        ("gpt-5", {}, {}),
        ("gpt-5", {"enabled": False}, {}),
        ("gpt-5", {"enabled": True}, {"reasoning": {"effort": "medium", "summary": "auto"}}),
        ("gpt-5", {"exclude": True}, {}),
        ("gpt-5", {"exclude": True, "effort": "low"}, {"reasoning": {"effort": "low"}}),
        ("gpt-5.6-sol", {"enabled": False}, {"reasoning": {"effort": "none"}}),
        ("o3", {"max_tokens": 3000}, {"reasoning": {"effort": "medium", "summary": "auto"}}),
    ],
)
def test_how_a_model_is_told_to_reason(
    model: str, reasoning: dict[str, Any], told: dict[str, Any]
) -> None:
    sent = body_of(WIRE, asked(model=model, reasoning=reasoning))

    sealed = {} if model == "gpt-4.1" else {"include": ["reasoning.encrypted_content"]}
    assert sent == {"model": model, "input": [USER], **ALWAYS, **sealed, **told}


def test_settings_that_depend_on_the_model() -> None:
    chatting = body_of(
        WIRE, asked(temperature=0, tools=[ADD], tool_choice="auto", parallel_tool_calls=True)
    )
    reasoning = body_of(
        WIRE, asked(model="o3", temperature=0, tools=[ADD], parallel_tool_calls=True)
    )

    assert (chatting["temperature"], chatting["tool_choice"]) == (0, "auto")
    assert chatting["parallel_tool_calls"] is True
    assert not reasoning.keys() & {"temperature", "parallel_tool_calls", "tool_choice"}


@pytest.mark.parametrize(
    ("limit", "default", "sent"), [(None, None, None), (5, None, 16), (None, 90, 90), (80, 90, 80)]
)
def test_a_limit_is_never_too_small(limit: Any, default: Any, sent: Any) -> None:
    given = asked(max_completion_tokens=limit, default_max_tokens=default)

    assert body_of(WIRE, given).get("max_output_tokens") == sent


def test_a_schema_that_is_not_strict() -> None:
    assert body_of(WIRE, asked(output_schema=LOOSE))["text"] == {
        "format": {"type": "json_schema", "name": "output", "schema": LOOSE, "strict": False}
    }
    assert "text" not in body_of(WIRE, asked(output_schema={"type": "string"}))


def test_without_tools_nothing_is_said_of_their_use() -> None:
    sent = body_of(WIRE, asked(tool_choice="none", parallel_tool_calls=False))

    assert sent == {"model": "gpt-4.1", "input": [USER], **ALWAYS}


@given(conversations(audio=False))
def test_each_call_is_there_and_has_its_result(messages: list[dict[str, Any]]) -> None:
    sent = body_of(WIRE, asked(messages, tools=[ADD, DOTTED]))["input"]

    called = Counter(one["call_id"] for one in sent if one.get("type") == "function_call")
    answered = Counter(one["call_id"] for one in sent if one.get("type") == "function_call_output")
    assert called == answered
    assert sent
    assert all("type" in one or one["content"] for one in sent)


@given(conversations(audio=False))
def test_what_was_sent_before_is_sent_alike_again(messages: list[dict[str, Any]]) -> None:
    begun = [USER, *messages]
    before = body_of(WIRE, asked(begun))["input"]

    after = body_of(WIRE, asked([*begun, {"role": "user", "content": "And?"}]))["input"]

    assert after == [*before, {"role": "user", "content": "And?"}]


def test_an_organization_that_is_not_verified_is_refused_no_request_for_a_summary() -> None:
    assert "reasoning" not in body_of(WIRE, asked(model="gpt-5"))
