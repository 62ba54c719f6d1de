"""Which events a reader is shown: of one turn or all, and what a client token may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

FOR_KEYS: Final = frozenset(
    {
        "agent.updated",
        "call.settle_ignored",
        "decision.completed",
        "decision.deferred",
        "decision.dispatched",
        "decision.dropped",
        "decision.errored",
        "decision.queued",
        "guard.noted",
        "inbox.dequeued",
        "inbox.discarded",
        "inbox.enqueued",
        "inbox.updated",
        "outbox.delivered",
        "request.context",
        "request.header",
        "run.requested",
        "session.described",
        "step.ended",
        "step.started",
        "turn.admitted",
        "worker.state.updated",
    }
)
"""Events that only API keys read: prompts, definitions, a worker's state, the engine's own steps.

Source: decision-protocol E-8, E-9.
"""


@dataclass(frozen=True, slots=True)
class Audience:
    """A reader of a session's events."""

    frontend: bool = False
    """It reads with a client token."""

    turn_id: str = ""
    """Only this turn is wanted, where set."""

    def is_shown(self, envelope: Mapping[str, Any]) -> bool:
        """Return whether an event in its envelope is for this reader. Source: E-3, E-8."""
        if self.turn_id and envelope.get("turn_id") != self.turn_id:
            return False
        return not (self.frontend and envelope["payload"]["type"] in FOR_KEYS)
