"""A neutral request as the parameters of Bedrock's ConverseStream; sends nothing.

Source: "ConverseStream", Bedrock API reference; "Tool use", "Prompt caching" and "Extended
thinking", Bedrock user guide; "Using the Converse API", Amazon Nova user guide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from everturn.llm.formats.anthropic import budget_of, thinking_of
from everturn.llm.providers.anthropic import FINAL_REPORT, FINAL_TOLD, SERIAL, with_limit
from everturn.llm.providers.bedrock_messages import Turns, said_blocks
from everturn.llm.providers.bedrock_parts import BEDROCK
from everturn.llm.providers.bedrock_traits import Traits, traits_of
from everturn.llm.providers.claude import (
    bound_replays,
    effort_of,
    has_budget,
    own_thinking,
    takes_temperature,
)
from everturn.llm.providers.http_model import Asked
from everturn.llm.providers.media import unsupported
from everturn.llm.providers.names import to_call_id
from everturn.llm.providers.replays import replayed
from everturn.llm.providers.schemas import NO_ARGUMENTS, object_schema
from everturn.llm.providers.shape import Shaped, shaped, withdrawn_tools

CACHE_POINT: Final = {"cachePoint": {"type": "default"}}
_NOVA_EFFORTS: Final = {"minimal": "low", "low": "low", "medium": "medium"}
"""Others are `high`."""

_NOVA_ROOT: Final = frozenset({"type", "properties", "required", "$defs", "definitions"})
"""What may stand at the root of a schema of Nova's, and what references in it need."""

_UNCACHEABLE: Final = frozenset({"document", "video", "audio"})
"""Blocks that no cache point may follow."""


def to_parameters(asked: Asked) -> tuple[dict[str, Any], Shaped]:
    """Return the parameters of `converse_stream`, and the request's names.

    Raises `ModelFailed` for content that Bedrock has no place for.
    """
    request = with_limit(asked)
    traits = traits_of(request["model"])
    shape = shaped(request, takes_turns=True, reserved=final_tool(request) or "")
    replays = bound_replays(shape.messages, asked.beside.replays, request["model"])
    said = {
        one.message_id: [*said_blocks(one)]
        for one in replayed(shape.messages, replays, request["model"])
    }
    turns = Turns(frozenset(map(to_call_id, asked.failed)), said, traits.reads_result_files)
    body: dict[str, Any] = {"modelId": request["model"], "messages": turns.of(shape.messages)}
    if system := _system(shape.messages):
        body["system"] = system
    more = _thinking(request, traits, body["messages"])
    tools = _tool_config(shape, request, traits, has_budget=has_budget(more.get("thinking", {})))
    if settings := _settings(request, traits, more):
        body["inferenceConfig"] = settings
    if tools:
        body["toolConfig"] = tools
        more |= _serial(request, traits, tools)
    if traits.caches:
        _mark_for_cache(body, caches_tools=traits.caches_tools)
    if more:
        body["additionalModelRequestFields"] = more
    return body, shape


def final_tool(request: Mapping[str, Any]) -> str | None:
    """Return the tool that takes a structured answer, where one is asked for and can be called.

    Source: runs document, section 7.
    """
    is_taken = request.get("output_schema") and traits_of(request["model"]).calls_tools
    return FINAL_REPORT if is_taken else None


def _system(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the texts of the system messages, which show nothing."""
    texts: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content") if message["role"] == "system" else None
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        for part in parts:
            if part["type"] != "text":
                raise unsupported(f"{part['type']} in a system message", BEDROCK)
        told = "".join(part["text"] for part in parts)
        if told.strip():
            texts.append({"text": told})
    return texts


def _thinking(
    request: Mapping[str, Any], traits: Traits, turns: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return how the model is told to think: fields of its own, beside Converse's."""
    if not traits.thinks:
        return {}
    if traits.is_claude:
        if told := own_thinking(request):
            return told
        thinking, _ = thinking_of(request)
        return {"thinking": thinking} if thinking and _may_think(turns) else {}
    reasoning = request.get("reasoning") or {}
    budget = budget_of(reasoning)
    if not budget:
        return {}
    effort = _NOVA_EFFORTS.get(reasoning.get("effort") or effort_of(budget), "high")
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}


def _may_think(turns: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether thinking with a budget may go on.

    A loop that is under way must have begun with thinking. Source: "Extended thinking".
    """
    begin = len(turns)
    while begin > 0 and "toolResult" in turns[begin - 1]["content"][0]:
        begin -= 2
    if begin == len(turns):
        return True
    return begin >= 0 and "reasoningContent" in turns[begin]["content"][0]


def _does_think(more: Mapping[str, Any]) -> bool:
    thinking = more.get("thinking", {"type": "disabled"})
    return "reasoningConfig" in more or thinking["type"] != "disabled"


def _settings(
    request: Mapping[str, Any], traits: Traits, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `inferenceConfig`: what is named, as far as the model takes it."""
    settings: dict[str, Any] = {}
    limit = request.get("max_completion_tokens")
    if "budget_tokens" in more.get("thinking", {}):
        _, limit = thinking_of(request)  # always above the budget
    is_high = more.get("reasoningConfig", {}).get("maxReasoningEffort") == "high"
    if limit and not is_high:  # Nova takes no limit with it
        settings["maxTokens"] = limit
    warmth = request.get("temperature")
    is_taken = not _does_think(more) and not (
        traits.is_claude and not takes_temperature(request["model"])
    )
    if warmth is not None and is_taken:
        settings["temperature"] = warmth
    if request.get("stop"):
        settings["stopSequences"] = list(request["stop"])
    return settings


def _tool_config(
    shape: Shaped, request: Mapping[str, Any], traits: Traits, *, has_budget: bool
) -> dict[str, Any]:
    """Return `toolConfig`, empty where no tool has to be declared.

    Converse has no word for "call none": tools are left out then, unless the conversation has
    calls, which need them declared. What a model calls all the same is a call like any other.
    """
    withdrawn = withdrawn_tools(shape)
    final = final_tool(request)
    has_calls = any(message.get("tool_calls") for message in shape.messages)
    is_closed = request.get("tool_choice") == "none" and not has_calls
    tools = [] if is_closed else [_tool(tool, traits) for tool in (*shape.tools, *withdrawn)]
    if final:
        schema = object_schema(request["output_schema"])
        tools.append(_tool({"name": final, "description": FINAL_TOLD, "input": schema}, traits))
    if not tools:
        return {}
    can_be_forced = traits.can_be_forced and not has_budget
    choice = _choice(shape, final, is_known=traits.reads_result_files) if can_be_forced else {}
    return {"tools": tools, "toolChoice": choice} if choice else {"tools": tools}


def _choice(shape: Shaped, final: str | None, *, is_known: bool) -> dict[str, Any]:
    """Return what the model is forced to, empty where it chooses itself, as it does untold.

    It is forced to report only where its family is known to take that.
    """
    wanted = shape.request.get("tool_choice")
    if isinstance(wanted, Mapping):
        return {"tool": {"name": wanted["name"]}}
    if final and is_known:
        is_last = not shape.tools or wanted == "none"
        return {"tool": {"name": final}} if is_last else {"any": {}}
    return {"any": {}} if wanted == "required" and shape.tools else {}


def _tool(tool: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    schema = tool.get("input") or NO_ARGUMENTS
    if traits.is_nova:
        schema = {name: value for name, value in schema.items() if name in _NOVA_ROOT}
    spec = {"name": tool["name"], "inputSchema": {"json": schema}}
    told = tool.get("description") or ""
    return {"toolSpec": {**spec, "description": told} if told.strip() else spec}


def _serial(request: Mapping[str, Any], traits: Traits, tools: Mapping[str, Any]) -> dict[str, Any]:
    """Return what keeps a model to one call at a time: a field of Claude's own."""
    if request.get("parallel_tool_calls") is not False or not traits.can_be_serial:
        return {}
    kind = {} if "toolChoice" in tools else {"type": "auto"}  # which Converse fills in
    return {"tool_choice": {**kind, SERIAL: True}}


def _mark_for_cache(body: dict[str, Any], *, caches_tools: bool) -> None:
    """Mark the end of what stays, and of what has been said, as worth keeping.

    Tools come before the system prompt, so a mark there covers both. One in a message needs
    something before it, and may not follow files that Bedrock converts. Source: "Prompt caching".
    """
    if "system" in body:
        body["system"] = [*body["system"], CACHE_POINT]
    elif "toolConfig" in body and caches_tools:
        config = body["toolConfig"]
        body["toolConfig"] = {**config, "tools": [*config["tools"], CACHE_POINT]}
    last = body["messages"][-1]
    content = last["content"]
    at = len(content)
    while at and not _UNCACHEABLE.isdisjoint(content[at - 1]):
        at -= 1
    if at:
        marked = [*content[:at], CACHE_POINT, *content[at:]]
        body["messages"] = [*body["messages"][:-1], {**last, "content": marked}]
