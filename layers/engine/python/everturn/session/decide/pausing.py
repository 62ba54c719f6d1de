"""Opens an interrupt, whoever asks for it: what it pauses and what is given up.

It must not know how a path goes on. Source: decision-protocol I-1 to I-5.
"""

from __future__ import annotations

from typing import Any

from everturn.session.decide.questions import drop_all_about
from everturn.session.decide.turn_end import void_call
from everturn.session.events.interrupts import Origin
from everturn.session.events.interrupts import SessionInterrupted as Interrupted
from everturn.session.journal import Journal
from everturn.session.refs import Ref


def pause(
    journal: Journal,
    interrupt_id: str,
    origin: Origin,
    reason: str,
    payload: Any,
    subject_call: str = "",
    refs: dict[str, Ref] | None = None,
) -> None:
    """Open an interrupt at the head, and give up the model calls under way.

    An id that the session has had changes nothing. `refs` tell where parts of the payload stand
    already. Source: I-1, I-4, I-5.
    """
    if _was_raised(journal, interrupt_id):
        return
    journal.add(
        Interrupted(
            turn_id=journal.turn_id,
            interrupt_id=interrupt_id,
            origin=origin,
            reason=reason,
            payload=payload,
            anchor=journal.anchor,
            subject_call=subject_call or None,
            refs=refs or {},
        )
    )
    for call in journal.session.calls:
        if call.kind == "llm_call":
            drop_all_about(journal, call.id, "interrupted")
            void_call(journal, call, "interrupted")


def _was_raised(journal: Journal, interrupt_id: str) -> bool:
    return any(one.id == interrupt_id for one in journal.session.interrupts) or any(
        isinstance(event, Interrupted) and event.interrupt_id == interrupt_id
        for _, event in journal.all_events()
    )
