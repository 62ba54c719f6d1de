"""ConverseStream as a server speaks it, and one attempt of a call to it. No test lives here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from everturn.llm.chunks import Chunk
from everturn.llm.providers.bedrock import BedrockModel
from everturn.ports.model import Beside
from everturn.protocol.llm import LlmRequest, Usage
from providers.event_stream import CONTENT_TYPE, event
from providers.scripted import Answer, Ending, Piece

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PATH = f"/model/{MODEL.replace(':', '%3A')}/converse-stream"
NAMED = {"content-type": CONTENT_TYPE, "x-amzn-requestid": "r-1"}


def delta(index: int, **piece: Any) -> bytes:
    """Return a piece of a block."""
    return event("contentBlockDelta", {"contentBlockIndex": index, "delta": piece})


def call(index: int, call_id: str) -> bytes:
    """Return the beginning of a tool call."""
    start = {"toolUse": {"toolUseId": call_id, "name": "add"}}
    return event("contentBlockStart", {"contentBlockIndex": index, "start": start})


def stop(index: int) -> bytes:
    """Return the end of a block."""
    return event("contentBlockStop", {"contentBlockIndex": index})


BEGUN = event("messageStart", {"role": "assistant"})
ENDED = event("messageStop", {"stopReason": "end_turn"})
COUNTED = event(
    "metadata",
    {
        "usage": {
            "inputTokens": 5,
            "outputTokens": 7,
            "totalTokens": 22,
            "cacheReadInputTokens": 10,
            "cacheWriteInputTokens": 0,
        },
        "metrics": {"latencyMs": 12},
    },
)
USED = Usage(input_tokens=5, output_tokens=7, cache_read_tokens=10, cache_write_tokens=0)
GREETING = "Grüß Gott! ☀"
HELLO = [BEGUN, delta(0, text="Grüß "), delta(0, text="Gott! ☀"), stop(0), ENDED, COUNTED]


def stream(*pieces: Piece, ending: Ending = Ending.COMPLETE) -> Answer:
    """Return an answer that is a stream."""
    return Answer(pieces, headers=NAMED, ending=ending)


def calling(
    client: Any,
    cancelled: Callable[[], bool] = lambda: False,
    *,
    timeout_s: float = 10,
    **request: Any,
) -> Iterator[Chunk]:
    """Yield the chunks of one call."""
    said = {"model": MODEL, "messages": [{"role": "user", "content": "Hi."}], **request}
    beside = Beside(timeout_s=timeout_s)
    return BedrockModel(lambda _: client).stream(
        LlmRequest.model_validate(said), attempt=1, cancelled=cancelled, beside=beside
    )
