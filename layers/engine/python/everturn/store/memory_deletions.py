"""Deleting the sessions in memory, step by step as the table does.

It must not be kinder than the table: what is written late is there until it is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager

from everturn.ports.lists import Deletion, Incarnation
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watch
from everturn.store.memory_kept import Kept, Tombstone


class MemoryDeletions:
    """The deletions of one store."""

    def __init__(
        self, lock: AbstractContextManager[bool], sessions: MutableMapping[SessionKey, Kept]
    ) -> None:
        self._lock = lock
        self._sessions = sessions
        self._gone: dict[tuple[SessionKey, str], int] = {}

    def incarnation(self, key: SessionKey) -> Incarnation | None:
        """Return who a session is."""
        with self._lock:
            head = self._of(key).head
        return None if head is None else Incarnation(head.created, head.session.owner_id)

    def mark_deleted(self, key: SessionKey, created: str, mark: str, due_epoch_s: int) -> bool:
        """Put a tombstone in the place of the head."""
        with self._lock:
            kept = self._of(key)
            if kept.tombstone is not None:
                return kept.tombstone.mark == mark
            if kept.head is None or kept.head.created != created:
                return False
            kept.head, kept.tombstone = None, Tombstone(created, mark, due_epoch_s)
            return True

    def erase(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Forget all but the tombstone."""
        with self._lock:
            kept = self._of(key)
            if kept.tombstone is None or kept.tombstone.created != created:
                return True
            empty = Kept(tombstone=kept.tombstone)
            self._sessions[key] = empty
            return kept == empty or not is_over()

    def release_id(self, key: SessionKey, created: str, due_epoch_s: int) -> None:
        """Forget the tombstone."""
        with self._lock:
            self._gone[key, created] = due_epoch_s
            kept = self._of(key)
            if kept.tombstone is not None and kept.tombstone.created == created:
                kept.tombstone = None

    def erase_late(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Forget what was written late."""
        with self._lock:
            kept = self._of(key)
            late = [place for place, one in kept.deltas.items() if one.created == created]
            for place in late:
                del kept.deltas[place]
            if kept.watch.created == created:
                kept.watch = Watch()
            if late and is_over():
                return False
            self._gone.pop((key, created), None)
            return True

    def deletions(self, now_epoch_s: int, limit: int) -> tuple[Deletion, ...]:
        """Return what is left to do."""
        with self._lock:
            stones = [
                (kept.tombstone.due_epoch_s, Deletion(key, kept.tombstone.created, is_gone=False))
                for key, kept in self._sessions.items()
                if kept.tombstone is not None
            ]
            notes = [(due, Deletion(*names, is_gone=True)) for names, due in self._gone.items()]
        late = [one for due, one in (*stones, *notes) if due <= now_epoch_s]
        return tuple(late[:limit])

    def _of(self, key: SessionKey) -> Kept:
        return self._sessions.get(key) or Kept()
