"""The inbox: messages wait there for turns of their own; none is opened here.

Source: decision-protocol B-14; session-log IB-1 to IB-5, IB-9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.protocol.ids import uuid5_in
from everturn.protocol.limits import MAX_INBOX
from everturn.rejections import InboxFull, UnknownItem
from everturn.session.events.mail import (
    EnqueuedPrivate,
    InboxDiscarded,
    InboxEnqueued,
    InboxUpdated,
)
from everturn.session.inbox_commands import DropItem, EditItem, EnqueueItem
from everturn.session.journal import Journal
from everturn.session.mail_commands import TakeMessage
from everturn.session.mailbox import Waiting
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


def enqueue_item(journal: Journal, command: EnqueueItem) -> None:
    """Have a user's message wait for its turn; one that is here already changes nothing.

    Raises `InboxFull`. Source: IB-2, IB-3.
    """
    here = {one.turn_id for one in journal.session.inbox}
    turn = journal.session.turn
    if command.turn_id in here or (turn is not None and turn.id == command.turn_id):
        return
    check_room(journal)
    message = dict(command.message)
    if not message.get("id") or journal.is_known(message["id"]):
        message["id"] = journal.mint()
    journal.add(
        InboxEnqueued(
            turn_id=command.turn_id,
            item_id=journal.mint(),
            message=message,
            wakeup=command.wakes,
            private=EnqueuedPrivate(is_users=True),
        )
    )


def check_room(journal: Journal) -> None:
    """Refuse one more message of a user's than may wait. Raises `InboxFull`."""
    if sum(one.is_users for one in journal.session.inbox) >= MAX_INBOX:
        raise InboxFull(
            f"{MAX_INBOX} turns wait in this session; send it when some of them have ended."
        )


def edit_item(journal: Journal, command: EditItem) -> None:
    """Replace the content of a message that waits. Raises `UnknownItem`. Source: IB-5."""
    waiting = _waiting(journal, command.item_id)
    message = {**journal.facts.inbox[waiting.id], "content": command.content}
    journal.add(InboxUpdated(turn_id=waiting.turn_id, item_id=waiting.id, message=message))


def drop_item(journal: Journal, command: DropItem) -> None:
    """Take a message that waits out of the inbox. Raises `UnknownItem`. Source: IB-5."""
    waiting = _waiting(journal, command.item_id)
    discard(journal, waiting, "removed")


def _waiting(journal: Journal, item_id: str) -> Waiting:
    for one in journal.session.inbox:
        if one.id == item_id and one.is_users:
            return one
    raise UnknownItem("No message of that id waits in the inbox; its turn may have begun.")


def discard(journal: Journal, waiting: Waiting, reason: str) -> None:
    """Have a message never become an input."""
    journal.add(InboxDiscarded(turn_id=waiting.turn_id, item_id=waiting.id, reason=reason))


def discard_all(journal: Journal, reason: str) -> None:
    """Empty the inbox. Source: session-log CA-1."""
    for waiting in journal.session.inbox:
        discard(journal, waiting, reason)
