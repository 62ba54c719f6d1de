"""The role that finds a session by its run, and keeps what people say of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

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


class RunIndex(Protocol):
    """Keeps runs by their ids; each method may raise `StoreUnavailable`."""

    def place(self, tenant: str, run_id: str) -> RunPlace | None:
        """Return where a run is, `None` for one that the tenant never had."""
        ...

    def put_feedback(self, tenant: str, run_id: str, feedback: Feedback) -> bool:
        """Keep feedback in the place of what there was; return whether it is the first.

        The id of the first one stays. Nothing happens, and `False` is returned, for an unknown run.
        """
        ...

    def feedback(self, tenant: str, run_id: str) -> Feedback | None:
        """Return what was said of a run."""
        ...
