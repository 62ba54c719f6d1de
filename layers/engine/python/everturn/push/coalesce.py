"""Merging pieces of a streamed answer and pacing them; takes the time as given, sends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from everturn.protocol.llm import StreamDelta, ToolCallDelta

INTERVAL_S = 0.25
MAX_CHARS = 16 * 1024
"""Of one merged piece: even escaped six to one, its frame stays below 128 KB."""


class Coalescer:
    """Lets the first delta of one call attempt through at once, then one merged piece an interval.

    Source: architecture, section 7.
    """

    __slots__ = ("_due_s", "_pending")

    def __init__(self) -> None:
        self._due_s: float | None = None
        self._pending: list[StreamDelta] = []

    def offer(self, delta: StreamDelta, now_s: float) -> list[StreamDelta]:
        """Take `delta` in; return what is ready to be sent, in order, mostly nothing or one piece.

        What would outgrow `MAX_CHARS` does not wait for the interval.
        """
        self._pending.append(delta)
        if self._due_s is not None and now_s < self._due_s:
            pieces = merged(self._pending)
            self._pending = pieces[-1:]
            return pieces[:-1]
        return self.flush(now_s)

    def hold(self, delta: StreamDelta) -> None:
        """Take `delta` in while nobody listens; `flush` brings it."""
        self._pending.append(delta)

    def due_in(self, now_s: float) -> float | None:
        """Return the seconds until something is due, 0 when it is; None while nothing waits."""
        if not self._pending:
            return None
        return max(0.0, (now_s if self._due_s is None else self._due_s) - now_s)

    def flush(self, now_s: float | None = None) -> list[StreamDelta]:
        """Return all that waits; with `now_s` the interval begins anew, as when it was due."""
        if now_s is not None:
            self.rest(now_s)
        pieces = merged(self._pending)
        self._pending = []
        return pieces

    def rest(self, now_s: float) -> None:
        """Begin the interval at `now_s`, when what was ready has gone out, however long it took."""
        self._due_s = now_s + INTERVAL_S


def merged(deltas: Sequence[StreamDelta], *, max_chars: int = MAX_CHARS) -> list[StreamDelta]:
    """Return `deltas` as few: one, more where it would outgrow `max_chars`, none for nothing.

    Text and reasoning are joined, the pieces of a tool call by its id, in order of first
    appearance; the last finish reason stands in the last piece. W-9: appending the pieces gives
    the same answer as appending the deltas.
    """
    text = "".join(delta.text or "" for delta in deltas)
    reasoning = "".join(delta.reasoning or "" for delta in deltas)
    finish_reason = next((d.finish_reason for d in reversed(deltas) if d.finish_reason), None)
    pieces: list[StreamDelta] = []
    room = 0
    for part in _parts(text, reasoning, _merged_calls(deltas), max_chars):
        size = _chars(part)
        if not pieces or size > room:
            pieces.append(part)
            room = max_chars - size
        else:
            pieces[-1] = _joined(pieces[-1], part)
            room -= size
    if finish_reason is not None:
        last = pieces.pop() if pieces else StreamDelta()
        pieces.append(last.model_copy(update={"finish_reason": finish_reason}))
    return pieces


def apart(piece: StreamDelta) -> list[StreamDelta]:
    """Return a piece as one of thoughts and one of the rest, where it has both.

    Readers of runs are told the two by frames of different types. Source: agent-runs 4.1.
    """
    if piece.reasoning is None or (piece.text is None and not piece.tool_calls):
        return [piece]
    return [
        StreamDelta(reasoning=piece.reasoning),
        piece.model_copy(update={"reasoning": None}),
    ]


def _merged_calls(deltas: Sequence[StreamDelta]) -> list[ToolCallDelta]:
    names: dict[str, str | None] = {}
    arguments: dict[str, list[str]] = {}
    for chunk in (chunk for delta in deltas for chunk in delta.tool_calls or ()):
        names[chunk.id] = names.get(chunk.id) or chunk.name
        arguments.setdefault(chunk.id, [])
        if chunk.arguments is not None:
            arguments[chunk.id].append(chunk.arguments)
    return [
        ToolCallDelta(id=call_id, name=names[call_id], arguments="".join(said) if said else None)
        for call_id, said in arguments.items()
    ]


def _parts(
    text: str, reasoning: str, calls: Sequence[ToolCallDelta], max_chars: int
) -> Iterator[StreamDelta]:
    """Yield parts that each keep within `max_chars`, so that any of them fits a frame."""
    for piece in _cut(reasoning, max_chars):
        yield StreamDelta(reasoning=piece)
    for piece in _cut(text, max_chars):
        yield StreamDelta(text=piece)
    for call in calls:
        name = call.name
        said: list[str | None] = [*_cut(call.arguments or "", max_chars)]
        for part in said or [call.arguments]:
            chunk = ToolCallDelta(id=call.id, name=name, arguments=part)
            yield StreamDelta(tool_calls=(chunk,))
            name = None


def _cut(text: str, max_chars: int) -> list[str]:
    return [text[start : start + max_chars] for start in range(0, len(text), max_chars)]


def _joined(first: StreamDelta, then: StreamDelta) -> StreamDelta:
    return StreamDelta(
        text=first.text or then.text,
        reasoning=first.reasoning or then.reasoning,
        tool_calls=(*(first.tool_calls or ()), *(then.tool_calls or ())) or None,
    )


def _chars(delta: StreamDelta) -> int:
    calls = delta.tool_calls or ()
    return (
        len(delta.text or "")
        + len(delta.reasoning or "")
        + sum(len(call.id) + len(call.name or "") + len(call.arguments or "") for call in calls)
    )
