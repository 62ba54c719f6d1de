"""The role that keeps sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from everturn.ports.sessions import (
    Head,
    Logged,
    NewCommit,
    NodePlace,
    Owner,
    Quarantine,
    SessionKey,
    TurnRecord,
)
from everturn.ports.streams import Delta, Watch, Watcher


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
        """Yield the sessions that are put aside; an operator's question, it reads the table."""
        ...

    def watch(self, key: SessionKey) -> Watch:
        """Return who reads the session."""
        ...

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        """Return both in one request."""
        ...

    def add_watcher(self, key: SessionKey, watcher: Watcher) -> None:
        """Record a subscription; the same one twice changes nothing."""
        ...

    def remove_watcher(self, key: SessionKey, connection_id: str, subscription: str = "") -> None:
        """Forget a connection's subscription (all of them without one)."""
        ...

    def reader_until(self, key: SessionKey, until_ms: int) -> None:
        """Record that a long-poll reader is there until then; never moves backwards."""
        ...

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        """Keep a frame for an hour; best effort of the caller, errors as everywhere."""
        ...

    def deltas(
        self, key: SessionKey, dispatch_seq: int, after_n: int, limit: int
    ) -> tuple[Delta, ...]:
        """Return frames after `(dispatch_seq, after_n)`, of this and later dispatches, in order."""
        ...

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        """Return sessions whose `due` is past."""
        ...
