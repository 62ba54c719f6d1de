"""What a watcher sees of each chunk."""

import pytest

from everturn.llm.chunks import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finished,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    ToolCallDelta,
    UsageReported,
)
from everturn.llm.deltas import to_stream_delta
from everturn.protocol.llm import Usage
from everturn.protocol.wire import to_json


@pytest.mark.parametrize(
    ("chunk", "delta"),
    [
        (TextDelta(0, "Hi "), {"text": "Hi "}),
        (ReasoningDelta(0, "hm"), {"reasoning": "hm"}),
        (
            ToolCallDelta(1, "c1", "clock", '{"a'),
            {"tool_calls": [{"id": "c1", "name": "clock", "arguments": '{"a'}]},
        ),
        (ToolCallDelta(1, "c1", None, '":1}'), {"tool_calls": [{"id": "c1", "arguments": '":1}'}]}),
        (Finished("stop"), {"finish_reason": "stop"}),
        (Finished("tool_calls"), {"finish_reason": "tool_calls"}),
        (Finished("length"), {"finish_reason": "length"}),
    ],
)
def test_a_chunk_with_news_becomes_a_delta(chunk: Chunk, delta: dict[str, object]) -> None:
    shown = to_stream_delta(chunk)

    assert shown is not None
    assert to_json(shown) == delta


@pytest.mark.parametrize(
    "chunk",
    [
        BlockStart(0, "text"),
        BlockEnd(0, TextBlock("Hi")),
        UsageReported(Usage(input_tokens=1, output_tokens=1)),
        TextDelta(0, ""),
        ReasoningDelta(0, ""),
        Finished("content_filter"),
        Finished("aborted"),
        Finished("malformed_function_call"),
    ],
)
def test_a_chunk_without_news_becomes_nothing(chunk: Chunk) -> None:
    assert to_stream_delta(chunk) is None
