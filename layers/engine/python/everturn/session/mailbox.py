"""What a session knows of others: whose child it is, what waits here, what is on its way there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Parent:
    """Whose child the session is."""

    session_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for a turn of its own. Source: decision-protocol B-14."""

    id: str
    seq: int
    """The event that has the message."""

    turn_id: str
    run_seq: int = 0
    """The event with the settings that its turn is to have; 0 for none of its own."""

    is_users: bool = False
    """A user wrote it, and no other session."""

    wakes: bool = True
    """Whether it opens its turn by itself once nothing is in its way. Source: IB-2."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is on its way to another session. Source: storage-and-commits, "Commits" 4."""

    seq: int
    """The event that it stems from, which has its body."""

    kind: Literal["message", "report", "cancel"]
    target: str
    call_id: str = ""
    """Of a report: the parent's call; of a cancel: the one that was given up."""

    agent_id: str = ""
    """Of a cancel: the child's."""
