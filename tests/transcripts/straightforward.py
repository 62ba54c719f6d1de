"""A neutral request as each provider's body, in the most direct way: nothing is mended.

It must not import the engine's own converters: it is what they are compared with.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

MAX_TOKENS: Final = 8192
EFFORTS: Final = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
}
"""Source: decision-protocol W-6."""

Request = Mapping[str, Any]
Body = dict[str, Any]
Blocks = list[dict[str, Any]]


def openai(request: Request) -> Body:
    """Return the body of `POST /chat/completions`."""
    body: Body = {"model": request["model"], "messages": []}
    for message in request["messages"]:
        kept = {key: value for key, value in message.items() if key != "id"}
        if message["role"] == "tool":
            kept.pop("name", None)
        body["messages"].append(kept)
    if request.get("tools"):
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool["name"],
                    "description": tool["description"],
                    "parameters": _schema(tool),
                },
            }
            for tool in request["tools"]
        ]
    for name in ("temperature", "max_completion_tokens", "stop"):
        if request.get(name) is not None:
            body[name] = request[name]
    if (request.get("reasoning") or {}).get("effort"):
        body["reasoning_effort"] = request["reasoning"]["effort"]
    return body


def anthropic(request: Request, failed: frozenset[str] = frozenset()) -> Body:
    """Return the body of `POST /v1/messages`; `failed` are calls whose result is an error."""
    body: Body = {
        "model": request["model"],
        "max_tokens": request.get("max_completion_tokens") or MAX_TOKENS,
        "messages": _turns(request, lambda message: _anthropic_blocks(message, failed)),
    }
    if said := _system(request):
        body["system"] = "\n\n".join(said)
    if request.get("tools"):
        body["tools"] = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": _schema(tool),
            }
            for tool in request["tools"]
        ]
    if request.get("temperature") is not None:
        body["temperature"] = request["temperature"]
    if request.get("stop"):
        body["stop_sequences"] = request["stop"]
    reasoning = request.get("reasoning") or {}
    is_off = reasoning.get("enabled") is False or reasoning.get("effort") == "none"
    budget = reasoning.get("max_tokens") or EFFORTS.get(reasoning.get("effort") or "", 0)
    if budget and not is_off:
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    return body


def bedrock(request: Request, failed: frozenset[str] = frozenset()) -> Body:
    """Return the parameters of `Converse`; reasoning has no place of its own there."""
    body: Body = {
        "modelId": request["model"],
        "messages": _turns(request, lambda message: _bedrock_blocks(message, failed)),
    }
    if said := _system(request):
        body["system"] = [{"text": text} for text in said]
    if request.get("tools"):
        body["toolConfig"] = {"tools": [{"toolSpec": _spec(tool)} for tool in request["tools"]]}
    settings = {
        "maxTokens": request.get("max_completion_tokens"),
        "temperature": request.get("temperature"),
        "stopSequences": request.get("stop"),
    }
    given = {name: value for name, value in settings.items() if value is not None}
    return {**body, "inferenceConfig": given} if given else body


def _schema(tool: Mapping[str, Any]) -> Any:
    given = tool.get("input")
    return {"type": "object", "properties": {}} if given is None else given


def _spec(tool: Mapping[str, Any]) -> Body:
    spec = {"name": tool["name"], "inputSchema": {"json": _schema(tool)}}
    return {**spec, "description": tool["description"]} if tool["description"] else spec


def _system(request: Request) -> list[str]:
    said = [one.get("content") or "" for one in request["messages"] if one["role"] == "system"]
    return ["".join(part.get("text", "") for part in _parts(content)) for content in said]


def _parts(content: Any) -> Sequence[Mapping[str, Any]]:
    """Return content as parts; nothing and the empty string are none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or ()


def _turns(request: Request, blocks: Callable[[Mapping[str, Any]], Blocks]) -> Blocks:
    """Return user and assistant messages, neighbours of one role as one; a tool is a user."""
    turns: Blocks = []
    for message in request["messages"]:
        if message["role"] == "system":
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += blocks(message)
    return turns


def _arguments(call: Mapping[str, Any]) -> Any:
    """Return what a model gave a tool; what is no JSON object cannot be said there."""
    try:
        given = json.loads(call["function"]["arguments"] or "{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _anthropic_blocks(message: Mapping[str, Any], failed: frozenset[str]) -> Blocks:
    said = [_anthropic_part(part) for part in _parts(message.get("content"))]
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        block = {"type": "tool_result", "tool_use_id": call_id, "content": said}
        return [{**block, "is_error": True} if call_id in failed else block]
    calls: Iterable[Mapping[str, Any]] = message.get("tool_calls") or ()
    return said + [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": _arguments(call),
        }
        for call in calls
    ]


def _anthropic_part(part: Mapping[str, Any]) -> Body:
    match part["type"]:
        case "text":
            return {"type": "text", "text": part["text"]}
        case "image_url":
            return {"type": "image", "source": _anthropic_source(part["image_url"]["url"])}
        case "file":
            source = _anthropic_source(part["file"]["file_data"])
            return {"type": "document", "title": part["file"]["filename"], "source": source}
        case other:
            return {"type": other}


def _anthropic_source(url: str) -> Body:
    if not url.startswith("data:"):
        return {"type": "url", "url": url}
    about, _, data = url.removeprefix("data:").partition(",")
    return {"type": "base64", "media_type": about.split(";")[0], "data": data}


def _bedrock_blocks(message: Mapping[str, Any], failed: frozenset[str]) -> Blocks:
    said = [_bedrock_part(part) for part in _parts(message.get("content"))]
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        block: Body = {"toolUseId": call_id, "content": said}
        return [{"toolResult": {**block, "status": "error"} if call_id in failed else block}]
    calls: Iterable[Mapping[str, Any]] = message.get("tool_calls") or ()
    return said + [
        {
            "toolUse": {
                "toolUseId": call["id"],
                "name": call["function"]["name"],
                "input": _arguments(call),
            }
        }
        for call in calls
    ]


def _bedrock_part(part: Mapping[str, Any]) -> Body:
    """Return a part as a block; what Converse has no block for keeps its own name."""
    if part["type"] == "text":
        return {"text": part["text"]}
    given = part.get("image_url", {}).get("url") or part.get("file", {}).get("file_data", "")
    about, _, data = given.partition(",")
    kind, _, form = about.removeprefix("data:").split(";")[0].partition("/")
    if (part["type"], kind) == ("image_url", "image"):
        return {"image": {"format": form, "source": {"bytes": _raw(data)}}}
    if (part["type"], form) == ("file", "pdf"):
        return {"document": {"format": form, "name": "file", "source": {"bytes": _raw(data)}}}
    return {str(part["type"]): {}}


def _raw(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return b""
