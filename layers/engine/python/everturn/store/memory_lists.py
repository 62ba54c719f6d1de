"""Lists of the sessions in memory; they are consistent, other than those of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from everturn.ports.lists import Listed, ListPage
from everturn.ports.sessions import Head, SessionKey
from everturn.store import keys
from everturn.store.memory_kept import Kept


class MemoryLists:
    """The lists of one store."""

    def __init__(
        self, lock: AbstractContextManager[bool], sessions: Mapping[SessionKey, Kept]
    ) -> None:
        self._lock = lock
        self._sessions = sessions

    def listed(self, tenant: str, after: str, limit: int) -> ListPage:
        """Return sessions by their last turn."""
        with self._lock:
            rows = [
                _row(key, kept, head, keys.listing_sk(kept.last_turn_ms, key.session))
                for key, kept, head in self._of(tenant)
            ]
        return _page(rows, after, limit)

    def owned(self, tenant: str, owner: str, after: str, limit: int) -> ListPage:
        """Return sessions by their creation."""
        with self._lock:
            rows = [
                _row(key, kept, head, head.created)
                for key, kept, head in self._of(tenant)
                if head.session.owner_id == owner
            ]
        return _page(rows, after, limit)

    def _of(self, tenant: str) -> Iterator[tuple[SessionKey, Kept, Head]]:
        for key, kept in self._sessions.items():
            if key.tenant != tenant or kept.head is None:
                continue
            if kept.head.session.parent is None:  # a child is found by its parent's events
                yield key, kept, kept.head


def _row(key: SessionKey, kept: Kept, head: Head, place: str) -> Listed:
    return Listed(key, place, head.created, kept.last_turn_ms, head.session, head.quarantined)


def _page(rows: list[Listed], after: str, limit: int) -> ListPage:
    left = sorted(
        (row for row in rows if not after or row.place < after),
        key=lambda row: row.place,
        reverse=True,
    )
    shown = left[:limit]
    return ListPage(tuple(shown), shown[-1].place if len(left) > len(shown) else "")
