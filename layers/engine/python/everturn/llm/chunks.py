"""What a model streams: the closed union of chunks and the blocks they build; no adapter here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from everturn.protocol.llm import Usage


class BlockType(StrEnum):
    """Blocks that can be built from their deltas alone. Source: session-log MB-2."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool-call"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A stretch of visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """A stretch of thinking; kept beside the message, never in it."""

    thinking: str
    signature: str | None = None
    """What the provider wants back with the thinking, unread by us."""


@dataclass(frozen=True, slots=True)
class ToolCallBlock:
    """A call the model asks for."""

    id: str
    name: str
    arguments: str
    """The model's raw text, never reformatted. Source: session-log ST-3."""


@dataclass(frozen=True, slots=True)
class ExtensionBlock:
    """A block that the engine carries along without reading it. Source: session-log MB-2."""

    block_type: str
    data_json: str
    """One JSON object."""


Block = TextBlock | ReasoningBlock | ToolCallBlock | ExtensionBlock


@dataclass(frozen=True, slots=True)
class BlockStart:
    """Block `index` begins; optional, a first delta does as well."""

    index: int
    block_type: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of block `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More thinking of block `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of the call in block `index`; every piece carries the call's id."""

    index: int
    id: str
    name: str | None
    arguments_delta: str


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """Block `index` is complete; `block` wins over the deltas. Source: session-log ST-4."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the attempt has cost; at most one, before `Finished`."""

    usage: Usage
    cost: str | None = None
    """In dollars, where the provider says it itself."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last chunk of a stream that did not break off."""

    reason: str
    """A `FinishReason`, or the provider's own word where none fits."""

    replay_state: str | None = None
    """JSON text private to the adapter. Source: session-log MB-5."""


Chunk = (
    BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageReported | Finished
)


class FinishReason(StrEnum):
    """Why a model stopped, in the words of `LlmResponse`. Source: vocabulary, "Finish reasons"."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    ABORTED = "aborted"
    """We asked it to stop: neither an answer nor a failure."""


_NORMAL: Final = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "tool-calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "max-tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
}


def normal_finish(reason: str) -> str:
    """Return a provider's stop reason in our words; one we have no word for stays as it is."""
    return _NORMAL.get(reason, reason)
