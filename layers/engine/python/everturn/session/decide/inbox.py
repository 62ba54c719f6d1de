"""The inbox: messages wait there for turns of their own; none is opened here.

Source: decision-protocol B-14; session-log IB-3, IB-9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.protocol.ids import uuid5_in
from everturn.session.events.mail import InboxDiscarded, InboxEnqueued
from everturn.session.journal import Journal
from everturn.session.mail_commands import TakeMessage
from everturn.session.refs import Ref


def turn_of_message(session_id: str, message_id: str) -> str:
    """Return the turn that a message from another session opens: the same whenever it comes."""
    return uuid5_in(session_id, "message.send", message_id)


def take_message(journal: Journal, command: TakeMessage) -> None:
    """Have a message wait for its turn; one that is here already changes nothing. Source: B-14."""
    session = journal.session
    here = {one.turn_id for one in session.inbox} | {turn.id for turn in session.parked}
    if command.turn_id in here or (session.turn and session.turn.id == command.turn_id):
        return
    enqueue(journal, command.message, command.turn_id)


def enqueue(
    journal: Journal,
    message: Mapping[str, Any],
    turn_id: str,
    refs: dict[str, Ref] | None = None,
) -> None:
    """Add a message to the end of the inbox; `refs` tell where its body stands already."""
    journal.add(
        InboxEnqueued(
            turn_id=turn_id,
            item_id=journal.mint(),
            message=None if refs else dict(message),
            refs=refs or {},
        )
    )


def discard_all(journal: Journal, reason: str) -> None:
    """Empty the inbox. Source: session-log CA-1."""
    for waiting in journal.session.inbox:
        journal.add(InboxDiscarded(turn_id=waiting.turn_id, item_id=waiting.id, reason=reason))
