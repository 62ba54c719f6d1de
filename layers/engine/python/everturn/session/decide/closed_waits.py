"""Closes what a call still waits for when the call ends otherwise; it ends no call."""

from __future__ import annotations

from everturn.session.events.waits import WaitClosed
from everturn.session.journal import Journal


def close_waits(journal: Journal, call_id: str, *, has_ended: bool) -> None:
    """Close the waits of a call that is about to end, or to begin anew.

    `has_ended` says that its task, if it has one, is over; otherwise it is given up.
    """
    for wait in journal.session.waits:
        if wait.call_id == call_id:
            is_over = has_ended and wait.kind == "task"
            journal.add(
                WaitClosed(
                    turn_id=journal.turn_id,
                    id=wait.id,
                    kind=wait.kind,
                    call_id=call_id,
                    outcome="finished" if is_over else "withdrawn",
                )
            )
