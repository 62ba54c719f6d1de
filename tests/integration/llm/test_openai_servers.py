"""OpenAI's wires against two servers that nobody here wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from everturn.llm.assemble import Answer, assemble
from everturn.llm.failure import FailureCode
from everturn.llm.providers.http_model import Wire
from everturn.llm.providers.openai_chat import OpenAiChatWire
from everturn.llm.providers.openai_compatible import OpenAiCompatibleWire
from everturn.llm.providers.openai_responses import OpenAiResponsesWire
from everturn.ports.model import Replay
from integration.llm.calling import Caller, Heard, calling
from providers.aimock import Aimock
from providers.llmock import Llmock, fail, reply, stream_fault

WIRES: Mapping[str, Wire] = {
    "chat": OpenAiChatWire(),
    "compatible": OpenAiCompatibleWire(),
    "responses": OpenAiResponsesWire(),
}
GREETING = "Grüß Gott! How can I help you today? ☀"
THOUGHT = "Two and two make four, as everybody knows."
WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "input": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Return each wire."""
    return WIRES[request.param]


@pytest.fixture
def at_aimock(aimock: Aimock, wire: Wire) -> Iterator[Caller]:
    """Return who calls aimock."""
    with calling(wire, aimock.openai_url) as caller:
        yield caller


@pytest.fixture
def at_llmock(llmock: Llmock, wire: Wire) -> Iterator[Caller]:
    """Return who calls llmock."""
    with calling(wire, llmock.openai_url) as caller:
        yield caller


def user(words: str) -> dict[str, Any]:
    """Return a message of a user."""
    return {"id": "u1", "role": "user", "content": words}


def answer(caller: Caller, *messages: Mapping[str, Any], **how: Any) -> Answer:
    """Return a whole answer."""
    return assemble(caller.hear(messages=[*messages], **how).chunks)


def calls(told: Answer) -> list[tuple[str, Any]]:
    """Return the calls of an answer, arguments parsed."""
    found = [one.function for one in told.tool_calls]
    return [(one.name, json.loads(one.arguments)) for one in found]


def test_text(at_aimock: Caller) -> None:
    told = answer(at_aimock, user("hello"))

    assert (told.content, told.finish_reason) == (GREETING, "stop")
    assert told.usage is not None
    assert told.usage.output_tokens > 0


def test_a_call_and_what_follows_from_its_result(at_aimock: Caller) -> None:
    asks = answer(at_aimock, user("weather"), tools=[WEATHER])

    assert asks.content == "Let me look."
    assert calls(asks) == [("get_weather", {"city": "Paris", "unit": "°C"})]
    assert asks.finish_reason == "tool_calls"

    call = asks.tool_calls[0].model_dump()
    says = answer(
        at_aimock,
        user("weather"),
        {"id": "a1", "role": "assistant", "content": asks.content, "tool_calls": [call]},
        {"id": "t1", "role": "tool", "tool_call_id": call["id"], "content": "sunny"},
        tools=[WEATHER],
    )

    assert (says.content, says.finish_reason) == ("It is sunny in Paris, 21 °C.", "stop")


def test_two_calls(at_aimock: Caller) -> None:
    told = answer(at_aimock, user("compare"), tools=[WEATHER])

    assert calls(told) == [("get_weather", {"city": one}) for one in ("Paris", "Rome")]


def test_thinking_there_and_back(at_aimock: Caller) -> None:
    told = answer(at_aimock, user("reason"))

    assert "".join(one.thinking for one in told.reasoning) == THOUGHT
    assert told.content == "The answer is 4."

    blocks: tuple[Mapping[str, Any], ...] = (
        *(
            {"type": "reasoning", "thinking": one.thinking, "signature": one.signature}
            for one in told.reasoning
        ),
        {"type": "text", "text": told.content},
    )
    again = answer(
        at_aimock,
        user("reason"),
        {"id": "a1", "role": "assistant", "content": told.content},
        {"role": "user", "content": "hello"},
        replays={"a1": Replay("p", "gpt-5", blocks, told.replay_state)},
    )

    assert again.content == GREETING


def test_a_structured_answer(at_aimock: Caller) -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "integer"}, "unit": {"type": "string"}},
        "required": ["answer", "unit"],
        "additionalProperties": False,
    }

    told = answer(at_aimock, user("structured"), output_schema=schema)

    assert json.loads(told.content or "") == {"answer": 4, "unit": "apples"}


def test_an_answer_that_is_cut_off(at_aimock: Caller) -> None:
    assert answer(at_aimock, user("length")).finish_reason == "length"


def test_a_broken_answer_is_none(at_aimock: Caller) -> None:
    heard = Heard()

    failed = at_aimock.failure(heard, messages=[user("disconnect")])

    assert not heard.is_finished
    assert failed is not None
    assert failed.code == FailureCode.NETWORK


@pytest.mark.parametrize(
    ("word", "code", "status", "after_s"),
    [
        ("limited", FailureCode.RATE_LIMIT, 429, 7),
        ("overloaded", FailureCode.OVERLOADED, 529, None),
        ("unavailable", FailureCode.OVERLOADED, 503, None),
    ],
)
def test_refusals(
    at_aimock: Caller, word: str, code: str, status: int, after_s: float | None
) -> None:
    failed = at_aimock.failure(messages=[user(word)])

    assert failed is not None
    assert (failed.code, failed.status, failed.retry_after_s) == (code, status, after_s)


def test_llmock_says_what_is_queued(at_llmock: Caller, llmock: Llmock) -> None:
    llmock.scenario(reply("I look.", ("get_weather", {"city": "Rome"})), reply("Sunny."))

    asks = answer(at_llmock, user("How is it?"), tools=[WEATHER])
    says = answer(at_llmock, user("And?"))

    assert (asks.content, calls(asks)) == ("I look.", [("get_weather", {"city": "Rome"})])
    assert (asks.finish_reason, says.finish_reason) == ("tool_calls", "stop")
    assert says.content == "Sunny."
    assert says.usage is not None


def test_llmock_refuses(at_llmock: Caller, llmock: Llmock) -> None:
    llmock.scenario(fail(429, retry_after_s=3), fail(500))

    limited, broken = at_llmock.failure(), at_llmock.failure()

    assert limited is not None
    assert broken is not None
    assert (limited.code, limited.retry_after_s) == (FailureCode.RATE_LIMIT, 3)
    assert broken.code == FailureCode.SERVER


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
def test_llmock_breaks_its_stream(at_llmock: Caller, llmock: Llmock, fault: Any) -> None:
    llmock.scenario(reply("one two three four"), stream_fault(fault, after_chunks=2))
    heard = Heard()

    at_llmock.failure(heard)

    assert not heard.is_finished
