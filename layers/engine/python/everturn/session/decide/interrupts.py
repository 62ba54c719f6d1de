"""Pauses the path and lets it go on, on an outsider's word: who may, what is asked then.

Source: decision-protocol, section 14.
"""

from __future__ import annotations

from typing import Final

from everturn.rejections import (
    InsufficientPrivilege,
    NoActiveTurn,
    SessionInterrupted,
    TurnAlreadyActive,
)
from everturn.session.commands import RaiseInterrupt, ResumeInterrupt
from everturn.session.decide.branches import end_parked
from everturn.session.decide.moving import go_on, move_on
from everturn.session.decide.pausing import pause
from everturn.session.decide.questions import queue
from everturn.session.events.decisions import DecisionCompleted
from everturn.session.events.interrupts import InterruptResumed, Origin
from everturn.session.journal import Journal
from everturn.session.state import Session

PRIVILEGE: Final[dict[Origin, int]] = {"frontend": 0, "machine": 1, "system": 2}
"""Source: I-10."""


def raise_interrupt(journal: Journal, command: RaiseInterrupt) -> None:
    """Pause the path on an outsider's word. Raises `NoActiveTurn`. Source: I-12."""
    if journal.session.turn is None:
        raise NoActiveTurn("The session has no open turn that could be interrupted.")
    pause(journal, command.interrupt_id, command.origin, command.reason, command.payload)


def resume_interrupt(journal: Journal, command: ResumeInterrupt) -> None:
    """Clear an interrupt, and ask what follows once none is left; an unknown one is a no-op.

    Off the path nothing follows; a turn that was parked for it is over then. Raises
    `InsufficientPrivilege`, `TurnAlreadyActive`. Source: I-8, I-9, I-10, T-7, T-13.
    """
    found = [one for one in journal.session.interrupts if one.id == command.interrupt_id]
    if not found:
        return
    interrupt = found[0]
    if PRIVILEGE[command.origin] < PRIVILEGE[interrupt.origin]:
        raise InsufficientPrivilege(
            f"The interrupt {interrupt.id} was raised by {interrupt.origin}; "
            "nobody below may resume it."
        )
    is_here = interrupt in journal.session.pauses
    parked = [turn for turn in journal.session.parked if turn.id == interrupt.turn_id]
    open_turn = journal.session.turn
    if is_here and parked and open_turn is not None:
        raise TurnAlreadyActive(
            f"The turn {open_turn.id} is open; what waits for {interrupt.id} comes after it.",
            turn_id=open_turn.id,
        )
    seq = journal.add(
        InterruptResumed(
            turn_id=journal.turn_id, interrupt_id=interrupt.id, payload=command.payload
        )
    )
    if not is_here:
        waits_on = any(one.turn_id == interrupt.turn_id for one in journal.session.interrupts)
        if parked and not waits_on:
            end_parked(journal, parked[0], "abandoned")
        return
    decision_id = queue(
        journal,
        "interrupt.resumed",
        turn_id=journal.turn_id,
        call_id=interrupt.subject_call or None,
        about_seq=seq,
    )
    if journal.session.decides == "worker":
        move_on(journal, None)
        return
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision_id))
    if not journal.session.is_paused:
        go_on(journal)


def interrupted(session: Session) -> SessionInterrupted:
    """Return what is said of an input that a paused path does not take. Source: I-6."""
    shown = [{"interrupt_id": one.id, "origin": one.origin} for one in session.interrupts]
    return SessionInterrupted("The session is interrupted; resume it first.", interrupts=shown)
