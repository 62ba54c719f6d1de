"""The events of one answer of ConverseStream -> chunks; it reads no bytes.

Source: "ConverseStreamOutput", Bedrock API reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from everturn.llm.chunks import Chunk, FinishReason, UsageReported, normal_finish
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.bedrock_messages import REDACTED, to_redacted
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.loose import count_of, index_of, object_of, text_of
from everturn.protocol.llm import Usage

_STOPS: Final = {
    "guardrail_intervened": FinishReason.CONTENT_FILTER,
    "content_filtered": FinishReason.CONTENT_FILTER,
}
"""What only Bedrock says; others are as Anthropic's, and a malformed answer stays as it is."""

_SERVER_CALL: Final = "server_tool_use"
"""A call that Bedrock answers itself."""

Event = Mapping[str, Any]


class ConverseReader:
    """Reads the events of one answer; what it does not know says nothing."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._signatures: dict[int, str] = {}
        self._redacted: dict[int, bytes] = {}
        self._thinking: dict[int, bool] = {}
        self._usage: Usage | None = None
        self._reason: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the model said why it stopped; what it has cost may follow."""
        return self._reason is not None

    @property
    def is_done(self) -> bool:
        """Whether the counts are there too, with which an answer ends."""
        return self.is_whole and self._usage is not None

    def read(self, event: Event) -> Iterator[Chunk]:
        """Yield what an event says. Raises `ModelFailed` for text that is no text."""
        for kind, value in event.items():
            body = object_of(value)
            match kind:
                case "contentBlockStart":
                    yield from self._started(_index(body), object_of(body.get("start")))
                case "contentBlockDelta":
                    yield from self._piece(_index(body), object_of(body.get("delta")))
                case "contentBlockStop":
                    yield from self._stopped(_index(body))
                case "messageStop":
                    self._reason = _text(body.get("stopReason")) or self._reason
                case "metadata":
                    self._usage = usage_of(object_of(body.get("usage"))) or self._usage
                case _:
                    continue

    def end(self) -> Iterator[Chunk]:
        """Yield usage and finish, as far as they are known."""
        if self._usage is not None:
            yield UsageReported(self._usage)
        if self._reason is None:
            return
        for index in [*self._thinking]:
            yield from self._stopped(index)
        reason = _STOPS.get(self._reason, normal_finish(self._reason))
        if reason == FinishReason.STOP and self._blocks.has_calls:
            reason = FinishReason.TOOL_CALLS  # some models end a turn and call all the same
        yield from self._blocks.finish(reason)

    def _started(self, index: int, start: Event) -> Iterator[Chunk]:
        call = object_of(start.get("toolUse"))
        if call and call.get("type") != _SERVER_CALL:
            yield from self._blocks.call(
                index, _text(call.get("toolUseId")), _text(call.get("name"))
            )

    def _piece(self, index: int, delta: Event) -> Iterator[Chunk]:
        yield from self._blocks.text(_text(delta.get("text")), index)
        call = object_of(delta.get("toolUse"))
        yield from self._blocks.arguments(index, _text(call.get("input")))
        if thought := object_of(delta.get("reasoningContent")):
            yield from self._thought(index, thought)

    def _thought(self, index: int, thought: Event) -> Iterator[Chunk]:
        self._thinking.setdefault(index, True)
        yield from self._blocks.reasoning(_text(thought.get("text")), index)
        signature = _text(thought.get("signature"))
        self._signatures[index] = self._signatures.get(index, "") + signature
        redacted = thought.get("redactedContent")
        if isinstance(redacted, bytes):
            self._redacted[index] = self._redacted.get(index, b"") + redacted

    def _stopped(self, index: int) -> Iterator[Chunk]:
        """Yield the end of a stretch of thinking; other blocks end by themselves."""
        if not self._thinking.pop(index, False):
            return
        if redacted := self._redacted.get(index):
            yield from self._blocks.extension(REDACTED, to_redacted(redacted), index)
        else:
            yield from self._blocks.reasoning_end(self._signatures[index] or None, index)


def usage_of(given: Event) -> Usage | None:
    """Return disjoint counts; Bedrock's are. Source: "TokenUsage"; vocabulary, "Usage"."""
    if given.keys().isdisjoint({"inputTokens", "outputTokens"}):
        return None
    return Usage(
        input_tokens=count_of(given, "inputTokens"),
        output_tokens=count_of(given, "outputTokens"),
        cache_read_tokens=count_of(given, "cacheReadInputTokens"),
        cache_write_tokens=count_of(given, "cacheWriteInputTokens"),
    )


def _index(body: Event) -> int:
    return index_of(body.get("contentBlockIndex"))


def _text(value: Any) -> str:
    """Return a text, empty for anything else; half a surrogate pair is no character."""
    text = text_of(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        told = "the stream has a text that is not Unicode"
        raise ModelFailed(told, FailureCode.SERVER) from error
    return text
