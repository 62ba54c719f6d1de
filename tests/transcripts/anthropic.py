"""What Anthropic's messages refuse.

It owes nothing to the engine's own converter. Source: Anthropic's API reference, "Messages",
"Tool use", "Extended thinking", and the messages of its 400s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

from transcripts.refusal import Refusal, is_blank, is_object_schema, repeated

CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
LEAST_THINKING: Final = 1024
IMAGES: Final = {"image/jpeg", "image/png", "image/gif", "image/webp"}
BLOCKS: Final = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
    "tool_result": {"text", "image", "document"},
}
"""Which blocks may stand in what."""


class AnthropicRule(StrEnum):
    """Rules by the names under which they can be left out."""

    NO_MESSAGES = "anthropic.no_messages"
    ROLE = "anthropic.role"
    """The system prompt is no message."""

    FIRST_USER = "anthropic.first_user"
    ALTERNATION = "anthropic.alternation"
    EMPTY_CONTENT = "anthropic.empty_content"
    BLANK_TEXT = "anthropic.blank_text"
    BLOCK_TYPE = "anthropic.block_type"
    SOURCE = "anthropic.source"
    CALL_ID = "anthropic.call_id"
    REPEATED_ID = "anthropic.repeated_id"
    """In the whole conversation, not in one message alone."""

    TOOL_INPUT = "anthropic.tool_input"
    UNANSWERED = "anthropic.unanswered"
    """Each `tool_use` has its result in the very next message."""

    UNASKED = "anthropic.unasked"
    """Each `tool_result` has its use in the message directly before."""

    RESULTS_FIRST = "anthropic.results_first"
    ENDS_WITH_ASSISTANT = "anthropic.ends_with_assistant"
    """Newer models take no prefill; older ones continue it, which no caller of ours means."""

    TRAILING_SPACE = "anthropic.trailing_space"
    """Of a prefill."""

    TOOL_NAME = "anthropic.tool_name"
    REPEATED_TOOL = "anthropic.repeated_tool"
    INPUT_SCHEMA = "anthropic.input_schema"
    MAX_TOKENS = "anthropic.max_tokens"
    THINKING_BUDGET = "anthropic.thinking_budget"
    """At least 1024 tokens, and less than `max_tokens`."""

    THINKING_FIRST = "anthropic.thinking_first"
    """With thinking, a loop of calls that is under way began with it."""

    THINKING_TEMPERATURE = "anthropic.thinking_temperature"
    SETTING = "anthropic.setting"


Found = Iterator[Refusal]
Block = Mapping[str, Any]


def refusals(body: Mapping[str, Any]) -> Found:
    """Yield what is wrong with the body of `POST /v1/messages`, nothing for a good one."""
    messages = body.get("messages") or ()
    yield from _order(messages)
    for at, message in enumerate(messages):
        is_last = at == len(messages) - 1
        yield from _message(f"messages.{at}", message, is_last=is_last)
    yield from _pairs(messages)
    yield from _last(messages)
    if is_blank(body.get("system", "-")):
        yield Refusal(AnthropicRule.BLANK_TEXT, "system")
    yield from _tools(body.get("tools") or ())
    yield from _settings(body)
    yield from _thinking(body, messages)


def blocks_of(message: Mapping[str, Any]) -> Sequence[Block]:
    """Return a message's blocks; a string stands for one of text."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or ()


def _order(messages: Sequence[Mapping[str, Any]]) -> Found:
    if not messages:
        yield Refusal(AnthropicRule.NO_MESSAGES, "messages")
        return
    roles = [message.get("role") for message in messages]
    if roles[0] != "user":
        yield Refusal(AnthropicRule.FIRST_USER, "messages.0", repr(roles[0]))
    for at, (one, next_one) in enumerate(pairwise(roles), start=1):
        if one == next_one:
            yield Refusal(AnthropicRule.ALTERNATION, f"messages.{at}", repr(one))


def _message(where: str, message: Mapping[str, Any], *, is_last: bool) -> Found:
    role = message.get("role")
    if role not in {"user", "assistant"}:
        yield Refusal(AnthropicRule.ROLE, where, repr(role))
        return
    if not message.get("content") and not (is_last and role == "assistant"):
        yield Refusal(AnthropicRule.EMPTY_CONTENT, where)
    if not message.get("content"):
        return
    for at, block in enumerate(blocks_of(message)):
        yield from _block(f"{where}.content.{at}", block, role)


def _block(where: str, block: Block, holder: str) -> Found:
    kind = block.get("type")
    if kind not in BLOCKS[holder]:
        yield Refusal(AnthropicRule.BLOCK_TYPE, where, f"{kind!r} in {holder}")
        return
    match kind:
        case "text" if is_blank(block["text"]):
            yield Refusal(AnthropicRule.BLANK_TEXT, where)
        case "image" | "document":
            yield from _source(where, kind, block.get("source") or {})
        case "tool_use":
            yield from _use(where, block)
        case "tool_result":
            if CALL_ID.fullmatch(str(block.get("tool_use_id"))) is None:
                yield Refusal(AnthropicRule.CALL_ID, where, repr(block.get("tool_use_id")))
            if not isinstance(block.get("content", ""), str):
                for at, inner in enumerate(block["content"]):
                    yield from _block(f"{where}.content.{at}", inner, "tool_result")


def _use(where: str, block: Block) -> Found:
    if CALL_ID.fullmatch(str(block.get("id"))) is None:
        yield Refusal(AnthropicRule.CALL_ID, where, repr(block.get("id")))
    if TOOL_NAME.fullmatch(str(block.get("name"))) is None:
        yield Refusal(AnthropicRule.TOOL_NAME, where, repr(block.get("name")))
    if not isinstance(block.get("input"), dict):
        yield Refusal(AnthropicRule.TOOL_INPUT, where, repr(block.get("input")))


def _source(where: str, kind: str, source: Block) -> Found:
    match source.get("type"):
        case "url":
            is_good = str(source.get("url")).startswith("https://")
        case "base64":
            allowed = IMAGES if kind == "image" else {"application/pdf"}
            is_good = source.get("media_type") in allowed and bool(source.get("data"))
        case "text":
            is_good = kind == "document" and source.get("media_type") == "text/plain"
        case _:
            is_good = False
    if not is_good:
        told = f"{source.get('type')} {source.get('media_type', '')}".strip()
        yield Refusal(AnthropicRule.SOURCE, where, told)


def _pairs(messages: Sequence[Mapping[str, Any]]) -> Found:
    uses: list[Any] = []
    owed: list[Any] = []
    for at, message in enumerate(messages):
        where, blocks = f"messages.{at}", blocks_of(message)
        results = [block.get("tool_use_id") for block in blocks if block["type"] == "tool_result"]
        for call_id in results:
            if call_id not in owed:
                yield Refusal(AnthropicRule.UNASKED, where, repr(call_id))
        for call_id in repeated(results):
            yield Refusal(AnthropicRule.REPEATED_ID, where, f"two results of {call_id!r}")
        for call_id in owed:
            if call_id not in results:
                yield Refusal(AnthropicRule.UNANSWERED, f"messages.{at - 1}", repr(call_id))
        is_result = [block["type"] == "tool_result" for block in blocks]
        if is_result != sorted(is_result, reverse=True):
            yield Refusal(AnthropicRule.RESULTS_FIRST, where)
        owed = [block.get("id") for block in blocks if block["type"] == "tool_use"]
        uses += owed
    for call_id in owed:
        yield Refusal(AnthropicRule.UNANSWERED, f"messages.{len(messages) - 1}", repr(call_id))
    for call_id in repeated(uses):
        yield Refusal(AnthropicRule.REPEATED_ID, "messages", repr(call_id))


def _last(messages: Sequence[Mapping[str, Any]]) -> Found:
    if not messages or messages[-1].get("role") != "assistant":
        return
    where, blocks = f"messages.{len(messages) - 1}", blocks_of(messages[-1])
    yield Refusal(AnthropicRule.ENDS_WITH_ASSISTANT, where)
    text = blocks[-1].get("text", "") if blocks else ""
    if text != text.rstrip():
        yield Refusal(AnthropicRule.TRAILING_SPACE, where)


def _tools(tools: Sequence[Mapping[str, Any]]) -> Found:
    for name in repeated(tool.get("name") for tool in tools):
        yield Refusal(AnthropicRule.REPEATED_TOOL, "tools", repr(name))
    for at, tool in enumerate(tools):
        if TOOL_NAME.fullmatch(str(tool.get("name"))) is None:
            yield Refusal(AnthropicRule.TOOL_NAME, f"tools.{at}", repr(tool.get("name")))
        if not is_object_schema(tool.get("input_schema")):
            yield Refusal(AnthropicRule.INPUT_SCHEMA, f"tools.{at}")


def _settings(body: Mapping[str, Any]) -> Found:
    most = body.get("max_tokens")
    if not isinstance(most, int) or most < 1:
        yield Refusal(AnthropicRule.MAX_TOKENS, "max_tokens", repr(most))
    warmth = body.get("temperature")
    if warmth is not None and not 0 <= warmth <= 1:
        yield Refusal(AnthropicRule.SETTING, "temperature", str(warmth))
    if any(is_blank(text) for text in body.get("stop_sequences") or ()):
        yield Refusal(AnthropicRule.SETTING, "stop_sequences", "one is blank")


def _thinking(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Found:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget, most = thinking.get("budget_tokens") or 0, body.get("max_tokens") or 0
    if not LEAST_THINKING <= budget < most:
        yield Refusal(AnthropicRule.THINKING_BUDGET, "thinking", f"{budget} of {most}")
    if body.get("temperature", 1) != 1:
        yield Refusal(AnthropicRule.THINKING_TEMPERATURE, "temperature")
    begin = len(messages)
    while begin > 1 and any(one["type"] == "tool_result" for one in blocks_of(messages[begin - 1])):
        begin -= 2
    first = next(iter(blocks_of(messages[begin])), {}) if begin < len(messages) else None
    if first is not None and first.get("type") not in {"thinking", "redacted_thinking"}:
        where = f"messages.{begin}"
        yield Refusal(AnthropicRule.THINKING_FIRST, where, repr(first.get("type")))
