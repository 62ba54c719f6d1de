"""Chunk -> `StreamDelta`, what a watcher of the answer is shown; records nothing."""

from __future__ import annotations

from typing import Final, assert_never

from everturn.llm.chunks import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageReported,
)
from everturn.protocol.llm import StreamDelta
from everturn.protocol.llm import ToolCallDelta as WireToolCall

_SHOWN: Final = {FinishReason.STOP, FinishReason.TOOL_CALLS, FinishReason.LENGTH}


def to_stream_delta(chunk: Chunk) -> StreamDelta | None:
    """Return what a watcher sees of `chunk`; None where there is nothing to see. Source: ST-10."""
    match chunk:
        case TextDelta(text=text):
            return StreamDelta(text=text) if text else None
        case ReasoningDelta(text=text):
            return StreamDelta(reasoning=text) if text else None
        case ToolCallDelta(id=call_id, name=name, arguments_delta=arguments):
            piece = WireToolCall(id=call_id, name=name, arguments=arguments)
            return StreamDelta(tool_calls=(piece,))
        case Finished(reason=reason):
            return StreamDelta(finish_reason=str(reason)) if reason in _SHOWN else None
        case BlockStart() | BlockEnd() | UsageReported():
            return None
        case _:
            assert_never(chunk)
