"""The role that keeps sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

from everturn.ports.lists import Deletion, Incarnation, ListPage
from everturn.ports.sessions import (
    Head,
    Logged,
    NewCommit,
    NodePlace,
    Owner,
    Quarantine,
    SessionKey,
    TurnRecord,
    VersionKind,
)
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.session.events.tree import Stretch


class SessionStore(Protocol):
    """Keeps the logs and their heads. Source: storage-and-commits.

    Every method may raise `StoreUnavailable` (nothing was written), `NewerFormat` and
    `StoreUnreadable`; those that read a head `SessionQuarantined` where it is both.
    """

    def head(self, key: SessionKey) -> Head | None:
        """Return the head, read consistently, its sections included."""
        ...

    def head_and_turn(self, key: SessionKey, turn_id: str) -> tuple[Head | None, TurnRecord | None]:
        """Return the head and what is known under a turn's id, as of one moment."""
        ...

    def nodes(self, key: SessionKey, ids: Sequence[str]) -> dict[str, NodePlace]:
        """Return the places of those of `ids` that name messages of the session."""
        ...

    def branches(self, key: SessionKey, numbers: Collection[int]) -> dict[int, int]:
        """Return the events that branches begin with; the first branch has none."""
        ...

    def version(
        self, key: SessionKey, kind: VersionKind, stretches: Sequence[Stretch]
    ) -> int | None:
        """Return the event of the version anchored nearest to the end of a path.

        One without anchor is on every path, but the one that a session's first commit brings is not
        known here: `None`. Source: decision-protocol Z-2.
        """
        ...

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        """Return the commits that hold events `from_seq` to `to_seq` (the last by default).

        Bodies that the bucket holds stay references; see `materialise`.
        """
        ...

    def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
        """Return at most `limit` commits, the first of which holds event `after_seq + 1`."""
        ...

    def materialise(self, key: SessionKey, logged: Sequence[Logged]) -> tuple[Logged, ...]:
        """Return `logged` with every body in its place: from the bucket and from earlier events."""
        ...

    def append(self, commit: NewCommit) -> Head:
        """Write a commit, all or nothing; return the new head. Finding it written is success.

        Raises `VersionConflict` (`.head` is the newer one), `IdsTaken` (`.ids` exist already).
        """
        ...

    def claim(self, key: SessionKey, head: Head, owner: Owner) -> Head:
        """Make `owner` the session's owner without an event. Raises `VersionConflict`."""
        ...

    def quarantine(self, key: SessionKey, head: Head | None, why: Quarantine) -> bool:
        """Put a session aside; returns whether it is there and was not put aside before.

        `head` is `None` where it cannot be read. Raises `VersionConflict` where it moved on.
        """
        ...

    def lift(self, key: SessionKey, due_epoch_s: int | None) -> tuple[str, int] | None:
        """End a quarantine; returns `(created, version)`, `None` where there is none."""
        ...

    def quarantined(self) -> Iterator[SessionKey]:
        """Yield the sessions that are put aside, the first one first; an operator's question."""
        ...

    def watch(self, key: SessionKey) -> Watch:
        """Return who reads the session."""
        ...

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        """Return both in one request."""
        ...

    def add_watcher(self, key: SessionKey, watcher: Watcher, created: str = "") -> None:
        """Record a subscription; the same one twice changes nothing.

        `created` is the incarnation that it is about. Where a later one has begun, nothing happens;
        who watched an earlier one is forgotten.
        """
        ...

    def remove_watcher(self, key: SessionKey, connection_id: str, subscription: str = "") -> None:
        """Forget a connection's subscription (all of them without one)."""
        ...

    def extend_watchers(
        self, key: SessionKey, connection_id: str, until_epoch_s: int | None
    ) -> None:
        """Move the end of all subscriptions of a connection, or take it away (`None`).

        Ended ones do not come back.
        """
        ...

    def reader_until(self, key: SessionKey, until_ms: int, created: str = "") -> None:
        """Record that a long-poll reader is there until then; never moves backwards.

        `created` as in `add_watcher`.
        """
        ...

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        """Keep a frame for an hour; best effort of the caller, errors as everywhere.

        One of an earlier incarnation does not take the place of a later one's.
        """
        ...

    def deltas(
        self, key: SessionKey, dispatch_seq: int, after_n: int, limit: int
    ) -> tuple[Delta, ...]:
        """Return frames after `(dispatch_seq, after_n)`, of this and later dispatches, in order."""
        ...

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        """Return sessions whose `due` is past."""
        ...

    def listed(self, tenant: str, after: str, limit: int) -> ListPage:
        """Return a tenant's sessions by the start of their last turn, newest first.

        From the beginning where `after` is empty, else behind that place. Eventually consistent.
        """
        ...

    def owned(self, tenant: str, owner: str, after: str, limit: int) -> ListPage:
        """Return an owner's sessions by their creation, newest first; else as `listed`."""
        ...

    def incarnation(self, key: SessionKey) -> Incarnation | None:
        """Return who a session is, even if it cannot be read; `None` for none and a deleted one."""
        ...

    def mark_deleted(self, key: SessionKey, created: str, mark: str, due_epoch_s: int) -> bool:
        """Put a tombstone in the place of the head: from now on nobody reads or writes the session.

        Returns `False` where that incarnation is not there any more. The same `mark` once more is
        success. Until `release_id` a new session of that id is refused with `SessionDeleting`.
        """
        ...

    def erase(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Delete everything of a deleted session but its tombstone; `False` where time was over.

        Can be repeated, by several at once. Nothing happens where the tombstone is not there.
        """
        ...

    def release_id(self, key: SessionKey, created: str, due_epoch_s: int) -> None:
        """Remove the tombstone of an erased session; at `due_epoch_s` late writes are looked for.

        Can be repeated.
        """
        ...

    def erase_late(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Delete what was written late for a deleted incarnation, and that it ever was.

        Returns `False` where time was over. A session that has its id by now is left alone.
        """
        ...

    def deletions(self, now_epoch_s: int, limit: int) -> tuple[Deletion, ...]:
        """Return what is left to do and past its time, eventually consistent."""
        ...
