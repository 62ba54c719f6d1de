"""The role that finds a session by its run, and keeps what people say of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from everturn.ports.sessions import SessionKey

Verdict = Literal["UP", "DOWN"]


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a run is recorded. Source: storage-and-commits, "Items"."""

    run_id: str
    session: str
    seq: int
    """Its `run.requested`."""

    created: str
    """The session's incarnation: a deleted session's id can be used again."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody thinks of a run."""

    id: str
    verdict: Verdict
    explanation: str | None = None
    content_snapshot: str | None = None
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Described:
    """What a session was made as, for who lists sessions."""

    name: str
    metadata: Mapping[str, str]
    created: str
    """The session's incarnation."""


class RunIndex(Protocol):
    """Keeps runs by their ids; each method may raise `StoreUnavailable`."""

    def place(self, tenant: str, run_id: str) -> RunPlace | None:
        """Return where a run is, `None` for one that the tenant never had."""
        ...

    def put_feedback(self, tenant: str, place: RunPlace, feedback: Feedback) -> Feedback | None:
        """Keep feedback in the place of what there was, which is returned; its id stays."""
        ...

    def feedback(self, tenant: str, place: RunPlace) -> Feedback | None:
        """Return what was said of a run."""
        ...

    def described(self, sessions: Sequence[SessionKey]) -> Mapping[SessionKey, Described]:
        """Return what those of `sessions` were made as that were made with a description."""
        ...
