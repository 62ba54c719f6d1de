"""What is stored of a session: its key, its head, its commits; no rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from everturn.session.events.stored import Event
from everturn.session.state import Session


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Names one session of one tenant."""

    tenant: str
    session: str


RELEASED: Final = "released"
"""The request id of an owner that handed the session over: what is dispatched was not sent."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The driver that may write for a session. Source: architecture, section 4."""

    epoch: int
    request_id: str
    """Empty where there has been none yet, or another function wrote last."""

    @property
    def is_driver(self) -> bool:
        """Whether a driver has claimed the session, and may be at work."""
        return self.request_id not in {"", RELEASED}


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why nobody touches a session any more. Source: docs/storage.md, "Quarantine"."""

    reason: str
    """One of the codes of docs/storage.md."""

    at_ms: int
    wake: str = ""
    """The wake-up that could not be settled, as JSON."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head item: what the log adds up to, and what guards its next commit."""

    version: int
    """Counts commits and claims, from 1."""

    commit_id: str
    created: str
    """A uuid of this incarnation: a deleted session's id can be used again."""

    session: Session
    owner: Owner | None = None
    due_epoch_s: int | None = None
    """When `recovery` looks after the session."""

    quarantined: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What is kept of an ended turn under its id, or of another name of it."""

    turn_id: str
    number: int = 0
    first_seq: int = 0
    last_seq: int = 0
    outcome: str = ""
    alias_of: str = ""
    is_run: bool = False
    """It was asked for as a run: a pointer leads to it."""


VersionKind = Literal["agent", "state"]
"""What is kept in versions, each anchored in the message tree. Source: Z-2, Z-5."""


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a message is."""

    id: str
    seq: int
    branch: int
    depth: int


@dataclass(frozen=True, slots=True)
class NewCommit:
    """What one transaction is to write. Everything else it needs is derived from the events."""

    key: SessionKey
    before: Head | None
    """The head that was read; `None` creates the session."""

    after: Session
    events: tuple[Event, ...]
    """At least one; they take the numbers after `before.session.seq`."""

    commit_id: str
    at_ms: int
    by: str
    """`driver:<epoch>`, or the function's name."""

    wake: str | None = None
    """The step kind that a driver has to be woken for."""

    owner: Owner | None = None
    """The owner after this commit; nobody where it is `None`."""

    due_epoch_s: int | None = None
    created: str = ""
    """The uuid of a new session; ignored otherwise."""

    counts: bool = False
    """What its model calls used counts for a budget of the owner or the tenant."""


@dataclass(frozen=True, slots=True)
class Logged:
    """One commit as the log keeps it."""

    first_seq: int
    last_seq: int
    commit_id: str
    at_ms: int
    by: str
    version: int
    created: str
    events: tuple[Event, ...]
    wake: str | None = None

    def numbered(self) -> Iterator[tuple[int, Event]]:
        """Yield each event with its number."""
        return zip(range(self.first_seq, self.last_seq + 1), self.events, strict=True)
