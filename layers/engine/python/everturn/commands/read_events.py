"""Reads a session's events and the model output in flight, at once or as they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from everturn.commands.reading import seen_by, unreadable_hidden
from everturn.commands.rebuild_request import RebuildRequest
from everturn.commands.turns import session_and_turn
from everturn.commands.vanishing import vanishing
from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey, TurnRecord
from everturn.ports.streams import Delta
from everturn.protocol.json_text import compact
from everturn.push.audience import Audience
from everturn.push.envelopes import Cursor, delta_payload, envelopes
from everturn.rejections import InsufficientPrivilege
from everturn.session.state import CallStatus, has_next

PAGE_EVENTS: Final = 500
"""Most events of one answer. Source: architecture, section 7."""

PAGE_BYTES: Final = 1024 * 1024
"""Most bytes of one answer; a single larger event still goes."""

DEFAULT_PAGE_EVENTS: Final = 100
COMMITS_PER_READ: Final = 100
WAIT_S: Final = 25.0
"""How long an SSE answer waits. Source: decision-protocol O-7."""

POLL_S: Final = 0.25
READER_GRACE_MS: Final = 5_000
IDLE_RETRY_MS: Final = 15_000
"""What a reader of a session without an open turn is told to wait. Source: architecture 7."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event."""

    cursor: str
    event: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Events after a place in the log."""

    events: list[dict[str, Any]]
    next_after_seq: int
    more: bool


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a reader gets before it comes back."""

    frames: tuple[Frame, ...]
    retry_ms: int | None = None
    ended: bool = False
    """Nothing will ever follow: a turn-scoped stream is over."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Events of a session or of one turn; `complete` says that they reach to its end."""

    events: list[dict[str, Any]]
    size_bytes: int
    complete: bool


class ReadEvents:
    """The use case behind `GET /v1/sessions/{id}/events`."""

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        sleep: Callable[[float], None],
        wait_s: float = WAIT_S,
    ) -> None:
        self._store = store
        self._clock = clock
        self._sleep = sleep
        self._wait_s = wait_s

    def page(
        self,
        caller: Caller,
        session_id: str,
        after_seq: int,
        limit: int,
        turn_id: str | None,
        *,
        requests: bool = False,
    ) -> Page:
        """Return at most `limit` events after `after_seq`. Source: decision-protocol O-24.

        With `requests` each `llm.call.requested` has its `request`, rebuilt from the log.
        Raises `UnknownSession`, `UnknownTurn`, `InsufficientPrivilege`: requests are for keys.
        """
        if requests and caller.is_frontend:
            raise InsufficientPrivilege(
                "The requests to the model are for API keys.", required="machine"
            )
        key, head, turn = self.locate(caller, session_id, turn_id)
        if turn is not None:
            after_seq = max(after_seq, turn.first_seq - 1)
        with vanishing(self._store, key):
            found = self._events(key, head, after_seq, limit, turn, frontend=caller.is_frontend)
        if requests:
            self._add_requests(key, found.events)
        last = found.events[-1]["seq"] if found.events else after_seq
        return Page(found.events, last, not found.complete)

    def _add_requests(self, key: SessionKey, events: list[dict[str, Any]]) -> None:
        rebuild = RebuildRequest(self._store)
        for envelope in events:
            if envelope["payload"]["type"] == "llm.call.requested":
                envelope["payload"]["request"] = rebuild(key, envelope["seq"]).body

    def stream(
        self, caller: Caller, session_id: str, cursor: Cursor, turn_id: str | None
    ) -> Streamed:
        """Return what lies after `cursor`, or wait for it.

        Raises `UnknownSession`, `UnknownTurn`.
        """
        until_ms = self._clock.now_ms() + round(self._wait_s * 1000)
        told = False
        while True:
            key, head, turn = self.locate(caller, session_id, turn_id)
            if turn is not None and cursor.seq < turn.first_seq - 1:
                cursor = Cursor(turn.first_seq - 1, turn.first_seq - 1, 0)
            frames, complete = self._frames(key, head, cursor, turn, frontend=caller.is_frontend)
            if turn is not None and turn.last_seq and cursor.seq >= turn.last_seq:
                return Streamed((), ended=True)
            if frames:
                return Streamed(tuple(frames))
            if complete:
                cursor = replace(cursor, seq=max(cursor.seq, _end(head, turn)))
            if head.session.turn is None and not has_next(head.session):
                return Streamed((), retry_ms=IDLE_RETRY_MS)
            if self._clock.now_ms() >= until_ms:
                return Streamed(())
            if not told:
                self._store.reader_until(key, until_ms + READER_GRACE_MS, head.created)
                told = True
            self._sleep(POLL_S)

    def frames(self, key: SessionKey, head: Head, cursor: Cursor) -> list[Frame]:
        """Return events after the cursor, then the output of the call in flight, as frames."""
        return self._frames(key, head, cursor, None, frontend=False)[0]

    def _frames(
        self,
        key: SessionKey,
        head: Head,
        cursor: Cursor,
        turn: TurnRecord | None,
        *,
        frontend: bool,
    ) -> tuple[list[Frame], bool]:
        """Return the frames after the cursor, and whether every event up to the end was read."""
        frames: list[Frame] = []
        at = cursor
        with vanishing(self._store, key):
            found = self._events(key, head, cursor.seq, PAGE_EVENTS, turn, frontend=frontend)
        for envelope in found.events:
            at = Cursor(envelope["seq"], at.dispatch_seq, at.n)
            frames.append(Frame(at.text(), envelope["payload"]["type"], envelope))
        if not found.complete:
            return frames, False  # a full page: the deltas come with the last one
        size_bytes = found.size_bytes
        for delta in self._deltas(key, head, cursor):
            if turn is not None and delta.turn_id != turn.turn_id:
                continue
            payload = delta_payload(key.session, head.session.agent_id, delta)
            size_bytes += len(compact(payload).encode())
            if frames and size_bytes > PAGE_BYTES:
                break
            at = Cursor(at.seq, delta.dispatch_seq, delta.n)
            frames.append(Frame(at.text(), "llm.token.delta", payload))
        return frames, True

    def locate(
        self, caller: Caller, session_id: str, turn_id: str | None
    ) -> tuple[SessionKey, Head, TurnRecord | None]:
        """Return the session, and the turn that is asked for, an alias followed.

        Raises `UnknownSession`, `UnknownTurn`.
        """
        key = SessionKey(caller.tenant, session_id)
        if turn_id is not None:
            return key, *session_and_turn(self._store, caller, session_id, turn_id)
        with unreadable_hidden(caller):
            found = self._store.head(key)
        return key, seen_by(caller, found), None

    def _events(
        self,
        key: SessionKey,
        head: Head,
        after_seq: int,
        limit: int,
        turn: TurnRecord | None,
        *,
        frontend: bool,
    ) -> _Found:
        audience = Audience(frontend, turn.turn_id if turn is not None else "")
        end = _end(head, turn)
        found: list[dict[str, Any]] = []
        size_bytes = 0
        while after_seq < end and len(found) < limit and size_bytes < PAGE_BYTES:
            commits = self._store.page(key, after_seq, COMMITS_PER_READ)
            if not commits:
                break
            for commit in self._store.materialise(key, commits):
                for envelope in envelopes(key.session, commit):
                    if envelope["seq"] <= after_seq or envelope["seq"] > end:
                        continue
                    if not audience.is_shown(envelope):
                        continue
                    size_bytes += len(compact(envelope).encode())
                    if (found and size_bytes > PAGE_BYTES) or len(found) >= limit:
                        return _Found(found, size_bytes, complete=False)
                    found.append(envelope)
            after_seq = commits[-1].last_seq
        return _Found(found, size_bytes, complete=after_seq >= end)

    def _deltas(self, key: SessionKey, head: Head, cursor: Cursor) -> tuple[Delta, ...]:
        """Return frames of the attempt in flight only: what an ended one said is in its event."""
        running = [
            call
            for call in head.session.calls
            if call.kind == "llm_call" and call.status is CallStatus.PENDING
        ]
        if not running:
            return ()
        call = running[0]
        place = max((cursor.dispatch_seq, cursor.n), (call.seq, 0))
        while True:  # over what earlier attempts said
            deltas = self._store.deltas(key, *place, PAGE_EVENTS)
            own = tuple(d for d in deltas if (d.call_id, d.attempt) == (call.id, call.attempt))
            if own or len(deltas) < PAGE_EVENTS:
                return own
            place = (deltas[-1].dispatch_seq, deltas[-1].n)


def _end(head: Head, turn: TurnRecord | None) -> int:
    return turn.last_seq if turn is not None and turn.last_seq else head.session.seq


def sse(streamed: Streamed) -> str:
    """Return the text of an SSE answer. Source: decision-protocol E-2, O-7."""
    lines = [f"retry: {streamed.retry_ms}\n\n"] if streamed.retry_ms is not None else []
    for frame in streamed.frames:
        data = compact(frame.data)
        lines.append(f"id: {frame.cursor}\nevent: {frame.event}\ndata: {data}\n\n")
    return "".join(lines) or ": nothing new\n\n"
