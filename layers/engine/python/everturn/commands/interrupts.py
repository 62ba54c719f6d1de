"""Pauses a session and lets it go on, for whoever may."""

from __future__ import annotations

from typing import Any

from everturn.commands.change import ChangeSession
from everturn.ports.callers import Caller, Who
from everturn.protocol.decision import check_interrupt
from everturn.protocol.outside import INTERRUPT_REQUEST, RESUME_REQUEST
from everturn.protocol.wire import parse
from everturn.session.commands import Command, RaiseInterrupt, ResumeInterrupt
from everturn.session.events.interrupts import Origin
from everturn.session.facts import Facts, Stamp
from everturn.session.state import Session


class Interrupts:
    """The use cases behind `/interrupt` and `/resume`, and the client's `interrupt.resume`."""

    def __init__(self, change: ChangeSession) -> None:
        self._change = change

    def interrupt(self, caller: Caller, session_id: str, body: Any) -> str:
        """Pause the path; return the interrupt's id.

        Raises `SchemaViolation`, `UnknownSession`, `NoActiveTurn`. Source: I-5, I-11, I-12.
        """
        given = parse(INTERRUPT_REQUEST, body)
        check_interrupt(given.reason, given.payload)
        interrupt_id = given.interrupt_id or self._change.stamp().uuid(1)

        def pause(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            return RaiseInterrupt(
                stamp, facts, interrupt_id, origin_of(caller), given.reason, given.payload
            )

        self._change(caller, session_id, pause)
        return interrupt_id

    def resume_by(self, caller: Caller, session_id: str, body: Any) -> bool:
        """Clear the interrupt that `body` names; as `resume`."""
        given = parse(RESUME_REQUEST, body)
        return self.resume(caller, session_id, given.interrupt_id, given.payload)

    def resume(self, caller: Caller, session_id: str, interrupt_id: str, payload: Any) -> bool:
        """Clear an interrupt; return whether it was open.

        Raises `SchemaViolation`, `UnknownSession`, `InsufficientPrivilege`. Source: I-8, I-10.
        """
        check_interrupt("", payload)

        def clear(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            return ResumeInterrupt(stamp, facts, interrupt_id, origin_of(caller), payload)

        return bool(self._change(caller, session_id, clear).events)


def origin_of(caller: Caller) -> Origin:
    """Return the privilege of a caller as interrupts know it. Source: I-10, I-11."""
    return "frontend" if caller.privilege is Who.FRONTEND else "machine"
