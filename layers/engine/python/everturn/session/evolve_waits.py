"""What the events of waits do to a session; it decides nothing and refuses nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened
from everturn.session.state import Session, Wait


def with_wait_event(session: Session, event: WaitOpened | WaitExtended | WaitClosed) -> Session:
    """Return `session` as an event of a wait leaves it."""
    match event:
        case WaitOpened():
            return _opened(session, event)
        case WaitExtended():
            waits = tuple(
                replace(
                    one, interval_s=event.poll_interval_seconds, next_poll_ms=event.next_poll_at_ms
                )
                if one.id == event.id
                else one
                for one in session.waits
            )
            return replace(session, waits=waits)
        case WaitClosed():
            kept = tuple(one for one in session.waits if one.id != event.id)
            return replace(session, waits=kept)
        case _:
            assert_never(event)


def _opened(session: Session, event: WaitOpened) -> Session:
    """Add the wait; the time of the call's attempt stands still from here on."""
    wait = Wait(
        id=event.id,
        kind=event.kind,
        call_id=event.call_id,
        seq=session.seq,
        deadline_ms=event.deadline_ms,
        interval_s=event.poll_interval_seconds or 0,
        next_poll_ms=event.next_poll_at_ms,
    )
    calls = tuple(
        replace(call, deadline_ms=None, questions=call.questions + (event.kind == "question"))
        if call.id == event.call_id
        else call
        for call in session.calls
    )
    return replace(session, calls=calls, waits=(*session.waits, wait))
