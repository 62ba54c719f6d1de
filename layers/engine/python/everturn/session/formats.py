"""Versions of the stored shape: what older code may read, and what it must leave alone.

No event is defined here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from everturn.session.events.stored import Event
from everturn.session.facts import WORKERS_ROUTE
from everturn.session.guard_counts import Guard
from everturn.session.state import Session

FORMAT: Final = 1
"""The first version; that of every item which `format_of` is not asked about."""

NEWEST_FORMAT: Final = 3
"""What this code knows; it does not touch an item with a higher one."""

SECOND: Final = frozenset(
    {
        "decision.deferred",
        "head.moved",
        "llm.call.aborted",
        "session.cancelled",
        "session.interrupted",
        "session.interrupt_resumed",
        "session.message_requested",
        "sub_agent.requested",
        "sub_agent.dispatched",
        "sub_agent.started",
        "sub_agent.turn_completed",
        "sub_agent.errored",
        "sub_agent.interrupted",
        "inbox.enqueued",
        "inbox.dequeued",
        "inbox.discarded",
        "outbox.delivered",
        "turn.cancel_requested",
        "turn.continued",
        "turn.parked",
        "turn.unparked",
        "call.wait.opened",
        "call.wait.extended",
        "call.wait.closed",
    }
)
"""Kinds of events that code of the first format does not know."""


THIRD: Final = frozenset(
    {
        "guard.loop_detected",
        "guard.noted",
        "guard.tool_budget_exceeded",
        "inbox.updated",
        "model.fell_back",
        "output.rejected",
        "run.requested",
        "session.described",
    }
)
"""Kinds of events that code of the second format does not know."""


def format_of(session: Session, events: Iterable[Event] = ()) -> int:
    """Return the oldest format whose code can go on from `session`, and read `events` of it.

    The first one knows no workers that decide or that run the model, no answers that come later, no
    interrupts, no cancels, no waits, no budgets of sessions, no sub-agents, and one branch; the
    second no runs, no guards, and an inbox that nobody but other sessions writes to.
    """
    kinds = {event.type for event in events}
    turns = [*session.parked, *([session.turn] if session.turn else ())]
    guarded = any(
        one.run_seq or one.guard != Guard() or one.is_final or one.rejected or one.fallbacks
        for one in turns
    )
    waits = any(call.is_serial for call in session.calls) or any(
        one.is_users or not one.wakes for one in session.inbox
    )
    if guarded or waits or kinds & THIRD:
        return 3
    is_workers = session.decides == "worker" or session.route.startswith(f"{WORKERS_ROUTE}/")
    later = any(one.status == "deferred" for one in session.decisions)
    asked = any(call.questions for call in session.calls)
    held = later or asked or bool(session.interrupts or session.waits or session.aborting)
    held = held or session.is_cancelled or session.spent is not None or session.branches > 0
    held = held or bool(session.parent or session.inbox or session.outbox)
    held = held or session.children > 0
    if is_workers or held or kinds & SECOND:
        return 2
    return FORMAT
