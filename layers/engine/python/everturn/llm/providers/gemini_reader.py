"""Gemini's streamed answers: each frame is a whole response with the next parts; sends nothing.

There is no last frame: the answer is whole once a reason for its end was given, and what follows
may still count. Source: Gemini API, "GenerateContentResponse".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from everturn.errors import RejectedError
from everturn.llm.chunks import Chunk, FinishReason, UsageReported
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.gemini_replay import Trail
from everturn.llm.providers.http_model import frame_object
from everturn.llm.providers.loose import count_of, object_of, objects
from everturn.llm.providers.refusal import error_body, failed_stream
from everturn.outbound.sse import SseFrame
from everturn.protocol.json_text import compact
from everturn.protocol.llm import Usage

PROVIDER: Final = "Gemini"
BLOCKED: Final = "BLOCKED"
"""Stands for the reason where the prompt was refused and there is no answer."""

_FINISH: Final = {
    "STOP": FinishReason.STOP,
    "FUNCTION_CALL": FinishReason.TOOL_CALLS,
    "MAX_TOKENS": FinishReason.LENGTH,
    "CONTINUATION": FinishReason.LENGTH,
    BLOCKED: FinishReason.CONTENT_FILTER,
    "SAFETY": FinishReason.CONTENT_FILTER,
    "RECITATION": FinishReason.CONTENT_FILTER,
    "BLOCKLIST": FinishReason.CONTENT_FILTER,
    "PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "SPII": FinishReason.CONTENT_FILTER,
    "IMAGE_SAFETY": FinishReason.CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "IMAGE_RECITATION": FinishReason.CONTENT_FILTER,
}
"""Source: Gemini API, "FinishReason"; CONTINUATION: "Long decode", which takes further requests."""

_UNREADABLE: Final = frozenset(
    {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}
)
"""The model called a tool in a way that cannot be read; the reason is all there is to know."""


class AnswerReader:
    """Reads the frames of one answer."""

    is_done = False

    def __init__(self, blocks: Blocks, *, final_tool: str | None = None) -> None:
        self._blocks = blocks
        self._final_tool = final_tool
        self._trail = Trail()
        self._usage: dict[str, Any] = {}
        self._reason: str | None = None
        self._kind = ""
        self._stretch = 0
        self._ids: set[str] = set()
        self._has_spoken = False
        self._is_report = False

    @property
    def is_whole(self) -> bool:
        """Whether the reason for the end is known."""
        return self._reason is not None

    def read(self, frame: SseFrame) -> Iterator[Chunk]:
        """Yield what a frame says; raises `ModelFailed` for an error."""
        event = frame_object(frame)
        said = error_body(event) if "error" in event else None
        if said is not None:
            raise failed_stream(PROVIDER, said)
        usage = object_of(event.get("usageMetadata"))  # cumulative
        self._usage |= {name: value for name, value in usage.items() if value is not None}
        candidates = objects(event.get("candidates"))
        for candidate in candidates[:1]:
            yield from self._candidate(candidate)
        if not candidates and object_of(event.get("promptFeedback")).get("blockReason"):
            self._reason = BLOCKED

    def end(self) -> Iterator[Chunk]:
        """Yield usage and finish."""
        if self._usage:
            yield UsageReported(usage_of(self._usage))
        if self._reason is not None:
            yield from self._blocks.finish(self._finish(self._reason), self._state())

    def _candidate(self, candidate: Mapping[str, Any]) -> Iterator[Chunk]:
        for part in objects(object_of(candidate.get("content")).get("parts")):
            yield from self._part(part)
        reason = candidate.get("finishReason")
        if isinstance(reason, str) and reason:
            self._reason = reason

    def _part(self, part: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield a part; pictures and code, which nobody asked for, have no place in an answer."""
        signature = part.get("thoughtSignature")
        signed = signature if isinstance(signature, str) else ""
        text, call = part.get("text"), part.get("functionCall")
        if isinstance(call, Mapping):
            yield from self._called(call, signed)
        elif part.get("thought") is True:
            yield from self._thought(text if isinstance(text, str) else "", signed)
        elif isinstance(text, str) or part.keys() == {"thoughtSignature"}:
            yield from self._text(text if isinstance(text, str) else "", signed)

    def _text(self, piece: str, signature: str) -> Iterator[Chunk]:
        self._has_spoken = self._has_spoken or bool(piece)
        self._trail.text(piece, signature)
        yield from self._blocks.text(piece, self._key("text"))

    def _thought(self, piece: str, signature: str) -> Iterator[Chunk]:
        if signature:  # a part of its own, which neither joins what was nor what follows
            self._kind = ""
        key = self._key("thought")
        yield from self._blocks.reasoning(piece, key)
        if signature:
            self._trail.thought()
            yield from self._blocks.reasoning_end(signature, key)
            self._kind = ""

    def _called(self, call: Mapping[str, Any], signature: str) -> Iterator[Chunk]:
        name, given, args = call.get("name"), call.get("id"), call.get("args")
        if not isinstance(name, str) or not name:
            return
        call_id = given if isinstance(given, str) else ""
        self._has_spoken = True
        if name == self._final_tool:
            self._is_report = True
        else:
            self._trail.call(call_id, signature)
        self._kind = ""
        self._stretch += 1
        fresh = "" if call_id in self._ids else call_id
        self._ids.add(call_id)
        yield from self._blocks.call(self._stretch, fresh, name)
        yield from self._blocks.arguments(self._stretch, _arguments(args))

    def _key(self, kind: str) -> int:
        """Return what a stretch of one kind is told by; after another kind a new one begins."""
        if kind != self._kind:
            self._kind = kind
            self._stretch += 1
        return self._stretch

    def _finish(self, reason: str) -> str:
        """Return the reason in our words.

        One that says nothing, with nothing said, is an empty answer. Source: session-log ST-7.
        """
        known = _FINISH.get(reason)
        if known == FinishReason.STOP and self._blocks.has_calls:
            return FinishReason.TOOL_CALLS
        if known is None and reason not in _UNREADABLE and not self._has_spoken:
            return FinishReason.STOP
        return known or reason.lower()

    def _state(self) -> str | None:
        """Return what goes back with the message; a final report comes back as mere text."""
        has_real_calls = self._trail.has_calls
        return None if self._is_report and not has_real_calls else self._trail.state()


def _arguments(args: Any) -> str:
    """Return arguments as text. Raises `ModelFailed` for a number that JSON does not have."""
    try:
        return "{}" if args is None else compact(args)
    except RejectedError as error:
        raise ModelFailed("a tool call has arguments beyond JSON", FailureCode.SERVER) from error


def usage_of(given: Mapping[str, Any]) -> Usage:
    """Return disjoint counts: the prompt holds what was cached, the answer not what was thought.

    Source: vocabulary, "Usage"; Gemini API, "UsageMetadata".
    """
    cached, thought = (
        count_of(given, "cachedContentTokenCount"),
        count_of(given, "thoughtsTokenCount"),
    )
    prompt = count_of(given, "promptTokenCount") + count_of(given, "toolUsePromptTokenCount")
    return Usage(
        input_tokens=max(0, prompt - cached),
        output_tokens=count_of(given, "candidatesTokenCount") + thought,
        cache_read_tokens=cached,
        reasoning_tokens=thought,
    )
