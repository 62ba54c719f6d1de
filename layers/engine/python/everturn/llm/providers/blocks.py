"""Numbers the blocks of one answer as a provider's pieces arrive; reads no provider's frames."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from everturn.llm.chunks import (
    BlockEnd,
    Chunk,
    ExtensionBlock,
    Finished,
    FinishReason,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    ToolCallDelta,
)
from everturn.llm.providers.names import ToolNames


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    name: str
    is_final: bool


class Blocks:
    """Chunks of one answer, in the order of its pieces; `key` is what the provider tells them by.

    All of it is tuples but the finish: one for each token costs less than a generator would.

    A call of `final_tool`, which exists between us and the provider only, is shown as the text of
    the answer, and what was said before it is taken back. Source: runs document, section 7.
    """

    def __init__(
        self, names: ToolNames, *, final_tool: str | None = None, shows_reasoning: bool = True
    ) -> None:
        self._names = names
        self._final_tool = final_tool
        self._shows_reasoning = shows_reasoning
        self._indexes: dict[Hashable, int] = {}
        self._texts: list[int] = []
        self._thoughts: dict[int, list[str]] = {}
        self._calls: dict[Hashable, _Call] = {}

    def text(self, piece: str, key: Hashable = "text") -> Iterable[Chunk]:
        """Return more visible text."""
        if not piece:
            return ()
        index = self._index(("text", key))
        if index not in self._texts:
            self._texts.append(index)
        return (TextDelta(index, piece),)

    def reasoning(self, piece: str, key: Hashable = "reasoning") -> Iterable[Chunk]:
        """Return more thinking; where it is not to be shown, it is kept for the block's end."""
        if not piece:
            return ()
        index = self._index(("reasoning", key))
        self._thoughts.setdefault(index, []).append(piece)
        return (ReasoningDelta(index, piece),) if self._shows_reasoning else ()

    def reasoning_end(
        self, signature: str | None, key: Hashable = "reasoning", *, thinking: str = ""
    ) -> Iterable[Chunk]:
        """Return the end of a stretch of thinking, with what its provider wants back with it."""
        index = self._index(("reasoning", key))
        said = "".join(self._thoughts.get(index, [])) or thinking
        return (BlockEnd(index, ReasoningBlock(said, signature)),)

    def extension(self, block_type: str, data_json: str, key: Hashable) -> Iterable[Chunk]:
        """Return a block that only its provider reads."""
        return (BlockEnd(self._index((block_type, key)), ExtensionBlock(block_type, data_json)),)

    def call(self, key: Hashable, call_id: str, name: str) -> Iterable[Chunk]:
        """Return the beginning of a tool call; a second time it changes nothing."""
        if key in self._calls:
            return ()
        is_final = name == self._final_tool
        index = self._index(("final" if is_final else "call", key))
        call = _Call(index, call_id or f"call_{index}", self._names.from_wire(name), is_final)
        self._calls[key] = call
        return () if is_final else (ToolCallDelta(index, call.id, call.name, ""),)

    def arguments(self, key: Hashable, piece: str) -> Iterable[Chunk]:
        """Return more of the arguments of a call that has begun; of another one, nothing."""
        call = self._calls.get(key)
        if call is None or not piece:
            return ()
        if call.is_final:
            return (TextDelta(call.index, piece),)
        return (ToolCallDelta(call.index, call.id, None, piece),)

    def finish(self, reason: str, replay_state: str | None = None) -> Iterator[Chunk]:
        """Yield the end of the answer; a final report is an answer like any other."""
        final = [call for call in self._calls.values() if call.is_final]
        if final and len(final) == len(self._calls):
            for index in (*self._texts, *(call.index for call in final[1:])):
                yield BlockEnd(index, TextBlock(""))
            reason = FinishReason.STOP if reason == FinishReason.TOOL_CALLS else reason
        elif final:  # real calls come first: it will report once it has their results
            for call in final:
                yield BlockEnd(call.index, TextBlock(""))
        yield Finished(reason, replay_state)

    @property
    def has_calls(self) -> bool:
        """Whether the answer calls any tool, the final report included."""
        return bool(self._calls)

    def _index(self, key: Hashable) -> int:
        return self._indexes.setdefault(key, len(self._indexes))
