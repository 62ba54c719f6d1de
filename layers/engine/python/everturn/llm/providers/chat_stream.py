"""Reads the chunks of a streamed chat completion, OpenAI's and its kin's; sends nothing.

Source: OpenAI API, "Streaming events" of chat completions; OpenRouter API, "Reasoning tokens".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.llm.chunks import Chunk, FinishReason, UsageReported, normal_finish
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.chat_details import Details
from everturn.llm.providers.http_model import frame_object
from everturn.llm.providers.loose import objects, text_of
from everturn.llm.providers.openai_usage import cost_of, usage_of
from everturn.llm.providers.refusal import error_body, failed_stream
from everturn.outbound.sse import SseFrame

DONE: Final = "[DONE]"
UNREADABLE_CALL: Final = "malformed_function_call"
"""A call that never got a name."""

REASONING_FIELDS: Final = ("reasoning_content", "reasoning")
"""Where servers put their thinking: DeepSeek, xAI, LiteLLM; OpenRouter, Groq, Ollama, vLLM."""


class ChunkReader:
    """Reads the chunks of one completion; whole as soon as it says why it ended."""

    def __init__(self, provider: str, blocks: Blocks, *, keeps_details: bool = False) -> None:
        """`keeps_details`: the server wants its `reasoning_details` back."""
        self._provider = provider
        self._blocks = blocks
        self._calls = _Calls(blocks)
        self._details = Details(blocks, is_kept=keeps_details)
        self._thought_in: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._reason: str | None = None
        self._refused = False
        self.is_done = False

    @property
    def is_whole(self) -> bool:
        """What it has cost may follow, and the mark of the end; both may be missing."""
        return self._reason is not None

    def read(self, frame: SseFrame) -> Iterator[Chunk]:
        """Yield what a chunk says; raises `ModelFailed` for an error."""
        if frame.data.strip() == DONE:
            self.is_done = True
            return
        chunk = frame_object(frame)
        said = error_body(chunk)
        if said is not None:
            told = chunk.get("id")
            raise failed_stream(self._provider, said, told if isinstance(told, str) else None)
        if isinstance(chunk.get("usage"), Mapping):
            self._usage = chunk["usage"]
        for choice in objects(chunk.get("choices"))[:1]:
            yield from self._delta(choice.get("delta"))
            self._ended(choice.get("finish_reason"))

    def end(self) -> Iterator[Chunk]:
        """Yield usage and finish."""
        if self._usage is not None:
            yield UsageReported(usage_of(self._usage), cost_of(self._usage))
        if self._reason is None:
            return
        state = None
        yield from self._details.end()
        if self._thought_in is not None:
            yield from self._blocks.reasoning_end(None)
            state = json.dumps({"v": 1, "reasoning": self._thought_in}, separators=(",", ":"))
        yield from self._blocks.finish(self._finish(self._reason), state)

    def _delta(self, delta: Any) -> Iterator[Chunk]:
        if not isinstance(delta, Mapping):
            return
        yield from self._thought(delta)
        yield from self._blocks.text(text_of(delta.get("content")))
        self._refused = self._refused or bool(delta.get("refusal"))
        for piece in objects(delta.get("tool_calls")):
            yield from self._calls.piece(piece)

    def _thought(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        details = objects(delta.get("reasoning_details"))
        if details:
            yield from self._details.read(details)
            return
        for name in REASONING_FIELDS:
            text = text_of(delta.get(name))
            if text:
                self._thought_in = name
                yield from self._blocks.reasoning(text)
                return

    def _ended(self, reason: Any) -> None:
        """Source: OpenRouter API, "Errors": a choice may end with the reason `error` alone."""
        if not isinstance(reason, str) or not reason:
            return
        if reason == "error":
            told = f"{self._provider} broke its answer off with an error"
            raise ModelFailed(told, FailureCode.SERVER)
        self._reason = reason.lower()

    def _finish(self, reason: str) -> str:
        if self._refused:
            return FinishReason.CONTENT_FILTER
        told = normal_finish(reason)
        if told not in {FinishReason.STOP, FinishReason.TOOL_CALLS}:
            return told
        if self._calls.has_nameless:
            return UNREADABLE_CALL
        return FinishReason.TOOL_CALLS if self._blocks.has_calls else FinishReason.STOP


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    waiting: list[str] = field(default_factory=list)
    """Arguments that came before the name."""


class _Calls:
    """Tells the pieces of parallel calls apart, by their indexes, or by ids where there are none.

    Some servers give each call the index 0: another id with another name is another call.
    """

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}

    @property
    def has_nameless(self) -> bool:
        """Whether a call was never named."""
        return any(not call.name for call in self._calls)

    def piece(self, piece: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield what a piece adds to its call."""
        function = piece.get("function")
        told = function if isinstance(function, Mapping) else {}
        call_id, name = text_of(piece.get("id")), text_of(told.get("name"))
        arguments = told.get("arguments")
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        more = text_of(arguments)
        if not (call_id or name or more):
            return
        call = self._call(piece.get("index"), call_id, name)
        call.id = call.id or call_id
        call.waiting.append(more)
        if not (call.name or name):
            return
        if not call.name:
            call.name = name
            yield from self._blocks.call(id(call), call.id, name)
        for waiting in call.waiting:
            yield from self._blocks.arguments(id(call), waiting)
        call.waiting.clear()

    def _call(self, index: Any, call_id: str, name: str) -> _Call:
        if isinstance(index, int):
            known = self._at.get(index)
        elif call_id:
            known = next((call for call in self._calls if call.id == call_id), None)
        else:
            known = self._calls[-1] if self._calls else None
        if known is None or (name and call_id and known.id not in {"", call_id}):
            known = _Call()
            self._calls.append(known)
        if isinstance(index, int):
            self._at[index] = known
        return known
