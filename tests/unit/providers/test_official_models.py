"""The validators take a full body of each provider, and tell what is wrong with a bad one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import pytest

from providers.official_models import (
    refusals_anthropic,
    refusals_bedrock,
    refusals_chat,
    refusals_gemini,
    refusals_responses,
)
from unit.providers import bodies
from unit.transcripts.bodies import spoiled

Refusals = Callable[[Mapping[str, Any]], list[str]]

GONE = "gone"
"""The key at the place is missing."""

EVERY: dict[str, tuple[Refusals, Callable[[], dict[str, Any]]]] = {
    "chat": (refusals_chat, bodies.chat),
    "responses": (refusals_responses, bodies.responses),
    "anthropic": (refusals_anthropic, bodies.anthropic),
    "gemini": (refusals_gemini, bodies.gemini),
    "bedrock": (refusals_bedrock, bodies.bedrock),
}

CHAT: list[tuple[str, Any, str]] = [
    ("model", GONE, "model: Field required"),
    ("stream", False, "stream: Input should be True"),
    ("temperature", "1", "temperature: Input should be a valid number"),
    ("top_k", 5, "top_k: Extra inputs are not permitted"),
    ("reasoning_effort", "huge", "reasoning_effort: Input should be 'none', "),
    ("messages.1.role", "human", "messages.1.role: Input should be 'developer'"),
    ("messages.1.content.0.cache_control", {}, "messages.1.content.0.cache_control: Extra inputs"),
    ("messages.1.content.1.image_url", "data:,", "messages.1.content.1.image_url: Input should be"),
    ("messages.2.reasoning_content", "hm", "messages.2.reasoning_content: Extra inputs"),
    ("messages.2.tool_calls.0.function.arguments", {}, "messages.2.tool_calls.0.function.arg"),
    ("messages.3.tool_call_id", GONE, "messages.3.tool_call_id: Field required"),
    ("tools.0.function.name", GONE, "tools.0.function.name: Field required"),
    ("tools.0.name", "look", "tools.0.name: Extra inputs are not permitted"),
    ("tool_choice", "any", "tool_choice: Input should be 'none', 'auto' or 'required'"),
    ("metadata.turn", 1, "metadata.turn: Input should be a valid string"),
    ("stream_options.usage", True, "stream_options.usage: Extra inputs are not permitted"),
]

RESPONSES: list[tuple[str, Any, str]] = [
    ("messages", [], "messages: Extra inputs are not permitted"),
    ("max_tokens", 5, "max_tokens: Extra inputs are not permitted"),
    ("include.0", "everything", "include.0: Input should be 'file_search_call.results'"),
    ("input.0.content.0.type", "text", "input.0.content.0.type: Input should be 'input_text'"),
    ("input.0.content.1.image_url", {}, "input.0.content.1.image_url: Input should be a valid"),
    ("input.1.summary", GONE, "input.1.summary: Field required"),
    ("input.2.call_id", GONE, "input.2.call_id: Field required"),
    ("input.3.output", {"seen": 1}, "input.3.output: Input should be a valid string"),
    ("input.4.tool_calls", [], "input.4.tool_calls: Extra inputs are not permitted"),
    ("tools.0", {"type": "function", "function": {}}, "tools.0.name: Field required"),
    ("text.format.schema", GONE, "text.format.schema: Field required"),
    ("reasoning.effort", 3, "reasoning.effort: Input should be 'none'"),
]

ANTHROPIC: list[tuple[str, Any, str]] = [
    ("max_tokens", GONE, "max_tokens: Field required"),
    ("max_tokens", 10.5, "max_tokens: Input should be a valid integer"),
    ("messages.0.role", "tool", "messages.0.role: Input should be 'user'"),
    ("messages.0.id", "m1", "messages.0.id: Extra inputs are not permitted"),
    ("messages.0.content.0.text", None, "messages.0.content.0.text: Input should be a valid str"),
    ("messages.0.content.1.source.media_type", "image/bmp", "messages.0.content.1.source.media_"),
    ("messages.1.content.0.signature", GONE, "messages.1.content.0.signature: Field required"),
    ("messages.1.content.2.index", 0, "messages.1.content.2.index: Extra inputs are not perm"),
    ("messages.1.content.3.input", GONE, "messages.1.content.3.input: Field required"),
    ("messages.2.content.0.tool_use_id", GONE, "messages.2.content.0.tool_use_id: Field req"),
    ("messages.2.content.0.name", "look", "messages.2.content.0.name: Extra inputs are not"),
    ("tools.0.parameters", {}, "tools.0.parameters: Extra inputs are not permitted"),
    ("tool_choice.type", "required", "tool_choice.type: Input should be 'auto'"),
    ("thinking", {"type": "enabled"}, "thinking.budget_tokens: Field required"),
    ("stop", ["END"], "stop: Extra inputs are not permitted"),
    ("metadata.turn", "t1", "metadata.turn: Extra inputs are not permitted"),
]

GEMINI: list[tuple[str, Any, str]] = [
    ("contents", [], "contents: List should have at least 1 item"),
    ("model", "gemini-2.5-flash", "model: Extra inputs are not permitted"),
    ("contents.0.role", "assistant", "contents.0.role: Input should be 'user' or 'model'"),
    ("contents.0.parts.0.type", "text", "contents.0.parts.0.type: Extra inputs are not"),
    ("contents.0.parts.1.text", "too", "contents.0.parts.1: Value error, one of text, inline"),
    ("contents.0.parts.1.inlineData.data", "no base64!", "contents.0.parts.1.inlineData.data: "),
    ("contents.1.parts.1.functionCall.args", "{}", "contents.1.parts.1.functionCall.args: Input"),
    ("contents.2.parts.0.functionResponse.response", "a wall", "contents.2.parts.0.functionResp"),
    ("contents.2.parts.1", {"text": "none"}, ": Value error, contents.2 has 1 results for 2 calls"),
    ("tools.0.functionDeclarations.0.name", "look at", "tools.0.functionDeclarations.0.name: "),
    ("tools.0.functionDeclarations.0.parameters", bodies.SCHEMA, "tools.0.functionDeclarations."),
    ("toolConfig.functionCallingConfig.mode", "AUTO", "toolConfig.functionCallingConfig: Value"),
    ("generationConfig.max_tokens", 5, "generationConfig.max_tokens: Extra inputs are not"),
    ("generationConfig.thinkingConfig.thinkingLevel", "LOW", "generationConfig.thinkingConfig: "),
    ("generationConfig.responseMimeType", GONE, "generationConfig: Value error, a schema goes"),
    ("cachedContent", "c1", "cachedContent: String should match pattern"),
]

BEDROCK: list[tuple[str, Any, str]] = [
    ("modelId", GONE, 'Missing required parameter in input: "modelId"'),
    ("stream", True, 'Unknown parameter in input: "stream"'),
    ("messages.0.role", "tool", "messages.0.role: 'tool' is none of ['assistant', "),
    ("messages.0.content.0", {}, "Must set one of the following keys for tagged union"),
    ("messages.0.content.1.image.format", "bmp", "messages.0.content.1.image.format: 'bmp' is no"),
    ("messages.0.content.1.image.source.bytes", 5, "Invalid type for parameter messages[0].con"),
    ("messages.1.content.2.toolUse.name", "look at", "messages.1.content.2.toolUse.name: 'look "),
    ("messages.1.content.2.toolUse.toolUseId", "c" * 65, "messages.1.content.2.toolUse.toolUseI"),
    ("messages.2.content.0.toolResult.content", GONE, "Missing required parameter in messages["),
    ("inferenceConfig.maxTokens", "100", "Invalid type for parameter inferenceConfig.maxTokens"),
    ("inferenceConfig.topK", 5, 'Unknown parameter in inferenceConfig: "topK"'),
    ("toolConfig.tools", [], "Invalid length for parameter toolConfig.tools, value: 0"),
    ("additionalModelRequestFields.at", {1}, "Invalid type for document parameter at, value"),
]

BAD = [
    pytest.param(name, *one, id=f"{name}-{one[0]}-{one[1]}"[:60])
    for name, cases in (
        ("chat", CHAT),
        ("responses", RESPONSES),
        ("anthropic", ANTHROPIC),
        ("gemini", GEMINI),
        ("bedrock", BEDROCK),
    )
    for one in cases
]


@pytest.mark.parametrize("name", EVERY)
def test_a_full_body_is_taken(name: str) -> None:
    refusals, body = EVERY[name]

    told = refusals(body())

    assert told == []


@pytest.mark.parametrize(("name", "path", "value", "expected"), BAD)
def test_what_is_wrong_is_told_with_its_place(
    name: str, path: str, value: Any, expected: str
) -> None:
    refusals, body = EVERY[name]
    bad = bodies.without(body(), path) if value is GONE else spoiled(body(), path, value)

    told = refusals(bad)

    assert any(one.startswith(expected) for one in told), told
    assert len(told) <= 20


def test_two_things_are_told_at_once() -> None:
    once = spoiled(bodies.chat(), "messages.1.role", "human")

    told = refusals_chat(spoiled(once, "top_k", 5))

    assert {one.partition(":")[0] for one in told} == {"messages.1.role", "top_k"}


def test_the_client_may_have_been_used_before() -> None:
    text = import_module("anthropic.types").TextBlock
    answer = text.model_validate({"type": "text", "text": "I look.", "index": 0})

    told = refusals_anthropic(spoiled(bodies.anthropic(), "messages.1.content.2.index", 0))

    assert answer.text == "I look."
    assert told == ["messages.1.content.2.index: Extra inputs are not permitted"]
