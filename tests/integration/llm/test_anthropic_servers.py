"""Anthropic's wire against two servers that nobody here wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from everturn.llm.assemble import Answer, assemble
from everturn.llm.chunks import ExtensionBlock, ReasoningBlock
from everturn.llm.failure import FailureCode
from everturn.llm.providers.anthropic import AnthropicWire
from everturn.ports.model import Replay
from integration.llm.calling import Caller, Heard, calling
from providers.aimock import Aimock
from providers.llmock import Fault, Llmock, fail, reply, stream_fault

MODEL = "claude-test-4-5"
WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "input": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
def at_aimock(aimock: Aimock) -> Iterator[Caller]:
    """Return who calls aimock."""
    with calling(AnthropicWire(), aimock.anthropic_url) as caller:
        yield caller


@pytest.fixture
def at_llmock(llmock: Llmock) -> Iterator[Caller]:
    """Return who calls llmock."""
    with calling(AnthropicWire(), llmock.anthropic_url) as caller:
        yield caller


def user(words: str) -> dict[str, Any]:
    return {"id": "u1", "role": "user", "content": words}


def answer(caller: Caller, *messages: Any, **how: Any) -> Answer:
    """Return a whole answer."""
    return assemble(caller.hear(model=MODEL, messages=[*messages], **how).chunks)


def test_text(at_aimock: Caller) -> None:
    told = answer(at_aimock, user("hello"))

    assert (told.content or "").startswith("Grüß Gott!")
    assert told.usage is not None
    assert told.usage.output_tokens > 0


def test_a_call_and_what_follows_from_its_result(at_aimock: Caller) -> None:
    asked = answer(at_aimock, user("weather"), tools=[WEATHER])
    (call,) = asked.tool_calls

    said = {"id": "a1", "role": "assistant", "content": asked.content, "tool_calls": [
        {"id": call.id, "type": "function", "function": {
            "name": call.function.name, "arguments": call.function.arguments
        }}
    ]}  # fmt: skip
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny", "name": "get_weather"}
    told = answer(at_aimock, user("weather"), said, result, tools=[WEATHER])

    assert json.loads(call.function.arguments)["city"] == "Paris"
    assert asked.finish_reason == "tool_calls"
    assert (told.content or "").startswith("It is sunny")


def test_two_calls_at_once(at_aimock: Caller) -> None:
    told = answer(at_aimock, user("compare"), tools=[WEATHER])

    cities = [json.loads(one.function.arguments)["city"] for one in told.tool_calls]
    assert cities == ["Paris", "Rome"]


def test_thinking_comes_signed_and_goes_back(at_aimock: Caller) -> None:
    told = answer(at_aimock, user("reason"), reasoning={"effort": "low"})
    thought = next(one for one in told.blocks if isinstance(one, ReasoningBlock))

    blocks = (
        {"type": "reasoning", "thinking": thought.thinking, "signature": thought.signature},
        {"type": "text", "text": told.content or ""},
    )
    said = {"id": "a1", "role": "assistant", "content": told.content}
    again = answer(
        at_aimock,
        user("reason"),
        said,
        user("hello"),
        replays={"a1": Replay("anthropic", MODEL, blocks)},
    )

    assert thought.thinking == "Two and two make four, as everybody knows."
    assert thought.signature
    assert any(isinstance(one, ExtensionBlock) for one in told.blocks)
    assert again.content


def test_a_structured_answer_is_its_text(at_llmock: Caller, llmock: Llmock) -> None:
    llmock.scenario(reply("", ("final_report", {"answer": 4})))
    schema = {"type": "object", "properties": {"answer": {"type": "integer"}}}

    told = answer(at_llmock, user("How many?"), output_schema=schema)

    assert json.loads(told.content or "") == {"answer": 4}
    assert (told.tool_calls, told.finish_reason) == ((), "stop")


def test_an_answer_that_reaches_its_limit(at_aimock: Caller) -> None:
    assert answer(at_aimock, user("length")).finish_reason == "length"


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("limited", FailureCode.RATE_LIMIT),
        ("overloaded", FailureCode.OVERLOADED),
        ("unavailable", FailureCode.OVERLOADED),
    ],
)
def test_refusals(at_aimock: Caller, word: str, code: FailureCode) -> None:
    failed = at_aimock.failure(model=MODEL, messages=[user(word)])

    assert failed is not None
    assert failed.code is code
    assert failed.retry_after_s == (7 if word == "limited" else None)


def test_a_limit_with_its_wait(at_llmock: Caller, llmock: Llmock) -> None:
    llmock.scenario(fail(429, retry_after_s=2))

    failed = at_llmock.failure(model=MODEL, messages=[user("Hi")])

    assert failed is not None
    assert (failed.code, failed.retry_after_s) == (FailureCode.RATE_LIMIT, 2)


@pytest.mark.parametrize("how", ["disconnect", "truncate", "malformed"])
def test_a_stream_that_breaks_is_no_answer(at_llmock: Caller, llmock: Llmock, how: Fault) -> None:
    llmock.scenario(reply("One two three four five six"), stream_fault(how, after_chunks=2))
    heard = Heard()

    at_llmock.failure(heard, model=MODEL, messages=[user("Hi")])

    assert not heard.is_finished
