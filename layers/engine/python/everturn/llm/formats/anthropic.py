"""Anthropic's messages as a worker's format: our request as its body, its body as our answer.

It sends nothing. Source: decision-protocol W-6, W-7, W-9.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from everturn.errors import RejectedError
from everturn.llm.formats.usage import usage_of
from everturn.protocol.json_text import compact, read_json
from everturn.rejections import InvalidLlmResponse

DEFAULT_MAX_TOKENS: Final = 8192
BUDGETS: Final = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
}
"""Tokens of thinking that an effort stands for. Source: W-6."""

MIN_BUDGET: Final = 1024
"""Least that a model may think. Source: Anthropic API, "Extended thinking"."""

NOT_SAID_AGAIN: Final = "[Everturn] (a file)"
"""Stands for a file that a model made: only users may show files."""

IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PDF: Final = "application/pdf"
_TEXTS: Final = frozenset({"application/json", "application/xml", "application/yaml"})
"""Types that are text by another name."""

_UNTOLD: Final = frozenset({"", "application/octet-stream"})
_BY_ENDING: Final = {
    "pdf": PDF,
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}
"""Types of files whose data does not tell its own, by the ending of their names."""

NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
FINISH: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
}
"""Source: W-7."""


class UnsupportedContent(Exception):
    """Content that this format has no place for."""


def to_body(
    request: Mapping[str, Any],
    failed: frozenset[str] = frozenset(),
    said: Mapping[str, Sequence[dict[str, Any]]] | None = None,
) -> dict[str, Any]:
    """Return the body of `POST /v1/messages` without its stream flag.

    `failed` are the tool calls whose result is an error; `said` are blocks to be said again in
    place of a message, by its id. Raises `UnsupportedContent` for what Anthropic reads nowhere, or
    not there. Source: W-6.
    """
    messages = request["messages"]
    told = [_told(one.get("content")) for one in messages if one["role"] == "system"]
    system = [text for text in told if text.strip()]
    thinking, max_tokens = thinking_of(request)
    body: dict[str, Any] = {
        "model": request["model"],
        "max_tokens": max_tokens,
        "messages": _turns(messages, failed, said or {}),
    }
    if system:
        body["system"] = "\n\n".join(system)
    if request.get("tools"):
        body["tools"] = [_tool(tool) for tool in request["tools"]]
    if request.get("temperature") is not None and not thinking:  # thinking has its own
        body["temperature"] = request["temperature"]
    if request.get("stop"):
        body["stop_sequences"] = list(request["stop"])
    if request.get("tools") and (choice := tool_choice(request)):
        body["tool_choice"] = choice
    return {**body, "thinking": thinking} if thinking else body


def thinking_of(request: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return `thinking` with a budget, empty for none, and `max_tokens`, always above the budget.

    Half of a limit at least is left for the answer. Source: W-6.
    """
    asked, budget = request.get("max_completion_tokens"), budget_of(request.get("reasoning") or {})
    if not budget:
        return {}, asked or DEFAULT_MAX_TOKENS
    if asked:
        budget = min(budget, asked // 2)
    if budget < MIN_BUDGET:
        return {}, asked or DEFAULT_MAX_TOKENS
    told = {"type": "enabled", "budget_tokens": budget}
    return told, asked or budget + DEFAULT_MAX_TOKENS


def budget_of(reasoning: Mapping[str, Any]) -> int:
    """Return how many tokens a model may think; 0 for none. Source: W-6."""
    if reasoning.get("enabled") is False or reasoning.get("effort") == "none":
        return 0
    if given := reasoning.get("max_tokens"):
        return max(int(given), MIN_BUDGET)
    effort = reasoning.get("effort") or ("medium" if reasoning.get("enabled") else "")
    return BUDGETS.get(effort, 0)


def tool_choice(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how tools may be used, empty where nothing is said about it."""
    wanted = request.get("tool_choice")
    serial = request.get("parallel_tool_calls") is False
    match wanted:
        case Mapping():
            choice: dict[str, Any] = {"type": "tool", "name": wanted["name"]}
        case "required":
            choice = {"type": "any"}
        case "none":
            return {"type": "none"}
        case "auto":
            choice = {"type": "auto"}
        case _:
            choice = {"type": "auto"} if serial else {}
    return {**choice, "disable_parallel_tool_use": True} if serial else choice


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description") or "",
        "input_schema": tool.get("input") or NO_ARGUMENTS,
    }


def _told(content: Any) -> str:
    """Return the text of a system message, which shows nothing."""
    if isinstance(content, str):
        return content
    for part in content or ():
        if part["type"] != "text":
            raise UnsupportedContent(f"{part['type']} has no place in a system message")
    return "".join(part["text"] for part in content or ())


def _turns(
    messages: Iterable[Mapping[str, Any]],
    failed: frozenset[str],
    said: Mapping[str, Sequence[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return the conversation, adjacent messages of one role merged."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "system":
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        again = said.get(message.get("id") or "")
        blocks = [*again] if again else _blocks(message, failed)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] = [*_as_blocks(turns[-1]["content"]), *_as_blocks(blocks)]
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _blocks(message: Mapping[str, Any], failed: frozenset[str]) -> str | list[dict[str, Any]]:
    content = message.get("content")
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        result = {"type": "tool_result", "tool_use_id": call_id, "content": _content(content)}
        return [{**result, "is_error": True} if call_id in failed else result]
    content = _content(content) if message["role"] == "user" else _spoken(content)
    if not message.get("tool_calls"):
        return content
    said = _as_blocks(content) if content else []
    return [*said, *(to_tool_use(call) for call in message["tool_calls"])]


def to_tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call as a block; arguments that are no object become none."""
    try:
        given: Any = read_json(call["function"]["arguments"] or "{}")
    except RejectedError:
        given = {}
    name = call["function"]["name"]
    arguments = given if isinstance(given, dict) else {}
    return {"type": "tool_use", "id": call["id"], "name": name, "input": arguments}


def _content(content: Any) -> str | list[dict[str, Any]]:
    if content is None or isinstance(content, str):
        return content or ""
    return [_part(part) for part in content]


def _spoken(content: Any) -> str | list[dict[str, Any]]:
    """Return what a model said: texts, and a word in place of each file."""
    if content is None or isinstance(content, str):
        return content or ""
    return [{"type": "text", "text": part.get("text", NOT_SAID_AGAIN)} for part in content]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    match part["type"]:
        case "text":
            return {"type": "text", "text": part["text"]}
        case "image_url":
            return _image(_source(part["image_url"]["url"]))
        case "file":
            return _file(part["file"]["filename"], part["file"]["file_data"])
        case other:
            raise UnsupportedContent(f"{other} has no place in Anthropic's messages")


def _image(source: dict[str, Any]) -> dict[str, Any]:
    media_type = source.get("media_type")
    if media_type is not None and media_type not in IMAGES:
        raise UnsupportedContent(f"an image of type {media_type or 'unknown'} has no place")
    return {"type": "image", "source": source}


def _file(name: str, url: str) -> dict[str, Any]:
    """Return a file as Anthropic reads it: a picture is one, and text is sent as text."""
    source = _source(url)
    if source["type"] == "url":
        return _linked(name, source)
    if source["media_type"] in _UNTOLD:
        source = {**source, "media_type": _type_by(name)}
    media_type = source["media_type"]
    if media_type.startswith("image/"):
        return _image(source)
    if media_type.startswith("text/") or media_type in _TEXTS:
        source = _text_source(media_type, source["data"])
    elif media_type != PDF:
        raise UnsupportedContent(f"a file of type {media_type or 'unknown'} has no place")
    return {"type": "document", "title": name, "source": source}


def _linked(name: str, source: dict[str, Any]) -> dict[str, Any]:
    """Return a file by its URL: a picture where its ending says so, else a PDF."""
    media_type = _type_by(source["url"].partition("?")[0].partition("#")[0])
    if media_type in IMAGES:
        return {"type": "image", "source": source}
    if media_type not in {"", PDF}:
        raise UnsupportedContent(f"a file of type {media_type} has no place by its URL")
    return {"type": "document", "title": name, "source": source}


def _text_source(media_type: str, data: str) -> dict[str, Any]:
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError as error:
        raise UnsupportedContent(f"{media_type} that is no text") from error
    return {"type": "text", "media_type": "text/plain", "data": text}


def _type_by(name: str) -> str:
    """Return the type that a name's ending tells, empty for none."""
    return _BY_ENDING.get(name.rpartition(".")[2].lower(), "")


def _source(url: str) -> dict[str, Any]:
    """Return what a URL is: a link, or data with its type, empty where it tells none."""
    if not url.startswith("data:"):
        return {"type": "url", "url": url}
    about, _, data = url.removeprefix("data:").partition(",")
    if ";base64" not in about.lower():
        raise UnsupportedContent("a data URL that is not base64 has no place")
    told = about.partition(";")[0].strip().lower()
    media_type = "image/jpeg" if told == "image/jpg" else told
    return {"type": "base64", "media_type": media_type, "data": data}


def read_body(body: Any) -> tuple[dict[str, Any], str | None, Any]:
    """Return message, finish reason and usage; a refusal is a `content_filter`. Source: W-7.

    Raises `InvalidLlmResponse`.
    """
    blocks = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(blocks, Sequence) or isinstance(blocks, str):
        raise InvalidLlmResponse("/response/content: should be a list of blocks")
    usage = usage_of({"cache_read_input_tokens": 0, **(body.get("usage") or {})})
    if body.get("stop_reason") == "refusal":
        return {}, "content_filter", usage
    text = "".join(str(one.get("text", "")) for one in blocks if one.get("type") == "text")
    calls = [_call(one) for one in blocks if one.get("type") == "tool_use"]
    message: dict[str, Any] = {"role": "assistant"}
    message |= {"content": text} if text else {}
    message |= {"tool_calls": calls} if calls else {}
    reason = body.get("stop_reason")
    return message, FINISH.get(reason, reason), usage


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(block.get("name"), str):
        raise InvalidLlmResponse("/response/content: a tool_use has no name")
    function = {"name": block["name"], "arguments": compact(block.get("input") or {})}
    return {"id": str(block.get("id") or ""), "type": "function", "function": function}


class Deltas:
    """Reads the events of one stream; a block's id stands in its start alone."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}

    def read(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the `StreamDelta` that an event is, `None` for one that says nothing. W-9."""
        match event.get("type"):
            case "content_block_start":
                return self._started(event)
            case "content_block_delta":
                return self._piece(event)
            case "message_delta":
                reason = (event.get("delta") or {}).get("stop_reason")
                return {"finish_reason": FINISH.get(reason, reason)} if reason else None
            case _:
                return None

    def _started(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        block = event.get("content_block") or {}
        if block.get("type") != "tool_use":
            return None
        call_id = str(block.get("id") or "")
        self._ids[event.get("index", 0)] = call_id
        return {"tool_calls": [{"id": call_id, "name": block.get("name")}]}

    def _piece(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        delta = event.get("delta") or {}
        match delta.get("type"):
            case "text_delta":
                return {"text": delta.get("text", "")}
            case "thinking_delta":
                return {"reasoning": delta.get("thinking", "")}
            case "input_json_delta":
                call_id = self._ids.get(event.get("index", 0), "")
                return {"tool_calls": [{"id": call_id, "arguments": delta.get("partial_json", "")}]}
            case _:
                return None
