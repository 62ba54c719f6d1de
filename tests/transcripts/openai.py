"""What OpenAI's chat completions refuse.

It owes nothing to the engine's own converter. Source: OpenAI's API reference, "Create chat
completion", and the messages of its 400s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from transcripts.refusal import Refusal, is_object_schema, repeated

MAX_CALL_ID_CHARS: Final = 40
MAX_TOOLS: Final = 128
MAX_STOPS: Final = 4
MAX_TEMPERATURE: Final = 2
FUNCTION_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SPEAKER: Final = re.compile(r"[^\s<|\\/>]{1,64}")
EFFORTS: Final = frozenset({"none", "minimal", "low", "medium", "high", "xhigh"})
PARTS: Final = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
"""Roles, and which parts a content of theirs may have."""

FIELDS: Final = {
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
"""Of a message, by role; what is not here is as of a user."""

USERS_FIELDS: Final = {"role", "content", "name"}
BODY: Final = {
    "model",
    "messages",
    "tools",
    "temperature",
    "max_completion_tokens",
    "stop",
    "reasoning_effort",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "prompt_cache_key",
    "stream",
    "stream_options",
}


class OpenAiRule(StrEnum):
    """Rules by the names under which they can be left out."""

    NO_MESSAGES = "openai.no_messages"
    ROLE = "openai.role"
    UNKNOWN_FIELD = "openai.unknown_field"
    SPEAKER = "openai.speaker"
    CONTENT = "openai.content"
    """Null or absent only with tool calls; a list has a part."""

    PART_TYPE = "openai.part_type"
    NO_CALLS = "openai.no_calls"
    """`tool_calls` is absent, or has one."""

    CALL_ID = "openai.call_id"
    REPEATED_ID = "openai.repeated_id"
    FUNCTION_NAME = "openai.function_name"
    ARGUMENTS = "openai.arguments"
    UNANSWERED = "openai.unanswered"
    """Each call has its tool message before anything else is said."""

    UNASKED = "openai.unasked"
    """A tool message belongs to an open call of the assistant message before it."""

    TOOLS = "openai.tools"
    TOOL_NAME = "openai.tool_name"
    REPEATED_TOOL = "openai.repeated_tool"
    PARAMETERS = "openai.parameters"
    SETTING = "openai.setting"


Found = Iterator[Refusal]


def refusals(body: Mapping[str, Any]) -> Found:
    """Yield what is wrong with the body of `POST /chat/completions`, nothing for a good one."""
    messages = body.get("messages") or ()
    if not messages:
        yield Refusal(OpenAiRule.NO_MESSAGES, "messages")
    for name in body.keys() - BODY:
        yield Refusal(OpenAiRule.UNKNOWN_FIELD, name)
    for at, message in enumerate(messages):
        yield from _message(f"messages.{at}", message)
    yield from _pairs(messages)
    if "tools" in body:
        yield from _tools(body["tools"])
    yield from _settings(body)


def _message(where: str, message: Mapping[str, Any]) -> Found:
    role = message.get("role")
    if role not in PARTS:
        yield Refusal(OpenAiRule.ROLE, where, repr(role))
        return
    for name in sorted(message.keys() - FIELDS.get(role, USERS_FIELDS)):
        yield Refusal(OpenAiRule.UNKNOWN_FIELD, f"{where}.{name}", f"of a {role} message")
    if "name" in message and SPEAKER.fullmatch(str(message["name"])) is None:
        yield Refusal(OpenAiRule.SPEAKER, f"{where}.name", repr(message["name"]))
    yield from _content(where, message)
    if role == "assistant" and "tool_calls" in message:
        yield from _calls(where, message["tool_calls"])
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield Refusal(OpenAiRule.CALL_ID, where, "a tool message needs a tool_call_id")


def _content(where: str, message: Mapping[str, Any]) -> Found:
    match message.get("content"):
        case str():
            return
        case None if message["role"] == "assistant" and message.get("tool_calls"):
            return
        case [*parts] if parts:
            allowed = PARTS[message["role"]]
            for at, part in enumerate(parts):
                if part.get("type") not in allowed:
                    told = f"{part.get('type')!r} in a {message['role']} message"
                    yield Refusal(OpenAiRule.PART_TYPE, f"{where}.content.{at}", told)
        case other:
            told = f"{other!r} of a {message['role']} message"
            yield Refusal(OpenAiRule.CONTENT, f"{where}.content", told)


def _calls(where: str, calls: Any) -> Found:
    if not isinstance(calls, Sequence) or not calls:
        yield Refusal(OpenAiRule.NO_CALLS, f"{where}.tool_calls", repr(calls))
        return
    for call_id in repeated(call.get("id") for call in calls):
        yield Refusal(OpenAiRule.REPEATED_ID, f"{where}.tool_calls", repr(call_id))
    for at, call in enumerate(calls):
        place, function = f"{where}.tool_calls.{at}", call.get("function") or {}
        call_id, name = call.get("id"), function.get("name")
        if not isinstance(call_id, str) or not 1 <= len(call_id) <= MAX_CALL_ID_CHARS:
            yield Refusal(OpenAiRule.CALL_ID, f"{place}.id", repr(call_id))
        if call.get("type") != "function":
            yield Refusal(OpenAiRule.UNKNOWN_FIELD, f"{place}.type", repr(call.get("type")))
        if not isinstance(name, str) or FUNCTION_NAME.fullmatch(name) is None:
            yield Refusal(OpenAiRule.FUNCTION_NAME, f"{place}.function.name", repr(name))
        if not isinstance(function.get("arguments"), str):
            yield Refusal(OpenAiRule.ARGUMENTS, f"{place}.function.arguments")


def _pairs(messages: Sequence[Mapping[str, Any]]) -> Found:
    """Look for calls and results that are not each other's, one message after another."""
    owed: list[Any] = []
    for at, message in enumerate(messages):
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id")
            if call_id in owed:
                owed.remove(call_id)
            else:
                yield Refusal(OpenAiRule.UNASKED, f"messages.{at}", repr(call_id))
            continue
        for call_id in owed:
            yield Refusal(OpenAiRule.UNANSWERED, f"messages.{at - 1}", repr(call_id))
        owed = [call.get("id") for call in message.get("tool_calls") or ()]
    for call_id in owed:
        yield Refusal(OpenAiRule.UNANSWERED, f"messages.{len(messages) - 1}", repr(call_id))


def _tools(tools: Any) -> Found:
    if not isinstance(tools, Sequence) or not 1 <= len(tools) <= MAX_TOOLS:
        yield Refusal(OpenAiRule.TOOLS, "tools", "1 to 128 of them, or no such field")
        return
    functions = [tool.get("function") or {} for tool in tools]
    for name in repeated(function.get("name") for function in functions):
        yield Refusal(OpenAiRule.REPEATED_TOOL, "tools", repr(name))
    for at, function in enumerate(functions):
        where, name = f"tools.{at}.function", function.get("name")
        if tools[at].get("type") != "function":
            yield Refusal(OpenAiRule.TOOLS, f"tools.{at}.type", repr(tools[at].get("type")))
        if not isinstance(name, str) or FUNCTION_NAME.fullmatch(name) is None:
            yield Refusal(OpenAiRule.TOOL_NAME, f"{where}.name", repr(name))
        if not isinstance(function.get("description", ""), str):
            yield Refusal(OpenAiRule.TOOLS, f"{where}.description")
        if "parameters" in function and not is_object_schema(function["parameters"]):
            yield Refusal(OpenAiRule.PARAMETERS, f"{where}.parameters")


def _settings(body: Mapping[str, Any]) -> Found:
    most = body.get("max_completion_tokens")
    if most is not None and most < 1:
        yield Refusal(OpenAiRule.SETTING, "max_completion_tokens", str(most))
    warmth = body.get("temperature")
    if warmth is not None and not 0 <= warmth <= MAX_TEMPERATURE:
        yield Refusal(OpenAiRule.SETTING, "temperature", str(warmth))
    if len(body.get("stop") or ()) > MAX_STOPS:
        yield Refusal(OpenAiRule.SETTING, "stop", "at most 4")
    effort = body.get("reasoning_effort")
    if effort is not None and effort not in EFFORTS:
        yield Refusal(OpenAiRule.SETTING, "reasoning_effort", repr(effort))
