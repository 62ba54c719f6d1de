"""What a commit of somebody else's means to its readers and to the driver; it writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.wake import Wake
from everturn.push.envelopes import Cursor
from everturn.push.lanes import Lanes
from everturn.push.subscriptions import event_pushes
from everturn.session.events.model_calls import ModelCallDispatched

DRIVERS: Final = "driver:"

FLUSH_S: Final = 10.0
"""For a whole batch: one slow reader holds up a shard no longer than this."""


class FanOut:
    """The use case behind the table's stream: repeats are harmless, a session's order is kept."""

    def __init__(
        self, store: SessionStore, wake: Wake, new_lanes: Callable[[SessionKey], Lanes]
    ) -> None:
        self._store = store
        self._wake = wake
        self._new_lanes = new_lanes
        self._lanes: dict[SessionKey, Lanes] = {}

    def __call__(self, key: SessionKey, commit: Logged) -> None:
        """Make sure of the wake-up, then push; `flush` comes after the last commit of a batch.

        Raises `TransientError`: the record comes again.
        """
        if commit.by.startswith(DRIVERS):
            return
        if commit.wake is not None:
            dedup = f"{commit.created}.{commit.version}"
            self._wake.now(key, commit.created, commit.wake, commit.version, dedup)
        watch = self._store.watch(key)
        if not watch.watchers:
            return
        lanes = self._lanes.get(key) or self._lanes.setdefault(key, self._new_lanes(key))
        for whole in self._store.materialise(key, (commit,)):
            place = _place_in(whole)
            for watcher in watch.watchers:
                for push in event_pushes(key.session, whole, watcher, place):
                    lanes.push(watcher.connection_id, push)

    def flush(self) -> None:
        """Wait until the frames of all sessions are out, or a reader is too slow for us."""
        deadline = monotonic() + FLUSH_S
        for lanes in self._lanes.values():
            lanes.flush(max(0.0, deadline - monotonic()))
            lanes.close()
        self._lanes.clear()


def _place_in(commit: Logged) -> Cursor:
    """Return where the deltas begin that follow a commit: at the call that it dispatched."""
    dispatched = [s for s, event in commit.numbered() if isinstance(event, ModelCallDispatched)]
    return Cursor(dispatch_seq=dispatched[-1]) if dispatched else Cursor()
