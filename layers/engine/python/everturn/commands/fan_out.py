"""What a commit of somebody else's means to its readers and to the driver; it writes nothing."""

from __future__ import annotations

from collections.abc import Callable

from everturn.ports import Logged, SessionKey, SessionStore, Wake
from everturn.push.envelopes import Cursor
from everturn.push.lanes import Lanes
from everturn.push.subscriptions import event_pushes

DRIVERS = "driver:"


class FanOut:
    """The use case behind the table's stream: repeats are harmless, a session's order is kept."""

    def __init__(
        self, store: SessionStore, wake: Wake, new_lanes: Callable[[SessionKey], Lanes]
    ) -> None:
        self._store = store
        self._wake = wake
        self._new_lanes = new_lanes

    def __call__(self, key: SessionKey, commit: Logged) -> None:
        """Make sure of the wake-up, then push. Raises `TransientError`: the record comes again."""
        if commit.by.startswith(DRIVERS):
            return
        if commit.wake is not None:
            dedup = f"{commit.created}.{commit.version}"
            self._wake.now(key, commit.created, commit.wake, commit.version, dedup)
        watch = self._store.watch(key)
        if not watch.watchers:
            return
        lanes = self._new_lanes(key)
        for whole in self._store.materialise(key, (commit,)):
            for watcher in watch.watchers:
                for push in event_pushes(key.session, whole, watcher, Cursor()):
                    lanes.push(watcher.connection_id, push)
        lanes.flush(FLUSH_S)
        lanes.close()


FLUSH_S = 10.0
