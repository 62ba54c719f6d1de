"""aimock answers each provider's official client with what is in `aimock_answers.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from httpx_sse import connect_sse

from providers.aimock import Aimock
from providers.clients import anthropic_client, bedrock_client, error_of, openai_client

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message
    from openai import OpenAI
    from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam
    from openai.types.responses import Response, ResponseStreamEvent

GREETING = "Grüß Gott! How can I help you today? ☀"
THOUGHT = "Two and two make four, as everybody knows."
PARIS = {"city": "Paris", "unit": "°C"}
REFUSALS = [("limited", 429, "7"), ("overloaded", 529, None), ("unavailable", 503, None)]


@pytest.fixture
def openai(aimock: Aimock) -> Iterator[OpenAI]:
    with openai_client(aimock.openai_url) as client:
        yield client


@pytest.fixture
def anthropic(aimock: Aimock) -> Iterator[Anthropic]:
    with anthropic_client(aimock.anthropic_url) as client:
        yield client


def chat(client: OpenAI, *messages: ChatCompletionMessageParam) -> Iterator[ChatCompletionChunk]:
    """Yield the chunks of Chat Completions."""
    yield from client.chat.completions.create(
        model="gpt-5", messages=messages, stream=True, stream_options={"include_usage": True}
    )


def respond(client: OpenAI, text: str) -> Iterator[ResponseStreamEvent]:
    """Yield the events of Responses."""
    yield from client.responses.create(model="gpt-5", input=text, stream=True)


def completed(client: OpenAI, text: str) -> Response:
    """Return what the last event of Responses holds."""
    *_, last = respond(client, text)
    assert last.type == "response.completed"
    return last.response


def messages(client: Anthropic, text: str) -> Message:
    """Return what Anthropic's Messages add up to."""
    with client.messages.stream(
        model="claude-test", max_tokens=100, messages=[{"role": "user", "content": text}]
    ) as stream:
        return stream.get_final_message()


def converse(aimock: Aimock, text: str) -> list[Any]:
    """Return the events of Bedrock's `converse_stream`."""
    with bedrock_client(aimock.bedrock_url) as client:
        answer = client.converse_stream(
            modelId="anthropic.claude-test",
            messages=[{"role": "user", "content": [{"text": text}]}],
        )
        with closing(answer["stream"]) as stream:
            return list(stream)


def gemini(aimock: Aimock, text: str) -> list[Any]:
    """Return the frames of `streamGenerateContent`, parsed."""
    url = f"{aimock.gemini_url}/models/gemini-2.5-flash:streamGenerateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    with (
        httpx.Client(timeout=10, trust_env=False) as client,
        connect_sse(client, "POST", url, params={"alt": "sse"}, json=body) as source,
    ):
        source.response.raise_for_status()
        return [frame.json() for frame in source.iter_sse()]


def parts(frames: list[Any]) -> list[Any]:
    """Return the parts of all frames of Gemini's."""
    return [part for one in frames for part in one["candidates"][0]["content"]["parts"]]


def text_of(pieces: list[Any]) -> str:
    """Return the text of Gemini's parts that is no thought."""
    return "".join(one["text"] for one in pieces if not one.get("thought"))


def test_chat_streams_a_text_and_its_usage(openai: OpenAI) -> None:
    *chunks, last = chat(openai, {"role": "user", "content": "hello"})

    assert "".join(one.choices[0].delta.content or "" for one in chunks) == GREETING
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert last.usage
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (3, 10)


def test_chat_streams_a_call_and_goes_on_with_its_result(openai: OpenAI) -> None:
    asked: ChatCompletionMessageParam = {"role": "user", "content": "weather"}
    *chunks, _ = chat(openai, asked)
    calls = [call for one in chunks for call in one.choices[0].delta.tool_calls or ()]
    pieces = [call.function.arguments or "" for call in calls if call.function]
    function = {"name": "get_weather", "arguments": "".join(pieces)}
    *more, _ = chat(
        openai,
        asked,
        {
            "role": "assistant",
            "tool_calls": [{"id": "call_paris", "type": "function", "function": function}],  # type: ignore[typeddict-item] # a plain dict
        },
        {"role": "tool", "tool_call_id": "call_paris", "content": "sunny"},
    )

    assert (calls[0].id, json.loads("".join(pieces))) == ("call_paris", PARIS)
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    text = "".join(one.choices[0].delta.content or "" for one in more)
    assert text == "It is sunny in Paris, 21 °C."


def test_chat_streams_two_calls(openai: OpenAI) -> None:
    *chunks, _ = chat(openai, {"role": "user", "content": "compare"})

    calls = [call for one in chunks for call in one.choices[0].delta.tool_calls or ()]
    assert [(one.index, one.id) for one in calls if one.id] == [(0, "call_paris"), (1, "call_rome")]


def test_chat_streams_reasoning_as_compatible_servers_do(openai: OpenAI) -> None:
    *chunks, _ = chat(openai, {"role": "user", "content": "reason"})

    thoughts = [(one.choices[0].delta.model_extra or {}).get("reasoning_content") for one in chunks]
    assert "".join(one or "" for one in thoughts) == THOUGHT


@pytest.mark.parametrize(("word", "status", "retry_after"), REFUSALS)
def test_chat_refuses(openai: OpenAI, word: str, status: int, retry_after: str | None) -> None:
    chunks = chat(openai, {"role": "user", "content": word})

    with pytest.raises(error_of("openai.APIStatusError")) as raised:
        next(chunks)

    answer: httpx.Response = vars(raised.value)["response"]
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)


def test_chat_breaks_off(openai: OpenAI) -> None:
    chunks = chat(openai, {"role": "user", "content": "disconnect"})
    texts = [next(chunks).choices[0].delta.content for _ in range(3)]

    with pytest.raises(error_of("openai.APIConnectionError")):
        list(chunks)

    assert "".join(one or "" for one in texts).startswith("This answer is cut off")


def test_responses_streams_a_text_and_its_usage(openai: OpenAI) -> None:
    response = completed(openai, "hello")

    assert response.output_text == GREETING
    assert response.usage
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 10)


def test_responses_streams_a_call(openai: OpenAI) -> None:
    message, call = completed(openai, "weather").output

    assert message.type == "message"
    assert call.type == "function_call"
    assert (call.call_id, json.loads(call.arguments)) == ("call_paris", PARIS)


def test_responses_streams_two_calls(openai: OpenAI) -> None:
    calls = completed(openai, "compare").output

    assert [one.call_id for one in calls if one.type == "function_call"] == [
        "call_paris",
        "call_rome",
    ]


def test_responses_streams_reasoning(openai: OpenAI) -> None:
    *events, _ = respond(openai, "reason")

    thoughts = [one.delta for one in events if one.type == "response.reasoning_summary_text.delta"]
    assert "".join(thoughts) == THOUGHT


def test_responses_streams_what_has_a_structure(openai: OpenAI) -> None:
    response = completed(openai, "structured")

    assert json.loads(response.output_text) == {"answer": 4, "unit": "apples"}


def test_responses_breaks_off(openai: OpenAI) -> None:
    events = respond(openai, "disconnect")
    kinds = [next(events).type for _ in range(5)]

    with pytest.raises(error_of("openai.APIConnectionError")):
        list(events)

    assert kinds[-1] == "response.output_text.delta"


def test_messages_streams_a_text_and_its_usage(anthropic: Anthropic) -> None:
    message = messages(anthropic, "hello")

    (block,) = message.content
    assert block.type == "text"
    assert block.text == GREETING
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 10)


def test_messages_streams_two_calls(anthropic: Anthropic) -> None:
    message = messages(anthropic, "compare")

    assert message.stop_reason == "tool_use"
    assert [(one.id, one.input) for one in message.content if one.type == "tool_use"] == [
        ("call_paris", {"city": "Paris"}),
        ("call_rome", {"city": "Rome"}),
    ]


def test_messages_streams_thinking_with_its_signature(anthropic: Anthropic) -> None:
    redacted, thinking, text = messages(anthropic, "reason").content

    assert redacted.type == "redacted_thinking"
    assert redacted.data == "b3BhcXVl"
    assert thinking.type == "thinking"
    assert (thinking.thinking, thinking.signature) == (THOUGHT, "c2lnbmVk")
    assert text.type == "text"


def test_messages_is_cut_at_its_length(anthropic: Anthropic) -> None:
    assert messages(anthropic, "length").stop_reason == "max_tokens"


@pytest.mark.parametrize(("word", "status", "retry_after"), REFUSALS)
def test_messages_refuses(
    anthropic: Anthropic, word: str, status: int, retry_after: str | None
) -> None:
    with pytest.raises(error_of("anthropic.APIStatusError")) as raised:
        messages(anthropic, word)

    answer: httpx.Response = vars(raised.value)["response"]
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)


def test_messages_breaks_off(anthropic: Anthropic) -> None:
    with pytest.raises(error_of("httpx2.RemoteProtocolError")):
        messages(anthropic, "disconnect")


def test_gemini_streams_a_text_and_its_usage(aimock: Aimock) -> None:
    frames = gemini(aimock, "hello")

    assert text_of(parts(frames)) == GREETING
    assert frames[-1]["candidates"][0]["finishReason"] == "STOP"
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 10, "totalTokenCount": 13}
    assert frames[-1]["usageMetadata"] == usage


def test_gemini_streams_calls_with_a_reason_of_its_own(aimock: Aimock) -> None:
    frames = gemini(aimock, "compare")

    assert [one["functionCall"]["args"] for one in parts(frames)] == [
        {"city": "Paris"},
        {"city": "Rome"},
    ]
    assert frames[-1]["candidates"][0]["finishReason"] == "FUNCTION_CALL"  # Google says STOP


def test_gemini_streams_thoughts_without_a_signature(aimock: Aimock) -> None:
    pieces = parts(gemini(aimock, "reason"))

    assert "".join(one["text"] for one in pieces if one.get("thought")) == THOUGHT
    assert text_of(pieces) == "The answer is 4."


@pytest.mark.parametrize(("word", "status", "retry_after"), REFUSALS)
def test_gemini_refuses(aimock: Aimock, word: str, status: int, retry_after: str | None) -> None:
    with pytest.raises(httpx.HTTPStatusError) as raised:
        gemini(aimock, word)

    answer = raised.value.response
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)


def test_gemini_breaks_off(aimock: Aimock) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        gemini(aimock, "disconnect")


def test_converse_streams_two_calls_and_their_usage(aimock: Aimock) -> None:
    events = converse(aimock, "compare")

    starts = [one["contentBlockStart"]["start"] for one in events if "contentBlockStart" in one]
    assert [one["toolUse"]["toolUseId"] for one in starts] == ["call_paris", "call_rome"]
    assert events[-2:] == [
        {"messageStop": {"stopReason": "tool_use"}},
        {
            "metadata": {
                "usage": {"inputTokens": 12, "outputTokens": 16, "totalTokens": 28},
                "metrics": {"latencyMs": 0},
            }
        },
    ]


def test_converse_begins_a_text_as_bedrock_does_not(aimock: Aimock) -> None:
    with pytest.raises(ResponseParserError, match="must have one and only one member set"):
        converse(aimock, "hello")


def test_converse_refuses_without_a_code_of_bedrock(aimock: Aimock) -> None:
    with pytest.raises(ClientError) as raised:
        converse(aimock, "limited")

    assert raised.value.response["Error"]["Code"] == "429"
    assert raised.value.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"] == "7"
