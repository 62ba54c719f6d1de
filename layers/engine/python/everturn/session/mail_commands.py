"""Commands that one session causes in another, and what the sender notes of them, as values.

Whoever carries them may do so twice: each changes nothing the second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from everturn.session.events.sessions import Owner
from everturn.session.events.shape import Usage
from everturn.session.facts import Facts, Stamp


@dataclass(frozen=True, slots=True)
class StartChild:
    """Begin a child session. Source: decision-protocol B-3, B-5, S-5."""

    stamp: Stamp
    facts: Facts
    session_id: str
    agent_id: str
    owner: Owner
    ancestry: tuple[str, ...]
    """From the root session to the parent."""

    call_id: str
    """The parent's call that it answers."""

    is_given_up: bool = False
    """The parent cancelled it before it was there: it begins cancelled, so that it never runs."""


@dataclass(frozen=True, slots=True)
class TakeMessage:
    """A message came from a session of the same owner. Source: decision-protocol B-14."""

    stamp: Stamp
    facts: Facts
    message: Mapping[str, Any]
    """A `Message` as JSON, with the id that its sender fixed."""

    turn_id: str
    """Of the turn that it will open; follows from the message's id."""


@dataclass(frozen=True, slots=True)
class ChildDone:
    """The child's first turn ended through `done`. Source: decision-protocol B-7."""

    result: str
    cost: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ChildFailed:
    """The child's first turn ended otherwise. Source: decision-protocol B-9."""

    error: str
    code: str | None = None
    detail: Any = None
    cost: str = "0"
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class ChildPaused:
    """The child waits for somebody to resume it. Source: decision-protocol B-9."""

    interrupt_id: str
    reason: str


Report = ChildDone | ChildFailed | ChildPaused


@dataclass(frozen=True, slots=True)
class HearChild:
    """A child says what became of it."""

    stamp: Stamp
    facts: Facts
    call_id: str
    child_id: str
    report: Report


@dataclass(frozen=True, slots=True)
class StartFailed:
    """A child could not be started."""

    error: str
    code: str | None
    retryable: bool
    detail: Any = None


@dataclass(frozen=True, slots=True)
class NoteStart:
    """An attempt to start a child is over: it is there, or `failure` says why not."""

    stamp: Stamp
    facts: Facts
    call_id: str
    attempt: int
    failure: StartFailed | None = None
    max_run_s: float | None = None
    """How long the child may run, where the deployment says so. Source: decision-protocol B-11."""


@dataclass(frozen=True, slots=True)
class NoteSent:
    """What was on its way has arrived, or nobody takes it."""

    stamp: Stamp
    facts: Facts
    entry: int
    """The event that put it into the outbox."""

    outcome: Literal["delivered", "refused"]
    code: str | None = None


BetweenSessions = StartChild | TakeMessage | HearChild | NoteStart | NoteSent
