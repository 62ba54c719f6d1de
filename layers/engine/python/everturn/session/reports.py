"""What a child says to its parent, a pure function of the event that says it; nothing is sent.

Source: decision-protocol B-7, B-9; session-log SA-2.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.protocol.json_text import compact
from everturn.session.events.interrupts import SessionInterrupted
from everturn.session.events.sessions import SessionCancelled, TurnCompleted
from everturn.session.events.stored import Event
from everturn.session.mail_commands import ChildDone, ChildFailed, ChildPaused, Report

CUT_OFF: Final = "max_tokens: the answer was cut off by its output limit"
"""What the parent is told of a child whose last reply was truncated. Source: SA-2."""


def report_of(event: Event) -> Report | None:
    """Return what `event`, its bodies in place, says to a parent; `None` for nothing."""
    match event:
        case SessionInterrupted(interrupt_id=interrupt_id, reason=reason):
            return ChildPaused(interrupt_id, reason)
        case SessionCancelled():
            return ChildFailed("the session was cancelled")
        case TurnCompleted():
            return _of_turn(event)
        case _:
            return None


def _of_turn(event: TurnCompleted) -> ChildDone | ChildFailed:
    if event.outcome == "done" and not event.truncated:
        return ChildDone(_text(event.data), event.cost, event.usage)
    if event.outcome == "done":
        return ChildFailed(CUT_OFF, cost=event.cost, usage=event.usage)
    if event.error is not None:
        error = event.error
        return ChildFailed(error.message, error.code, error.detail, event.cost, event.usage)
    told = f"its turn ended without an answer: {event.outcome}"
    return ChildFailed(told, cost=event.cost, usage=event.usage)


def _text(data: Any) -> str:
    """Return `done.data` as the parent's model reads it. Source: B-7."""
    if data is None:
        return ""
    return data if isinstance(data, str) else compact(data)
