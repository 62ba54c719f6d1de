"""Gemini at servers that others wrote: aimock and llmock speak the wire as they understand it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from everturn.llm.assemble import Answer
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.exchange import Exchange
from everturn.llm.providers.gemini import GeminiWire
from everturn.llm.providers.http_model import HttpModel
from everturn.protocol.llm import Usage
from everturn.protocol.wire import to_json
from providers.aimock import Aimock
from providers.gemini_attempt import attempted
from providers.gemini_calls import FLASH_2, WEATHER, result
from providers.llmock import Llmock, fail, reply, stream_fault


@pytest.fixture(scope="module")
def model() -> Iterator[HttpModel]:
    exchange = Exchange("any")
    yield HttpModel(exchange, GeminiWire())
    exchange.close()


def says(text: str, *more: dict[str, Any]) -> dict[str, Any]:
    """Return a request that begins with a user's words."""
    return {"messages": [{"id": "u1", "role": "user", "content": text}, *more], "tools": [WEATHER]}


def answer(model: HttpModel, url: str, request: dict[str, Any]) -> Answer:
    """Return the answer to a request."""
    assembler, failed = attempted(model, url, request)
    assert failed is None
    return assembler.answer()


def failure(model: HttpModel, url: str, request: dict[str, Any]) -> ModelFailed:
    """Return the failure of a request that has no answer."""
    assembler, failed = attempted(model, url, request)
    with pytest.raises(ModelFailed) as unfinished:
        assembler.answer()
    assert failed is None or isinstance(failed, ModelFailed)
    return failed or unfinished.value


def test_aimock_greets(model: HttpModel, aimock: Aimock) -> None:
    found = answer(model, aimock.gemini_url, says("hello"))

    assert found.content == "Grüß Gott! How can I help you today? ☀"
    assert found.finish_reason == "stop"
    assert found.usage == Usage(
        input_tokens=3, output_tokens=10, cache_read_tokens=0, reasoning_tokens=0
    )


def test_aimock_calls_a_tool_and_reads_its_result(model: HttpModel, aimock: Aimock) -> None:
    found = answer(model, aimock.gemini_url, says("How is the weather?"))
    (call,) = found.tool_calls
    said = {
        "id": "a1",
        "role": "assistant",
        "content": found.content,
        "tool_calls": [to_json(call)],
    }
    asked = says("How is the weather?", said, result(call.id, '{"sky":"clear"}'))

    assert (found.finish_reason, found.content) == ("tool_calls", "Let me look.")
    assert call.function.arguments == '{"city":"Paris","unit":"°C"}'
    assert answer(model, aimock.gemini_url, asked).content == "It is sunny in Paris, 21 °C."


def test_aimock_calls_two_tools_at_once(model: HttpModel, aimock: Aimock) -> None:
    found = answer(model, aimock.gemini_url, says("compare"))

    assert [(one.id, one.function.arguments) for one in found.tool_calls] == [
        ("call_paris", '{"city":"Paris"}'),
        ("call_rome", '{"city":"Rome"}'),
    ]
    assert found.replay_state == '{"v":1,"parts":[{"call":"call_paris"},{"call":"call_rome"}]}'


def test_aimock_thinks(model: HttpModel, aimock: Aimock) -> None:
    request = {**says("reason"), "reasoning": {"effort": "low"}}

    found = answer(model, aimock.gemini_url, request)

    assert [one.thinking for one in found.reasoning] == [
        "Two and two make four, as everybody knows."
    ]
    assert found.content == "The answer is 4."


def test_aimock_reaches_its_limit(model: HttpModel, aimock: Aimock) -> None:
    assert answer(model, aimock.gemini_url, says("length")).finish_reason == "length"


@pytest.mark.parametrize(
    ("word", "code", "status", "wait"),
    [
        ("limited", FailureCode.RATE_LIMIT, 429, 7.0),
        ("overloaded", FailureCode.OVERLOADED, 529, None),
        ("unavailable", FailureCode.OVERLOADED, 503, None),
    ],
)
def test_aimock_refuses(
    model: HttpModel,
    aimock: Aimock,
    word: str,
    code: FailureCode,
    status: int,
    wait: float | None,
) -> None:
    failed = failure(model, aimock.gemini_url, says(word))

    assert (failed.code, failed.status, failed.retry_after_s) == (code, status, wait)


def test_aimock_hangs_up(model: HttpModel, aimock: Aimock) -> None:
    failed = failure(model, aimock.gemini_url, says("disconnect"))

    assert failed.code in {FailureCode.NETWORK, FailureCode.STREAM_ENDED}


@pytest.mark.parametrize("name", [FLASH_2, "gemini-3-flash-preview"])
def test_llmock_speaks_and_calls(model: HttpModel, llmock: Llmock, name: str) -> None:
    calls = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Zürich"})]
    llmock.scenario(reply("Let me see.", *calls))

    found = answer(model, llmock.gemini_url, {**says("Hi"), "model": name})

    assert found.content == "Let me see."
    assert [one.function.arguments for one in found.tool_calls] == [
        '{"city":"Oslo"}',
        '{"city":"Zürich"}',
    ]
    assert found.finish_reason == "tool_calls"
    assert found.usage is not None


def test_llmock_is_told_results(model: HttpModel, llmock: Llmock) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": "{}"},
    }
    said = {"id": "a1", "role": "assistant", "tool_calls": [call]}
    llmock.scenario(reply("Fine."))

    found = answer(model, llmock.gemini_url, says("Hi", said, result("c1", "clear")))

    assert found.content == "Fine."


@pytest.mark.parametrize(
    ("status", "code", "wait"),
    [
        (400, FailureCode.INVALID_REQUEST, None),
        (401, FailureCode.AUTH, None),
        (403, FailureCode.AUTH, None),
        (429, FailureCode.RATE_LIMIT, 3.0),
        (500, FailureCode.SERVER, None),
        (503, FailureCode.OVERLOADED, 1.0),
    ],
)
def test_llmock_refuses(
    model: HttpModel, llmock: Llmock, status: int, code: FailureCode, wait: float | None
) -> None:
    llmock.scenario(fail(status, retry_after_s=wait))

    failed = failure(model, llmock.gemini_url, says("Hi"))

    assert (failed.code, failed.status, failed.retry_after_s) == (code, status, wait)


@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
def test_llmock_breaks_off(model: HttpModel, llmock: Llmock, kind: Any) -> None:
    llmock.scenario(reply("Long enough to come in several pieces."), stream_fault(kind))

    failed = failure(model, llmock.gemini_url, says("Hi"))

    assert failed.code in {FailureCode.NETWORK, FailureCode.STREAM_ENDED, FailureCode.SERVER}


def test_llmock_filters(model: HttpModel, llmock: Llmock) -> None:
    llmock.scenario(reply("No.", finish="content_filter"))

    assert failure(model, llmock.gemini_url, says("Hi")).code is FailureCode.REFUSED
