"""What a commit of somebody else's means to its readers and to the driver; it writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final, Protocol

from everturn.clock import SystemClock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.wake import Wake, dedup_of_commit
from everturn.push.envelopes import Cursor
from everturn.push.lanes import CLOSE_S, Lanes
from everturn.push.subscriptions import event_pushes
from everturn.session.events.model_calls import ModelCallDispatched

DRIVERS: Final = "driver:"

FLUSH_S: Final = 5.0
"""For a whole batch: one slow reader holds up a shard no longer than this, then it is closed.

The other readers of the batch do not wait for it, whatever their session: each has its lane.
"""

_NOW_MS: Final = SystemClock().now_ms


class Told(Protocol):
    """What is plain in a commit."""

    @property
    def by(self) -> str:
        """Who made it."""

    @property
    def wake(self) -> str | None:
        """The step kind that a driver has to be woken for."""

    @property
    def version(self) -> int:
        """Of the session, after it."""

    @property
    def created(self) -> str:
        """The session's incarnation."""


class FanOut:
    """The use case behind the table's stream: repeats are harmless, a session's order is kept."""

    def __init__(
        self,
        store: SessionStore,
        wake: Wake,
        new_lanes: Callable[[SessionKey], Lanes],
        now_ms: Callable[[], int] = _NOW_MS,
    ) -> None:
        self._store = store
        self._wake = wake
        self._new_lanes = new_lanes
        self._now_ms = now_ms
        self._lanes: dict[SessionKey, Lanes] = {}

    def __call__(self, key: SessionKey, commit: Logged) -> None:
        """Make sure of the wake-up, then push; `flush` comes after the last commit of a batch.

        Raises `TransientError`: the record comes again.
        """
        self.told(key, commit, lambda: commit)

    def told(self, key: SessionKey, said: Told, read: Callable[[], Logged]) -> None:
        """Do the same, and read the commit only if somebody wants to see it.

        The wake-up does not need the events: it is sent even if they cannot be read.
        """
        if said.by.startswith(DRIVERS):
            return
        if said.wake is not None:
            dedup = dedup_of_commit(said.created, said.version)
            self._wake.now(key, said.created, said.wake, said.version, dedup)
        watch = self._store.watch(key).of(said.created)
        if not watch.watchers:
            return
        lanes = self._lanes.get(key) or self._lanes.setdefault(key, self._new_lanes(key))
        now_ms = self._now_ms()
        for connection_id in watch.lapsed(now_ms):
            lanes.expire(connection_id)
        live = watch.live(now_ms)
        for whole in self._store.materialise(key, (read(),)) if live else ():
            place = _place_in(whole)
            for watcher in live:
                for push in event_pushes(key.session, whole, watcher, place):
                    lanes.push(watcher.connection_id, push)

    def flush(self) -> None:
        """Wait until the frames of all sessions are out, or a reader is too slow for us."""
        self._flush_for(FLUSH_S)
        for lanes in self._lanes.values():
            lanes.close()
        self._flush_for(CLOSE_S)
        self._lanes.clear()

    def _flush_for(self, seconds: float) -> None:
        deadline = monotonic() + seconds
        for lanes in self._lanes.values():
            lanes.flush(max(0.0, deadline - monotonic()))


def _place_in(commit: Logged) -> Cursor:
    """Return where the deltas begin that follow a commit: at the call that it dispatched."""
    dispatched = [s for s, event in commit.numbered() if isinstance(event, ModelCallDispatched)]
    return Cursor(dispatch_seq=dispatched[-1]) if dispatched else Cursor()
