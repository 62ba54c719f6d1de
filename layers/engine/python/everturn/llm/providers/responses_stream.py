"""Reads the events of one response of OpenAI's; sends nothing.

Source: OpenAI API reference, "Responses", "Streaming events".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from everturn.llm.chunks import Chunk, FinishReason, UsageReported
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.chat_stream import DONE
from everturn.llm.providers.http_model import frame_object
from everturn.llm.providers.loose import objects, text_of
from everturn.llm.providers.openai_usage import usage_of
from everturn.llm.providers.refusal import ErrorBody, error_body, failed_stream
from everturn.llm.providers.responses_input import reasoning_signature, replay_state
from everturn.outbound.sse import SseFrame

PARAGRAPH: Final = "\n\n"
"""Stands between the parts of a summary."""

_CUT: Final = {
    "max_output_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}


class EventReader:
    """Reads the events of one response; items are told apart by their place in the output."""

    def __init__(self, provider: str, blocks: Blocks) -> None:
        self._provider = provider
        self._items = _Items(blocks)
        self._blocks = blocks
        self._usage: Mapping[str, Any] | None = None
        self._reason: str | None = None

    @property
    def is_whole(self) -> bool:
        """The last event says how it ended, and what it has cost."""
        return self._reason is not None

    @property
    def is_done(self) -> bool:
        """Nothing of use comes later."""
        return self.is_whole

    def read(self, frame: SseFrame) -> Iterator[Chunk]:
        """Yield what an event says; raises `ModelFailed` for an error."""
        if frame.data.strip() == DONE:  # which some servers add
            return
        event = frame_object(frame)
        kind = text_of(event.get("type"))
        match kind.removeprefix("response."):
            case "completed" | "incomplete" as how:
                self._ended(how, event)
            case "failed" | "cancelled":
                self._count(event)
                self._fail(kind, _object(event.get("response")))
            case "error" | "":
                self._fail(kind, event)
            case event_kind:
                yield from self._items.read(event_kind, event)

    def end(self) -> Iterator[Chunk]:
        """Yield usage and finish."""
        if self._usage is not None:
            yield UsageReported(usage_of(self._usage))
        if self._reason is not None:
            reason = FinishReason.CONTENT_FILTER if self._items.is_refusal else self._reason
            yield from self._blocks.finish(reason, replay_state(self._items.phases))

    def _ended(self, how: str, event: Mapping[str, Any]) -> None:
        """Take the end of an answer; one that is cut off, for no reason that is told, was too long.

        Some servers complete an answer whose status is `incomplete`.
        """
        self._count(event)
        response = _object(event.get("response"))
        if "incomplete" in {how, text_of(response.get("status"))}:
            told = text_of(_object(response.get("incomplete_details")).get("reason"))
            self._reason = _CUT.get(told, told.lower()) or FinishReason.LENGTH
        else:
            called = self._blocks.has_calls
            self._reason = FinishReason.TOOL_CALLS if called else FinishReason.STOP

    def _count(self, event: Mapping[str, Any]) -> None:
        usage = _object(event.get("response")).get("usage")
        if isinstance(usage, Mapping):
            self._usage = usage

    def _fail(self, kind: str, told: Mapping[str, Any]) -> None:
        """Raise what an error says; what is without a type and no error is nothing to us."""
        said = error_body(told)
        if said is None and not kind:
            return
        request_id = text_of(told.get("id")) or None
        raise failed_stream(self._provider, said or ErrorBody("", (kind,)), request_id)


class _Items:
    """The items of one output. What came in pieces is not taken again from the item as a whole."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._phases: dict[int, str | None] = {}
        self._texts: dict[int, None] = {}
        """Places of messages that have said something, in order."""

        self._thoughts: dict[int, Any] = {}
        """The part of each reasoning that was heard last."""

        self._calls: dict[int, bool] = {}
        """Whether arguments of a call have been heard."""

        self.is_refusal = False

    @property
    def phases(self) -> list[str | None]:
        """The phase of each text."""
        return [self._phases.get(index) for index in self._texts]

    def read(self, kind: str, event: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield what an event says of an item; `kind` is its type without `response.`."""
        at = event.get("output_index")
        index = at if isinstance(at, int) else 0
        piece = text_of(event.get("delta"))
        match kind:
            case "output_text.delta":
                yield from self._text(index, piece)
            case "reasoning_summary_text.delta":
                yield from self._thought(index, piece, event.get("summary_index"))
            case "reasoning_text.delta":
                yield from self._thought(index, piece, None)
            case "function_call_arguments.delta":
                yield from self._arguments(index, piece)
            case "function_call_arguments.done":
                yield from self._whole_arguments(index, text_of(event.get("arguments")))
            case "output_item.added":
                yield from self._began(index, _object(event.get("item")))
            case "output_item.done":
                yield from self._ended(index, _object(event.get("item")))
            case "refusal.delta" | "refusal.done":
                self.is_refusal = True
            case _:
                return

    def _text(self, index: int, piece: str) -> Iterator[Chunk]:
        if piece:
            self._texts.setdefault(index)
            yield from self._blocks.text(piece, index)

    def _thought(self, index: int, piece: str, part: Any) -> Iterator[Chunk]:
        if not piece:
            return
        is_next = index in self._thoughts and self._thoughts[index] != part
        self._thoughts[index] = part
        yield from self._blocks.reasoning(PARAGRAPH + piece if is_next else piece, index)

    def _arguments(self, index: int, piece: str) -> Iterator[Chunk]:
        if piece and index in self._calls:
            self._calls[index] = True
            yield from self._blocks.arguments(index, piece)

    def _whole_arguments(self, index: int, arguments: str) -> Iterator[Chunk]:
        if self._calls.get(index) is False:
            yield from self._arguments(index, arguments)

    def _began(self, index: int, item: Mapping[str, Any]) -> Iterator[Chunk]:
        self._phases[index] = text_of(item.get("phase")) or self._phases.get(index)
        name = text_of(item.get("name"))
        if item.get("type") == "function_call" and name:
            self._calls.setdefault(index, False)
            yield from self._blocks.call(index, text_of(item.get("call_id")), name)

    def _ended(self, index: int, item: Mapping[str, Any]) -> Iterator[Chunk]:
        yield from self._began(index, item)
        match item.get("type"):
            case "message":
                content = objects(item.get("content"))
                self.is_refusal |= any(part.get("type") == "refusal" for part in content)
                if index not in self._texts:
                    yield from self._text(index, text_of(content))
            case "function_call":
                yield from self._whole_arguments(index, text_of(item.get("arguments")))
            case "reasoning":
                yield from self._thought_ended(index, item)
            case _:
                return

    def _thought_ended(self, index: int, item: Mapping[str, Any]) -> Iterator[Chunk]:
        if index not in self._thoughts:
            for at, part in enumerate(objects(item.get("summary"))):
                yield from self._thought(index, text_of(part.get("text")), at)
        signature = reasoning_signature(item)
        if signature or index in self._thoughts:
            yield from self._blocks.reasoning_end(signature, index)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
