"""OpenAI's chat completions as a worker's format: our request as its body, its body as our answer.

It sends nothing. Source: decision-protocol W-4, W-5, W-9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.llm.formats.usage import usage_of
from everturn.rejections import InvalidLlmResponse

NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
SETTINGS: Final = ("temperature", "max_completion_tokens", "stop")


def to_body(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of `POST /chat/completions` without its stream flag. Source: W-2, W-4.

    How tools are used is said only where there are tools: OpenAI refuses it elsewhere.
    """
    body: dict[str, Any] = {
        "model": request["model"],
        "messages": [_message(message) for message in request["messages"]],
    }
    if request.get("tools"):
        body["tools"] = [_tool(tool) for tool in request["tools"]]
        body |= _use_of_tools(request)
    body |= {name: request[name] for name in SETTINGS if request.get(name) is not None}
    effort = (request.get("reasoning") or {}).get("effort")
    return {**body, "reasoning_effort": effort} if effort else body


def _use_of_tools(request: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping):
        told["tool_choice"] = {"type": "function", "function": {"name": choice["name"]}}
    elif choice:
        told["tool_choice"] = choice
    if request.get("parallel_tool_calls") is not None:
        told["parallel_tool_calls"] = request["parallel_tool_calls"]
    return told


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message; ids of nodes have no slot there, nor have the names of tools."""
    dropped = {"id", "name"} if message["role"] == "tool" else {"id"}
    return {name: value for name, value in message.items() if name not in dropped}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {
        "name": tool["name"],
        "description": tool.get("description") or "",
        "parameters": tool.get("input") or NO_ARGUMENTS,
    }
    return {"type": "function", "function": function}


def read_body(body: Any) -> tuple[dict[str, Any], str | None, Any]:
    """Return message, finish reason and usage; a refusal is a `content_filter`. Source: W-5.

    Raises `InvalidLlmResponse`.
    """
    choices = body.get("choices") if isinstance(body, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    given = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(choice, Mapping):
        raise InvalidLlmResponse("/response/choices/0/message: is missing")
    usage = usage_of(body.get("usage"))
    if given.get("refusal"):
        return {}, "content_filter", usage
    message: dict[str, Any] = {"role": "assistant"}
    content = given.get("content")
    if content is not None and not isinstance(content, str):
        raise InvalidLlmResponse("/response/choices/0/message/content: should be a string")
    if content:
        message["content"] = content
    if given.get("tool_calls"):
        message["tool_calls"] = [_call(call) for call in given["tool_calls"]]
    return message, choice.get("finish_reason"), usage


def _call(call: Any) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidLlmResponse("/response/choices/0/message/tool_calls: one has no function")
    arguments = function.get("arguments")
    return {
        "id": str(call.get("id") or ""),
        "type": "function",
        "function": {
            "name": function["name"],
            "arguments": arguments if isinstance(arguments, str) else "",
        },
    }


class Deltas:
    """Reads the chunks of one stream; the id of a tool call stands in its first piece alone."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}

    def read(self, chunk: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the `StreamDelta` that a chunk is, `None` for one that says nothing. W-9."""
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        given = choice.get("delta") or {}
        delta: dict[str, Any] = {}
        if given.get("content"):
            delta["text"] = given["content"]
        reasoning = given.get("reasoning_content") or given.get("reasoning")
        if reasoning:
            delta["reasoning"] = reasoning
        if pieces := [self._piece(one) for one in given.get("tool_calls") or ()]:
            delta["tool_calls"] = pieces
        if choice.get("finish_reason"):
            delta["finish_reason"] = choice["finish_reason"]
        return delta or None

    def _piece(self, one: Mapping[str, Any]) -> dict[str, Any]:
        index = one.get("index", 0)
        if one.get("id"):
            self._ids[index] = one["id"]
        function = one.get("function") or {}
        piece = {"id": self._ids.get(index, f"call_{index}")}
        told = {name: function[name] for name in ("name", "arguments") if function.get(name)}
        return piece | told
