"""A conversation as messages of Bedrock's Converse; it knows no settings and sends nothing.

Source: "Message", "ToolResultBlock", "ReasoningContentBlock", Bedrock API reference.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from everturn.llm.formats.anthropic import to_tool_use
from everturn.llm.providers.bedrock_parts import Parts, spoken, with_text
from everturn.llm.providers.replays import Said

REDACTED: Final = "redacted_thinking"
BELOW: Final = "[Everturn] (files below)"
"""Stands in a tool's result for files that have to stand behind it."""

FROM_RESULT: Final = "[Everturn] Files of the result of tool call {call_id}:"

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turns:
    """Makes the messages of one request."""

    failed: frozenset[str]
    """Tool calls whose result is an error, by their ids on the wire."""

    said: Mapping[str, Sequence[Block]]
    """What goes back as the model said it, by the message's id."""

    reads_result_files: bool
    _parts: Parts = field(default_factory=Parts)

    def of(self, messages: Sequence[Mapping[str, Any]]) -> list[Block]:
        """Return the conversation; adjacent messages of one role are one.

        All results of a batch of calls stand in one message, before everything else in it. Raises
        `ModelFailed` for content that Bedrock has no place for.
        """
        spoken_ones = [one for one in messages if one["role"] != "system"]
        turns = []
        for role, found in groupby(spoken_ones, key=_role_of):
            run = [*found]
            blocks = self._assistant(run) if role == "assistant" else self._user(run)
            turns.append({"role": role, "content": blocks})
        return turns

    def _assistant(self, run: Sequence[Mapping[str, Any]]) -> list[Block]:
        content: list[Block] = []
        for message in run:
            if again := self.said.get(message.get("id") or ""):
                content += again
                continue
            content += spoken(message.get("content"))
            content += [to_tool_use_block(call) for call in message.get("tool_calls") or ()]
        return content

    def _user(self, run: Sequence[Mapping[str, Any]]) -> list[Block]:
        results: list[Block] = []
        rest: list[Block] = []
        for message in run:
            if message["role"] == "tool":
                result, behind = self._result(message)
                results.append(result)
                rest += behind
            else:
                rest += self._parts.blocks(message.get("content"))
        return [*results, *with_text(rest)]

    def _result(self, message: Mapping[str, Any]) -> tuple[Block, list[Block]]:
        """Return a tool's result, and the files of it that have no place inside."""
        call_id = message["tool_call_id"]
        inside: list[Block] = []
        behind: list[Block] = []
        for block in self._parts.blocks(message.get("content")):
            fits = "text" in block or (self.reads_result_files and "audio" not in block)
            (inside if fits else behind).append(block)
        result: Block = {"toolUseId": call_id, "content": with_text(inside) or [{"text": BELOW}]}
        if call_id in self.failed and self.reads_result_files:
            result["status"] = "error"
        told = [{"text": FROM_RESULT.format(call_id=call_id)}] if behind else []
        return {"toolResult": result}, [*told, *behind]


def _role_of(message: Mapping[str, Any]) -> str:
    return "assistant" if message["role"] == "assistant" else "user"


def to_tool_use_block(call: Mapping[str, Any]) -> Block:
    """Return a tool call as a block; arguments that are no object become none."""
    use = to_tool_use(call)
    return {"toolUse": {"toolUseId": use["id"], "name": use["name"], "input": use["input"]}}


def said_blocks(said: Said) -> Iterator[Block]:
    """Yield a message as the model said it, its thinking signed.

    Thinking without a signature stays here: a model that gives none takes none back.
    """
    for block in said.blocks:
        match block["type"]:
            case "reasoning" if block.get("signature"):
                signed = {"text": block["thinking"], "signature": block["signature"]}
                yield {"reasoningContent": {"reasoningText": signed}}
            case "text" if block["text"].strip():
                yield {"text": block["text"]}
            case "tool-call":
                yield to_tool_use_block(block["call"])
            case "redacted_thinking":
                if redacted := _redacted(block["data_json"]):
                    yield {"reasoningContent": {"redactedContent": redacted}}
            case _:
                continue


def to_redacted(data: bytes) -> str:
    """Return redacted thinking as it is kept: JSON text."""
    return json.dumps({"data": base64.b64encode(data).decode()})


def _redacted(data_json: str) -> bytes:
    """Return redacted thinking that was kept, nothing where it cannot be read."""
    try:
        return base64.b64decode(json.loads(data_json)["data"])
    except (ValueError, LookupError, TypeError):
        return b""
