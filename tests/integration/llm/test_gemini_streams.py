"""Gemini over real sockets: answers whole, cut, refused, broken off; nothing is ever half there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from everturn.llm.assemble import Answer as ModelAnswer
from everturn.llm.assemble import Assembler
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.llm.providers.exchange import Exchange
from everturn.llm.providers.gemini import GeminiWire
from everturn.llm.providers.http_model import HttpModel
from everturn.protocol.llm import Usage
from providers.frames import COMMENT, every_byte, frame
from providers.gemini_attempt import attempted
from providers.gemini_calls import FLASH_3, WEATHER, parts
from providers.official_models import refusals_gemini
from providers.scripted import Answer, Ending, ScriptedProvider, json_answer, scripted_provider

USED = Usage(input_tokens=3, output_tokens=9, cache_read_tokens=1, reasoning_tokens=4)
COUNTS = {
    "promptTokenCount": 4,
    "cachedContentTokenCount": 1,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 4,
}
CALL = {"functionCall": {"name": "get_weather", "args": {"city": "Zürich"}, "id": "x1"}}
OTHER = {"functionCall": {"name": "get_weather", "args": {}, "id": "x2"}}
EVENTS = [
    parts({"text": "Hm", "thought": True}, usageMetadata={"promptTokenCount": 4}),
    parts({"text": "Grüß "}),
    parts({"text": "Gott ☀"}),
    parts({**CALL, "thoughtSignature": "c2ln"}, OTHER),
    parts({"text": ""}, reason="STOP", usageMetadata=COUNTS),
]


@pytest.fixture(scope="module")
def model() -> Iterator[HttpModel]:
    exchange = Exchange("any")
    yield HttpModel(exchange, GeminiWire())
    exchange.close()


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with scripted_provider() as one:
        yield one


def run(
    model: HttpModel,
    provider: ScriptedProvider,
    request: Mapping[str, Any] | None = None,
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[Assembler, Exception | None]:
    """Return what one attempt read, and how it failed."""
    url = f"{provider.url}/v1beta"
    return attempted(model, url, {"tools": [WEATHER], **(request or {})}, cancelled)


def answered(model: HttpModel, provider: ScriptedProvider) -> ModelAnswer:
    """Return the answer of an attempt that worked."""
    assembler, failed = run(model, provider)
    assert failed is None
    return assembler.answer()


def failure(model: HttpModel, provider: ScriptedProvider) -> ModelFailed:
    """Return the failure of an attempt that nothing may be left of."""
    assembler, failed = run(model, provider)
    assert isinstance(failed, ModelFailed)
    with pytest.raises(ModelFailed):
        assembler.answer()
    return failed


def whole(answer: ModelAnswer) -> None:
    """Assert that an answer is that of `EVENTS`."""
    assert answer.content == "Grüß Gott ☀"
    assert [one.thinking for one in answer.reasoning] == ["Hm"]
    assert [(one.id, one.function.arguments) for one in answer.tool_calls] == [
        ("x1", '{"city":"Zürich"}'),
        ("x2", "{}"),
    ]
    assert answer.finish_reason == "tool_calls"
    assert answer.usage == USED
    assert answer.replay_state == (
        '{"v":1,"parts":[{"text":11},{"call":"x1","sig":"c2ln"},{"call":"x2"}]}'
    )


def test_a_request_as_it_arrives(model: HttpModel, provider: ScriptedProvider) -> None:
    provider.plays(Answer(tuple(map(frame, EVENTS))))

    whole(answered(model, provider))

    asked = provider.next_asked()
    assert asked.path == f"/v1beta/models/{FLASH_3}:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == "k-1"
    assert asked.headers["x-team"] == "a"
    assert refusals_gemini(asked.json) == []


STREAM = b"".join(frame(event, newline="\r\n") for event in EVENTS)


@pytest.mark.parametrize(
    "pieces",
    [
        (STREAM,),
        every_byte(STREAM),
        (COMMENT, *(frame(event, event="message") + COMMENT for event in EVENTS)),
        tuple(frame({**event, "next": {"years": ["field"]}}) for event in EVENTS),
        (*map(frame, EVENTS[:-1]), frame(parts(reason="STOP")), frame({"usageMetadata": COUNTS})),
    ],
    ids=["CRLF", "bytes", "comments", "unknown fields", "usage in a last frame"],
)
def test_a_whole_answer_however_it_comes(
    model: HttpModel, provider: ScriptedProvider, pieces: tuple[bytes, ...]
) -> None:
    provider.plays(Answer(pieces))

    whole(answered(model, provider))


def test_the_connection_is_used_again(model: HttpModel, provider: ScriptedProvider) -> None:
    provider.plays(*[Answer(tuple(map(frame, EVENTS)))] * 3)

    started = time.monotonic()
    for _ in range(3):
        whole(answered(model, provider))

    assert time.monotonic() - started < 2


@pytest.mark.parametrize("ending", [Ending.COMPLETE, Ending.CLOSED, Ending.RESET])
@pytest.mark.parametrize("cut", range(len(EVENTS)))
def test_a_stream_that_is_cut_is_never_half_an_answer(
    model: HttpModel, provider: ScriptedProvider, cut: int, ending: Ending
) -> None:
    half = frame(EVENTS[cut])[:-3]
    provider.plays(Answer((*map(frame, EVENTS[:cut]), half), ending=ending))

    assembler, failed = run(model, provider)

    assert failed is None or (isinstance(failed, ModelFailed) and ending is not Ending.COMPLETE)
    with pytest.raises(ModelFailed) as unfinished:
        assembler.answer()
    assert unfinished.value.code is FailureCode.STREAM_ENDED
    if ending is not Ending.RESET:  # which may overtake what came before it
        assert (assembler.usage is not None) == (cut > 0)


def test_a_whole_answer_survives_a_cut_behind_it(
    model: HttpModel, provider: ScriptedProvider
) -> None:
    provider.plays(Answer(tuple(map(frame, EVENTS)), ending=Ending.CLOSED))

    whole(answered(model, provider))


@pytest.mark.parametrize(
    ("answer", "code", "wait"),
    [
        (json_answer(429, {"error": {"code": 429, "message": "Slow."}}, retry_after="7"),
         FailureCode.RATE_LIMIT, 7.0),
        (
            json_answer(
                429,
                [{"error": {
                    "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota.",
                    "details": [{"retryDelay": "12s"}],
                }}],
            ),
            FailureCode.RATE_LIMIT,
            12.0,
        ),
        (json_answer(500, {"error": {"code": 500, "status": "INTERNAL", "message": "Oh."}}),
         FailureCode.SERVER, None),
        (json_answer(503, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Busy."}}),
         FailureCode.OVERLOADED, None),
        (json_answer(529, {}), FailureCode.OVERLOADED, None),
        (Answer((b"<html>Bad gateway</html>",), 502, {"content-type": "text/html"}),
         FailureCode.SERVER, None),
        (json_answer(200, [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "Busy."}}]),
         FailureCode.OVERLOADED, None),
        (json_answer(200, [{"candidates": []}]), FailureCode.INVALID_REQUEST, None),
        (
            Answer((
                frame(EVENTS[0]),
                frame({"error": {"code": 503, "status": "UNAVAILABLE", "message": "Busy."}}),
            )),
            FailureCode.OVERLOADED,
            None,
        ),
        (Answer((frame(EVENTS[0]), b"data: {nonsense\n\n")), FailureCode.SERVER, None),
    ],
)  # fmt: skip
def test_refusals_and_errors_inside_a_stream(
    model: HttpModel,
    provider: ScriptedProvider,
    answer: Answer,
    code: FailureCode,
    wait: float | None,
) -> None:
    provider.plays(answer)

    failed = failure(model, provider)

    assert failed.code is code
    assert failed.retry_after_s == wait


@pytest.mark.parametrize("before", [(), (frame(EVENTS[0]),)])
def test_whoever_waits_can_be_called_off(
    model: HttpModel, provider: ScriptedProvider, before: tuple[bytes, ...]
) -> None:
    provider.plays(Answer((*before, threading.Event())))
    cancelled = threading.Event()
    timer = threading.Timer(0.3, cancelled.set)
    timer.start()

    started = time.monotonic()
    assembler, failed = run(model, provider, cancelled=cancelled.is_set)

    assert isinstance(failed, ModelAborted)
    assert time.monotonic() - started < 1.3
    assert provider.next_asked().hung_up.wait(5)
    assert (assembler.usage is not None) == bool(before)
    timer.join()


def test_a_structured_answer_of_an_older_model(
    model: HttpModel, provider: ScriptedProvider
) -> None:
    report = {"functionCall": {"name": "set_model_response", "args": {"sum": 4}}}
    provider.plays(Answer((frame(parts({"text": "Here:"}, report, reason="STOP")),)))
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}}

    assembler, failed = run(model, provider, {"model": "gemini-2.5-flash", "output_schema": schema})

    assert failed is None
    assert assembler.answer().content == '{"sum":4}'
    assert refusals_gemini(provider.next_asked().json) == []
