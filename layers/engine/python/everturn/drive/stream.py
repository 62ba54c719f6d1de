"""What a session's readers get while a driver works: commits and deltas, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from everturn.errors import EverturnError
from everturn.observability import logger
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.protocol.llm import StreamDelta
from everturn.push.coalesce import Coalescer, apart
from everturn.push.envelopes import Cursor
from everturn.push.frames import DeltaPush
from everturn.push.lanes import Lanes
from everturn.push.subscriptions import event_pushes
from everturn.session.events.model_calls import (
    ModelCallAborted,
    ModelCallCompleted,
    ModelCallErrored,
)
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import CallVoided

DELTA_TTL_S: Final = 3600
"""Source: storage-and-commits, "Items"."""


RECENT_MS: Final = 3_000
"""A subscription new to us was written at most a watch interval ago, some slowness added."""


@dataclass(frozen=True, slots=True)
class _Piece:
    cursor: Cursor
    delta: StreamDelta
    at_ms: int

    def is_recent(self, now_ms: int) -> bool:
        return now_ms - self.at_ms <= RECENT_MS


class Stream:
    """One session's readers. Model threads bring deltas, the driver's loop commits, at any time."""

    def __init__(
        self,
        key: SessionKey,
        store: SessionStore,
        lanes: Lanes,
        now_ms: Callable[[], int],
        created: str = "",
    ) -> None:
        """Begin for the incarnation `created`: nothing is shown to readers of a later one."""
        self._key = key
        self._created = created
        self._store = store
        self._lanes = lanes
        self._now_ms = now_ms
        self._lock = Lock()
        self._watch = Watch()
        self._cursor = Cursor()
        self._coalescer = Coalescer()
        self._recent: list[_Piece] = []
        self._call: tuple[str, int, str, str] = ("", 0, "", "")

    def watched_by(self, watch: Watch) -> None:
        """Take note of who reads; a new one gets what was held back, and the last seconds."""
        with self._lock:
            known = set(self._watch.watchers)
            self._watch = watch.of(self._created)
            for watcher in self._readers():
                if watcher in known:
                    continue
                for piece in self._recent:
                    self._push_delta(watcher, piece, repeated=True)
            self._flush()

    def commit(self, logged: Logged) -> None:
        """Push a commit, bodies in their places, behind everything that was streamed before it."""
        with self._lock:
            self._flush()
            for watcher in self._readers():
                for push in event_pushes(self._key.session, logged, watcher, self._cursor):
                    self._lanes.push(watcher.connection_id, push)
            cursor = self._cursor
            self._cursor = Cursor(logged.last_seq, cursor.dispatch_seq, cursor.n)
            if any(self._ends(event) for event in logged.events):
                self._silence()

    def begin(
        self, dispatch_seq: int, call_id: str, attempt: int, turn_id: str, agent_id: str
    ) -> None:
        """A model call's attempt is about to stream."""
        with self._lock:
            self._flush()
            self._silence()
            self._call = (call_id, attempt, turn_id, agent_id)
            self._cursor = Cursor(self._cursor.seq, dispatch_seq, 0)

    def delta(self, call_id: str, attempt: int, delta: StreamDelta) -> None:
        """Take a piece of the answer; it goes out at once or with its neighbours."""
        with self._lock:
            if (call_id, attempt) != self._call[:2]:
                return  # a replaced attempt that has not noticed yet
            now_ms = self._now_ms()
            if self._watch.is_read(now_ms):
                self._emit(self._coalescer.offer(delta, now_ms / 1000))
            else:
                self._coalescer.hold(delta)

    def drain(self, call_id: str, attempt: int) -> None:
        """Send what waits of an answer that is whole, before its end can be recorded.

        Who reads the log in between goes on behind the end, and would never see it.
        """
        with self._lock:
            if (call_id, attempt) == self._call[:2]:
                self._flush()

    def tick(self) -> None:
        """Send what has waited its interval."""
        with self._lock:
            now_ms = self._now_ms()
            if self._watch.is_read(now_ms) and self._coalescer.due_in(now_ms / 1000) == 0:
                self._emit(self._coalescer.flush(now_ms / 1000))

    def due_in_s(self) -> float | None:
        """Return in how many seconds `tick` has something to do."""
        with self._lock:
            now_ms = self._now_ms()
            return self._coalescer.due_in(now_ms / 1000) if self._watch.is_read(now_ms) else None

    def _ends(self, event: Event) -> bool:
        match event:
            case ModelCallCompleted() | ModelCallErrored() | ModelCallAborted():
                return (event.id, event.attempt) == self._call[:2]
            case CallVoided(id=call_id):
                return call_id == self._call[0]
            case _:
                return False

    def _silence(self) -> None:
        """Forget the call: from its end on its event speaks, and pieces would say it twice."""
        self._coalescer = Coalescer()
        self._recent = []
        self._call = ("", 0, "", "")

    def _flush(self) -> None:
        now_ms = self._now_ms()
        if self._watch.is_read(now_ms):
            self._emit(self._coalescer.flush(now_ms / 1000))

    def _emit(self, pieces: list[StreamDelta]) -> None:
        for piece in (part for each in pieces for part in apart(each)):
            cursor = Cursor(self._cursor.seq, self._cursor.dispatch_seq, self._cursor.n + 1)
            self._cursor = cursor
            call_id, attempt, turn_id, _ = self._call
            body = piece.model_dump(mode="json", exclude_none=True)
            self._keep(
                Delta(
                    cursor.dispatch_seq,
                    cursor.n,
                    call_id,
                    attempt,
                    turn_id,
                    body,
                    created=self._created,
                )
            )
            sent = _Piece(cursor, piece, self._now_ms())
            self._recent = [one for one in self._recent if one.is_recent(sent.at_ms)] + [sent]
            for watcher in self._readers():
                self._push_delta(watcher, sent)
        if pieces:
            self._coalescer.rest(self._now_ms() / 1000)  # a slow store makes larger pieces

    def _readers(self) -> tuple[Watcher, ...]:
        """Return who may be shown something now; a connection whose time is over is ended."""
        now_ms = self._now_ms()
        for connection_id in self._watch.lapsed(now_ms):
            self._lanes.expire(connection_id)
        return self._watch.live(now_ms)

    def _push_delta(self, watcher: Watcher, piece: _Piece, *, repeated: bool = False) -> None:
        call_id, attempt, turn_id, agent_id = self._call
        if watcher.turn_id not in {"", turn_id}:
            return
        push = DeltaPush(
            subscription=watcher.subscription,
            session_id=self._key.session,
            cursor=piece.cursor.text(),
            agent_id=agent_id,
            turn_id=turn_id or None,
            call_id=call_id,
            attempt=attempt,
            seq=piece.cursor.n,
            delta=piece.delta,
            repeated=repeated,
        )
        self._lanes.push(watcher.connection_id, push)

    def _keep(self, delta: Delta) -> None:
        """Write a delta beside the log; a lost one is no loss, its answer becomes an event."""
        try:
            self._store.put_delta(self._key, delta, self._now_ms() // 1000 + DELTA_TTL_S)
        except EverturnError as error:
            logger.warning("a delta was not kept", reason=type(error).__name__)
