"""Folds the chunks of one attempt into its answer; pure, strict, and blind to who streamed them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from everturn.llm.chunks import (
    Block,
    BlockEnd,
    BlockStart,
    BlockType,
    Chunk,
    ExtensionBlock,
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
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.protocol.llm import Usage
from everturn.protocol.message import ToolCall, ToolCallFunction


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer of a model."""

    content: str | None
    """All text blocks in order, joined; None where the model said nothing."""

    tool_calls: tuple[ToolCall, ...]
    reasoning: tuple[ReasoningBlock, ...]
    finish_reason: str
    usage: Usage | None
    blocks: tuple[Block, ...]
    """Everything, in order of first appearance."""

    replay_state: str | None = None


@dataclass(slots=True)
class _Draft:
    """A block on its way; `block` is set once it is closed."""

    block_type: str
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    name: str = ""
    block: Block | None = None

    def closed(self) -> Block:
        """Return the block; an open one is built from its deltas. Source: session-log ST-4."""
        if self.block is not None:
            return self.block
        text = "".join(self.pieces)
        match self.block_type:
            case BlockType.TEXT:
                return TextBlock(text)
            case BlockType.REASONING:
                return ReasoningBlock(text)
            case BlockType.TOOL_CALL:
                return ToolCallBlock(self.call_id, self.name, text)
            case _:
                raise malformed(f"a block of type {self.block_type} was never closed")


class Assembler:
    """Takes the chunks of one attempt in order; `answer` at the end says what they add up to."""

    def __init__(self) -> None:
        self._drafts: dict[int, _Draft] = {}
        self._finished: Finished | None = None
        self._usage: Usage | None = None
        self.cost: str | None = None
        """What the provider says that the attempt has cost, in dollars."""

    @property
    def usage(self) -> Usage | None:
        """What the attempt reported so far, a failed one too. Source: session-log MC-8."""
        return self._usage

    @property
    def partial_text(self) -> str:
        """The text so far, for an attempt that was broken off or failed."""
        return "".join(
            draft.block.text if isinstance(draft.block, TextBlock) else "".join(draft.pieces)
            for draft in self._drafts.values()
            if draft.block_type == BlockType.TEXT
        )

    def feed(self, chunk: Chunk) -> None:
        """Take one chunk; raises `ModelFailed` where it stands out of order. Source: ST-2."""
        if self._finished is not None:
            raise malformed("a chunk after the finish")
        match chunk:
            case BlockStart(index=index, block_type=block_type):
                self._draft(index, block_type)
            case TextDelta(index=index, text=text):
                self._draft(index, BlockType.TEXT).pieces.append(text)
            case ReasoningDelta(index=index, text=text):
                self._draft(index, BlockType.REASONING).pieces.append(text)
            case ToolCallDelta():
                self._call_delta(chunk)
            case BlockEnd(index=index, block=block):
                self._close(index, block)
            case UsageReported(usage=usage, cost=cost):
                if self._usage is not None:
                    raise malformed("a second usage report")
                self._usage, self.cost = usage, cost
            case Finished():
                self._finished = chunk
            case _:
                assert_never(chunk)

    def answer(self) -> Answer:
        """Return what the stream added up to.

        Raises `ModelFailed` for a missing finish (`STREAM_ENDED`, ST-6), nothing said but by the
        output limit (`EMPTY_RESPONSE`, ST-7, L-9), a refusal (`REFUSED`) and a malformed stream
        (`SERVER`, L-9); `ModelAborted` where we broke it off.
        """
        finished = self._finished
        if finished is None:
            raise ModelFailed("the stream ended without a finish", FailureCode.STREAM_ENDED)
        if finished.reason == FinishReason.ABORTED:
            raise ModelAborted("the attempt was broken off")
        if finished.reason == FinishReason.CONTENT_FILTER:
            raise ModelFailed("the model refused to answer", FailureCode.REFUSED)
        blocks = tuple(draft.closed() for draft in self._drafts.values())
        content = "".join(block.text for block in blocks if isinstance(block, TextBlock))
        calls = tuple(to_tool_call(block) for block in blocks if isinstance(block, ToolCallBlock))
        extended = any(isinstance(block, ExtensionBlock) for block in blocks)
        if not (content or calls or extended) and finished.reason != FinishReason.LENGTH:
            raise ModelFailed("the model answered nothing", FailureCode.EMPTY_RESPONSE)
        return Answer(
            content=content or None,
            tool_calls=calls,
            reasoning=tuple(block for block in blocks if isinstance(block, ReasoningBlock)),
            finish_reason=str(finished.reason),
            usage=self._usage,
            blocks=blocks,
            replay_state=finished.replay_state,
        )

    def _draft(self, index: int, block_type: str) -> _Draft:
        """Return block `index`, new or known; what arrives for a closed one goes nowhere."""
        draft = self._drafts.setdefault(index, _Draft(block_type))
        if draft.block is not None:
            return _Draft(block_type)
        if draft.block_type != block_type:
            raise malformed(f"{block_type} in block {index}, which is {draft.block_type}")
        return draft

    def _call_delta(self, chunk: ToolCallDelta) -> None:
        draft = self._draft(chunk.index, BlockType.TOOL_CALL)
        draft.call_id = draft.call_id or chunk.id
        draft.name = draft.name or chunk.name or ""
        draft.pieces.append(chunk.arguments_delta)

    def _close(self, index: int, block: Block) -> None:
        draft = self._draft(index, block_type_of(block))
        draft.block = block


def assemble(chunks: Iterable[Chunk]) -> Answer:
    """Return the answer that `chunks` add up to; raises as `Assembler.answer` does."""
    assembler = Assembler()
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.answer()


def block_type_of(block: Block) -> str:
    """Return the wire name of a block's type."""
    match block:
        case TextBlock():
            return BlockType.TEXT
        case ReasoningBlock():
            return BlockType.REASONING
        case ToolCallBlock():
            return BlockType.TOOL_CALL
        case ExtensionBlock(block_type=block_type):
            return block_type
        case _:
            assert_never(block)


def to_tool_call(block: ToolCallBlock) -> ToolCall:
    """Return the call as messages carry it."""
    function = ToolCallFunction(name=block.name, arguments=block.arguments)
    return ToolCall(id=block.id, type="function", function=function)


def malformed(what: str) -> ModelFailed:
    """Return the failure of a stream that breaks its protocol; retryable. Source: L-9."""
    return ModelFailed(f"malformed stream: {what}", FailureCode.SERVER)
