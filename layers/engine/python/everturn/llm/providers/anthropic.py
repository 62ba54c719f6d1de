"""Anthropic's Messages API: requests out, events in; sends nothing itself.

Source: Anthropic API reference, version 2023-06-01, "Messages" and "Streaming messages".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from everturn.llm.chunks import Chunk, UsageReported, normal_finish
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.formats import anthropic as messages_format
from everturn.llm.formats.anthropic import UnsupportedContent
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.claude import (
    LONG_MAX_TOKENS,
    bound_replays,
    can_be_forced,
    has_budget,
    own_thinking,
    takes_temperature,
    thinks_unasked,
)
from everturn.llm.providers.http_model import Asked, Encoded, frame_object, key_of
from everturn.llm.providers.loose import count_of, index_of, object_of, text_of
from everturn.llm.providers.media import document_of, image_of
from everturn.llm.providers.names import to_call_id
from everturn.llm.providers.refusal import ErrorBody, error_body, failed_stream
from everturn.llm.providers.replays import Said, replayed
from everturn.llm.providers.schemas import object_schema
from everturn.llm.providers.shape import Shaped, shaped, withdrawn_tools
from everturn.outbound.sse import SseFrame
from everturn.protocol.llm import Usage

BASE_URL: Final = "https://api.anthropic.com"
VERSION: Final = "2023-06-01"
FINAL_REPORT: Final = "final_report"
"""Takes a structured answer. Source: runs document, section 7."""

FINAL_TOLD: Final = "Give the final answer by calling this tool once, with all of it."
CACHED: Final = {"type": "ephemeral"}
REDACTED: Final = "redacted_thinking"
SERIAL: Final = "disable_parallel_tool_use"


class AnthropicWire:
    """`Wire` of api.anthropic.com, and of who speaks like it."""

    provider = "Anthropic"

    def encode(self, asked: Asked) -> Encoded:
        """Return the request: one POST to `/v1/messages`."""
        beside = asked.beside
        reserved = FINAL_REPORT if asked.request.get("output_schema") else ""
        shape = shaped(with_limit(asked), takes_turns=True, reserved=reserved)
        model = asked.request["model"]
        replays = bound_replays(shape.messages, beside.replays, model)
        said = {
            one.message_id: [*_said_blocks(one)] for one in replayed(shape.messages, replays, model)
        }
        failed = frozenset(map(to_call_id, asked.failed))
        try:
            body = messages_format.to_body(_with_files(shape), failed, said)
        except UnsupportedContent as error:
            raise ModelFailed(
                str(error), FailureCode.INVALID_REQUEST, reason="unsupported_content"
            ) from error
        _set_thinking(body, shape.request)
        _offer_tools(body, shape, asked.request)
        _leave_choice(body)
        _mark_for_cache(body)
        reasoning = asked.request.get("reasoning") or {}
        return Encoded(
            url=f"{beside.account.base_url or BASE_URL}/v1/messages",
            headers={"x-api-key": key_of(beside, self.provider), "anthropic-version": VERSION},
            body={**body, "stream": True},
            reader=EventReader(
                Blocks(
                    shape.names,
                    final_tool=reserved or None,
                    shows_reasoning=not reasoning.get("exclude"),
                )
            ),
        )


def _with_files(shape: Shaped) -> Mapping[str, Any]:
    """Return a request whose links are public, and whose files by value have their types.

    Raises `ModelFailed` for others.
    """
    messages = [
        message
        if message.get("content") is None or isinstance(message["content"], str)
        else {**message, "content": [_file_part(part) for part in message["content"]]}
        for message in shape.messages
    ]
    return {**shape.request, "messages": messages}


def _file_part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    match part["type"]:
        case "image_url":
            return {**part, "image_url": {"url": image_of(part).url}}
        case "file":
            return {**part, "file": {**part["file"], "file_data": document_of(part).url}}
        case _:
            return part


def with_limit(asked: Asked) -> Mapping[str, Any]:
    """Return the request with the route's own limit of output where it names none itself."""
    if asked.request.get("max_completion_tokens") or not asked.beside.default_max_tokens:
        return asked.request
    return {**asked.request, "max_completion_tokens": asked.beside.default_max_tokens}


def _set_thinking(body: dict[str, Any], request: Mapping[str, Any]) -> None:
    """Set how the model thinks, and what depends on it: its limit, and its temperature."""
    body |= own_thinking(request)
    if not _may_think(body):
        body.pop("thinking", None)
    if not request.get("max_completion_tokens") and thinks_unasked(body["model"]):
        body["max_tokens"] = max(body["max_tokens"], LONG_MAX_TOKENS)
    thinks = body.get("thinking", {"type": "disabled"})["type"] != "disabled"
    if thinks or not takes_temperature(body["model"]):
        body.pop("temperature", None)


def _may_think(body: Mapping[str, Any]) -> bool:
    """Return whether `thinking` may stay as it is.

    With a budget, a loop that is under way must have begun with thinking; one that another model
    began, or that was made up, goes on without. Source: "Extended thinking with tool use".
    """
    if not has_budget(body.get("thinking", {})):
        return True
    turns = [
        turn["content"] if isinstance(turn["content"], list) else [] for turn in body["messages"]
    ]
    begin = len(turns)
    while begin > 0 and any(block["type"] == "tool_result" for block in turns[begin - 1]):
        begin -= 2
    if begin == len(turns):
        return True
    first = turns[begin] if begin >= 0 else []
    return bool(first) and first[0]["type"] in {"thinking", REDACTED}


def _offer_tools(body: dict[str, Any], shape: Shaped, request: Mapping[str, Any]) -> None:
    """Add what is not the agent's: the final report, and tools that only the history has."""
    for tool in withdrawn_tools(shape):
        body.setdefault("tools", []).append(_declared(tool["name"], tool["description"], None))
        body["tool_choice"] = {"type": "none"}
    schema = request.get("output_schema")
    if not schema:
        return
    final = _declared(FINAL_REPORT, FINAL_TOLD, object_schema(schema))
    is_last = not shape.tools  # nothing else is left to do
    body["tools"] = [*body.get("tools", ()), final]
    choice = shape.request.get("tool_choice")
    if is_last or choice == "none":
        body["tool_choice"] = {"type": "tool", "name": FINAL_REPORT}
    elif not isinstance(choice, Mapping):
        body["tool_choice"] = {**body.get("tool_choice", {}), "type": "any"}


def _leave_choice(body: dict[str, Any]) -> None:
    """Let a model choose that has a budget, or cannot be forced. Source: "Define tools"."""
    is_forced = body.get("tool_choice", {}).get("type") in {"any", "tool"}
    if is_forced and (has_budget(body.get("thinking", {})) or not can_be_forced(body["model"])):
        kept = {name: on for name, on in body["tool_choice"].items() if name == SERIAL}
        body["tool_choice"] = {**kept, "type": "auto"}


def _declared(name: str, description: str, schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "input_schema": schema or messages_format.NO_ARGUMENTS,
    }


def _mark_for_cache(body: dict[str, Any]) -> None:
    """Mark the end of what stays, and of what has been said, as worth keeping.

    Tools come before the system prompt, so a mark there covers both. Source: "Prompt caching".
    """
    if body.get("system"):
        text = {"type": "text", "text": body["system"], "cache_control": CACHED}
        body["system"] = [text]
    elif body.get("tools"):
        body["tools"] = [*body["tools"][:-1], {**body["tools"][-1], "cache_control": CACHED}]
    last = body["messages"][-1]
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    body["messages"] = [
        *body["messages"][:-1],
        {**last, "content": [*blocks[:-1], {**blocks[-1], "cache_control": CACHED}]},
    ]


def _said_blocks(said: Said) -> Iterator[dict[str, Any]]:
    """Yield a message as the model said it, its thinking signed. Source: "Extended thinking"."""
    for block in said.blocks:
        match block["type"]:
            case "reasoning" if block.get("signature"):
                yield {
                    "type": "thinking",
                    "thinking": block["thinking"],
                    "signature": block["signature"],
                }
            case "text" if block["text"].strip():
                yield {"type": "text", "text": block["text"]}
            case "tool-call":
                yield messages_format.to_tool_use(block["call"])
            case "redacted_thinking":
                yield {"type": REDACTED, **json.loads(block["data_json"])}
            case _:
                continue


class EventReader:
    """Reads the events of one message."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._kinds: dict[int, str] = {}
        self._signatures: dict[int, list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._reason: str | None = None
        self.is_done = False

    @property
    def is_whole(self) -> bool:
        """The reason for the end stands in the last event but one, with all counts."""
        return self._reason is not None

    def read(self, frame: SseFrame) -> Iterable[Chunk]:
        """Return what an event says; raises `ModelFailed` for an error."""
        event = frame_object(frame)
        index = index_of(event.get("index"))
        match event.get("type"):
            case "content_block_delta":
                return self._piece(index, object_of(event.get("delta")))
            case "content_block_start":
                return self._started(index, object_of(event.get("content_block")))
            case "content_block_stop":
                return self._stopped(index)
            case "message_start":
                self._count(object_of(event.get("message")).get("usage"))
            case "message_delta":
                self._count(event.get("usage"))
                self._reason = text_of(object_of(event.get("delta")).get("stop_reason")) or None
            case "message_stop":
                self.is_done = True
            case "error":
                said = error_body(event) or ErrorBody("", ())
                request_id = text_of(event.get("request_id")) or None
                raise failed_stream(AnthropicWire.provider, said, request_id)
        return ()

    def end(self) -> Iterator[Chunk]:
        """Yield usage and finish."""
        if self._usage:
            yield UsageReported(usage_of(self._usage))
        if self._reason is not None:
            yield from self._blocks.finish(normal_finish(self._reason))

    def _count(self, usage: Any) -> None:
        """Take counts over; later ones are cumulative, absent ones stay as they were."""
        given = object_of(usage).items()
        self._usage |= {name: value for name, value in given if value is not None}

    def _started(self, index: int, block: Mapping[str, Any]) -> Iterator[Chunk]:
        kind = self._kinds[index] = str(block.get("type"))
        match kind:
            case "text":
                yield from self._blocks.text(text_of(block.get("text")), index)
            case "thinking":
                yield from self._blocks.reasoning(text_of(block.get("thinking")), index)
            case "redacted_thinking":
                data = json.dumps({"data": text_of(block.get("data"))})
                yield from self._blocks.extension(REDACTED, data, index)
            case "tool_use":
                yield from self._blocks.call(
                    index, text_of(block.get("id")), text_of(block.get("name"))
                )
            case _:
                return

    def _piece(self, index: int, delta: Mapping[str, Any]) -> Iterable[Chunk]:
        match delta.get("type"):
            case "text_delta":
                return self._blocks.text(text_of(delta.get("text")), index)
            case "thinking_delta":
                return self._blocks.reasoning(text_of(delta.get("thinking")), index)
            case "input_json_delta":
                return self._blocks.arguments(index, text_of(delta.get("partial_json")))
            case "signature_delta":
                self._signatures.setdefault(index, []).append(text_of(delta.get("signature")))
        return ()

    def _stopped(self, index: int) -> Iterator[Chunk]:
        if self._kinds.get(index) == "thinking":
            signature = "".join(self._signatures.get(index, []))
            yield from self._blocks.reasoning_end(signature or None, index)


def usage_of(given: Mapping[str, Any]) -> Usage:
    """Return disjoint counts; Anthropic's are. Source: vocabulary, "Usage"."""
    details = object_of(given.get("output_tokens_details"))
    return Usage(
        input_tokens=count_of(given, "input_tokens"),
        output_tokens=count_of(given, "output_tokens"),
        cache_read_tokens=count_of(given, "cache_read_input_tokens"),
        cache_write_tokens=count_of(given, "cache_creation_input_tokens"),
        reasoning_tokens=count_of(details, "thinking_tokens") or None,
    )
