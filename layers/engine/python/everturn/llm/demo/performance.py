"""A turn of a script -> the chunks, pauses and failures of one attempt; plays nothing in time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, assert_never

from everturn.llm.chunks import (
    Block,
    BlockEnd,
    BlockStart,
    BlockType,
    Chunk,
    Finished,
    FinishReason,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    UsageReported,
)
from everturn.llm.demo.errors import failure_of
from everturn.llm.demo.placeholders import fill
from everturn.llm.demo.reading import Heard, text_of
from everturn.llm.demo.steps import (
    Call,
    Cut,
    Fail,
    Finish,
    Flaky,
    Report,
    Say,
    Sleep,
    Step,
    Think,
    Turn,
)
from everturn.llm.demo.turns import has_calls
from everturn.llm.failure import ModelFailed
from everturn.protocol.llm import Usage
from everturn.protocol.message import DraftMessage

Delta = TextDelta | ReasoningDelta | ToolCallDelta
Piece = Chunk | Sleep | ModelFailed
"""A failure is the last piece, and raised by whoever plays it."""

_WORD: Final = re.compile(r"\S+\s*|\s+")


def perform(turn: Turn, heard: Heard, attempt: int) -> tuple[Piece, ...]:
    """Return what `attempt` streams, in order, one delta a word.

    A stream that is cut ends without `Finished`. The same request gives the same pieces.
    """
    pieces = tuple(_Performance(turn, heard, attempt).pieces())
    cuts = [step.deltas for step in turn if isinstance(step, Cut)]
    return cut_after(pieces, cuts[0]) if cuts and attempt == 1 else pieces


def cut_after(pieces: tuple[Piece, ...], deltas: int) -> tuple[Piece, ...]:
    """Return `pieces` up to delta number `deltas`; all of them where there are fewer."""
    places = [place for place, piece in enumerate(pieces) if isinstance(piece, Delta)]
    if deltas > len(places):
        return pieces
    return pieces[: places[deltas - 1] + 1] if deltas else ()


def words(text: str) -> list[str]:
    """Return `text` cut after each word; joined again it is `text`."""
    return _WORD.findall(text)


@dataclass(slots=True)
class _Performance:
    """The state of one attempt: which block is open, and what was said in it."""

    turn: Turn
    heard: Heard
    attempt: int
    index: int = -1
    open_type: BlockType | None = None
    said: list[str] = field(default_factory=list)
    output_words: int = 0
    reasoning_words: int = 0
    calls: int = 0

    def pieces(self) -> Iterator[Piece]:
        for step in self.turn:
            for piece in self._step(step):
                yield piece
                if isinstance(piece, ModelFailed):
                    return
        yield from self._close()
        yield UsageReported(self._usage())
        yield Finished(self._reason())

    def _step(self, step: Step) -> Iterator[Piece]:
        match step:
            case Say(text=text, verbatim=verbatim):
                yield from self._say(text if verbatim else fill(text, self.heard))
            case Think(text=text):
                yield from self._think(text)
            case Call():
                yield from self._call(step)
            case Sleep():
                yield step
            case Flaky(attempts=attempts, error_class=error_class):
                if self.attempt <= attempts:
                    yield from self._fail(failure_of(error_class))
            case Fail(error_class=error_class, message=message):
                yield from self._fail(failure_of(error_class, message))
            case Cut() | Report() | Finish():
                return
            case _:
                assert_never(step)

    def _say(self, text: str) -> Iterator[Piece]:
        yield from self._open(BlockType.TEXT)
        for word in words(text):
            self.said.append(word)
            self.output_words += 1
            yield TextDelta(self.index, word)

    def _think(self, text: str) -> Iterator[Piece]:
        if not self.heard.shows_thinking:
            return
        yield from self._open(BlockType.REASONING)
        for word in words(text):
            self.said.append(word)
            self.output_words += 1
            self.reasoning_words += 1
            yield ReasoningDelta(self.index, word)

    def _call(self, call: Call) -> Iterator[Piece]:
        yield from self._close()
        self.index += 1
        call_id = call_id_for(self.heard, self.calls)
        self.calls += 1
        yield BlockStart(self.index, BlockType.TOOL_CALL)
        first, *rest = words(call.arguments) or [""]
        self.output_words += 1 + len(rest)
        yield ToolCallDelta(self.index, call_id, call.name, first)
        for word in rest:
            yield ToolCallDelta(self.index, call_id, None, word)
        yield BlockEnd(self.index, ToolCallBlock(call_id, call.name, call.arguments))

    def _fail(self, failure: ModelFailed) -> Iterator[Piece]:
        if any(isinstance(step, Report) for step in self.turn):
            yield UsageReported(self._usage())
        yield failure

    def _open(self, block_type: BlockType) -> Iterator[Piece]:
        if self.open_type is block_type:
            return
        yield from self._close()
        self.index += 1
        self.open_type = block_type
        yield BlockStart(self.index, block_type)

    def _close(self) -> Iterator[Piece]:
        if self.open_type is None:
            return
        text = "".join(self.said)
        thinking = self.open_type is BlockType.REASONING
        block: Block = ReasoningBlock(text) if thinking else TextBlock(text)
        self.open_type = None
        self.said.clear()
        yield BlockEnd(self.index, block)

    def _reason(self) -> str:
        told = [step.reason for step in self.turn if isinstance(step, Finish)]
        if told:
            return told[0]
        return FinishReason.TOOL_CALLS if has_calls(self.turn) else FinishReason.STOP

    def _usage(self) -> Usage:
        told = next((step for step in self.turn if isinstance(step, Report)), Report())
        heard_words = sum(words_of(message) for message in self.heard.request.messages)
        reasoning = self.reasoning_words or None
        return Usage(
            input_tokens=heard_words if told.input is None else told.input,
            output_tokens=self.output_words if told.output is None else told.output,
            cache_read_tokens=told.cached,
            reasoning_tokens=reasoning if told.reasoning is None else told.reasoning,
        )


def words_of(message: DraftMessage) -> int:
    """Return the number of words in a message, those of its calls' arguments included."""
    arguments = (call.function.arguments for call in message.tool_calls or ())
    return len(text_of(message).split()) + sum(len(text.split()) for text in arguments)


def call_id_for(heard: Heard, number: int) -> str:
    """Return the id of the attempt's call `number`: the same for the same request, else another."""
    last = heard.request.messages[-1] if heard.request.messages else None
    facts = (
        len(heard.request.messages),
        last.id if last else None,
        heard.script_text,
        heard.call_number,
        number,
    )
    return f"call_{hashlib.sha256(repr(facts).encode()).hexdigest()[:20]}"
