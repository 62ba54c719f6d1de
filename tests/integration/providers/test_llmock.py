"""llmock does what a test queues, for each API that it speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse

from providers.clients import anthropic_client, error_of, openai_client
from providers.llmock import Llmock, broken_call, fail, reply, stream_fault

GREETING = "Grüß Gott! ☀"
CALLS = [("look", {"city": "Paris"}), ("look", {"city": "Rome"})]
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture(autouse=True)
def _all_is_done(llmock: Llmock) -> Iterator[None]:
    yield
    assert llmock.pending() == []


def chat(llmock: Llmock, **more: Any) -> list[Any]:
    """Return the choices that Chat Completions stream."""
    with openai_client(llmock.openai_url) as client:
        stream: Any = client.chat.completions.create(
            model="gpt-test", messages=[{"role": "user", "content": "Hi"}], stream=True, **more
        )
        return [one.choices[0] for one in stream]


def gemini(llmock: Llmock) -> list[Any]:
    """Return the candidates that `streamGenerateContent` streams."""
    url = f"{llmock.gemini_url}/models/gemini-test:streamGenerateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    with (
        httpx.Client(timeout=10, trust_env=False) as client,
        connect_sse(client, "POST", url, params={"alt": "sse"}, json=body) as source,
    ):
        source.response.raise_for_status()
        return [frame.json()["candidates"][0] for frame in source.iter_sse()]


def test_chat_streams_what_is_queued(llmock: Llmock) -> None:
    llmock.scenario(reply(GREETING, *CALLS))

    choices = chat(llmock)

    pieces = [call for one in choices for call in one.delta.tool_calls or ()]
    arguments = ["".join(p.function.arguments for p in pieces if p.index == n) for n in (0, 1)]
    assert "".join(one.delta.content or "" for one in choices) == GREETING
    assert [json.loads(one) for one in arguments] == [one for _, one in CALLS]
    assert choices[-1].finish_reason == "tool_calls"


def test_responses_streams_what_is_queued(llmock: Llmock) -> None:
    llmock.scenario(reply(GREETING, *CALLS))

    with openai_client(llmock.openai_url) as client:
        *_, last = client.responses.create(model="gpt-test", input="Hi", stream=True)

    assert last.type == "response.completed"
    calls = [one for one in last.response.output if one.type == "function_call"]
    assert last.response.output_text == GREETING
    assert [(one.name, json.loads(one.arguments)) for one in calls] == CALLS


def test_messages_streams_what_is_queued(llmock: Llmock) -> None:
    llmock.scenario(reply(GREETING, *CALLS))

    with (
        anthropic_client(llmock.anthropic_url) as client,
        client.messages.stream(
            model="claude-test", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        message = stream.get_final_message()

    text, *calls = message.content
    assert text.type == "text"
    assert text.text == GREETING
    assert [(one.name, one.input) for one in calls if one.type == "tool_use"] == CALLS


def test_gemini_streams_what_is_queued(llmock: Llmock) -> None:
    llmock.scenario(reply(GREETING, *CALLS))

    candidates = gemini(llmock)

    parts = [part for one in candidates for part in one["content"]["parts"]]
    calls = [one["functionCall"] for one in parts if "functionCall" in one]
    assert "".join(one.get("text", "") for one in parts) == GREETING
    assert [(one["name"], one["args"]) for one in calls] == CALLS
    assert candidates[-1]["finishReason"] == "STOP"


def test_a_refusal_comes_in_the_words_of_its_provider(llmock: Llmock) -> None:
    llmock.scenario(fail(429, retry_after_s=2, times=2))

    with pytest.raises(error_of("openai.RateLimitError")) as chatted:
        chat(llmock)
    with pytest.raises(httpx.HTTPStatusError) as generated:
        gemini(llmock)

    answer: httpx.Response = vars(chatted.value)["response"]
    assert answer.headers["retry-after"] == "2"
    assert vars(chatted.value)["code"] == "rate_limit_exceeded"
    assert generated.value.response.headers["retry-after"] == "2"


def test_a_connection_is_dropped_in_mid_stream(llmock: Llmock) -> None:
    llmock.scenario(reply(GREETING, *CALLS), stream_fault("disconnect", after_chunks=1))

    with pytest.raises(error_of("openai.APIConnectionError")):
        chat(llmock)

    (request,) = llmock.requests()
    assert (request["path"], request["fault"]) == ("/v1/chat/completions", "stream:disconnect@1")


def test_a_stream_ends_early_as_if_it_were_complete(llmock: Llmock) -> None:
    llmock.scenario(reply(GREETING, *CALLS), stream_fault("truncate", after_chunks=2))

    choices = chat(llmock)

    assert [one.finish_reason for one in choices] == [None, None]


def test_a_chunk_is_no_json(llmock: Llmock) -> None:
    llmock.scenario(reply(GREETING), stream_fault("malformed", after_chunks=1))

    with pytest.raises(json.JSONDecodeError):
        chat(llmock)


def test_arguments_of_a_call_are_no_json(llmock: Llmock) -> None:
    llmock.scenario(broken_call("malformed_arguments"))

    choices = chat(llmock, tools=[TOOL])

    pieces = [call for one in choices for call in one.delta.tool_calls or ()]
    with pytest.raises(json.JSONDecodeError):
        json.loads("".join(one.function.arguments for one in pieces))


def test_what_is_no_scenario_is_refused(llmock: Llmock) -> None:
    with pytest.raises(httpx.HTTPStatusError):
        llmock.scenario({"type": "sleep"})
