"""What lists of sessions are made of, and what is left of a deleted session; no rule."""

from __future__ import annotations

from dataclasses import dataclass

from everturn.ports.sessions import Quarantine, SessionKey
from everturn.session.state import Session


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as a list shows it."""

    key: SessionKey
    place: str
    """Where the list goes on behind it."""

    created: str
    """The uuid of its incarnation; empty where even that cannot be read."""

    last_turn_ms: int
    """When its last turn began; 0 where that cannot be read."""

    session: Session | None
    """`None` where this code cannot read it."""

    quarantined: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class ListPage:
    """Some sessions of a list, which may be fewer than there are places for."""

    sessions: tuple[Listed, ...]
    after: str
    """Where the list goes on; empty at its end."""


@dataclass(frozen=True, slots=True)
class Incarnation:
    """What has to be known of a session to delete it; the rest of its head may be unreadable."""

    created: str
    owner_id: str | None
    """`None` where it cannot be read."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What is left to do for a deleted session."""

    key: SessionKey
    created: str
    is_gone: bool
    """Its id is free; only what was written late by somebody who had not noticed may be there."""
