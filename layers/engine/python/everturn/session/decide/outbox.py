"""The outbox: what a decision sends to another session, and what became of it; it carries nothing.

Source: decision-protocol B-14; storage-and-commits, "Commits" 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.errors import RejectedError
from everturn.rejections import ForbiddenTarget, UnknownTarget
from everturn.session.commands import Reading
from everturn.session.decide.inbox import enqueue, turn_of_message
from everturn.session.events.children import SubAgentRequested
from everturn.session.events.mail import InboxEnqueued, MessageRequested, OutboxDelivered
from everturn.session.events.messages import MessageNew
from everturn.session.journal import Journal
from everturn.session.mail_commands import NoteSent
from everturn.session.refs import same_as

REFUSALS: Final[dict[str, RejectedError]] = {
    "unknown_target": UnknownTarget("message.send names a session that there is not."),
    "forbidden_target": ForbiddenTarget("message.send names a session of another owner."),
}
"""What a use case may find out about a target."""


def send(journal: Journal, action: Mapping[str, Any], reading: Reading | None) -> None:
    """Send a message; one to the session itself waits in its inbox in the same commit.

    A child of this session need not be there yet. Raises `UnknownTarget`, `ForbiddenTarget`.
    """
    target = action["session_id"]
    is_child = any(one.session_id == target for one in journal.session.calls)
    is_asked_for = any(
        isinstance(event, SubAgentRequested) and event.session_id == target
        for event in journal.events
    )
    if is_asked_for and not is_child:
        return  # its start was refused at once
    if isinstance(reading, str) and not is_child:
        raise REFUSALS[reading]
    message = {**action["message"], "id": action["message"].get("id") or journal.mint()}
    seq = journal.add(
        MessageRequested(
            turn_id=journal.turn_id, target=target, message_id=message["id"], message=message
        )
    )
    if target == journal.session.session_id:
        turn_id = turn_of_message(target, message["id"])
        if not _is_here(journal, message["id"], turn_id):
            enqueue(journal, message, turn_id, {"message": same_as(seq, "message")})


def _is_here(journal: Journal, message_id: str, turn_id: str) -> bool:
    """Return whether the session has, or has had, a message of that id: it drops the second one."""
    return any(
        (isinstance(event, InboxEnqueued) and event.turn_id == turn_id)
        or (isinstance(event, MessageNew) and event.id == message_id)
        for _, event in journal.all_events()
    )


def note_sent(journal: Journal, command: NoteSent) -> None:
    """Take what has arrived, or what nobody takes, out of the outbox; once more changes nothing."""
    if any(one.seq == command.entry for one in journal.session.outbox):
        journal.add(
            OutboxDelivered(entry=command.entry, outcome=command.outcome, code=command.code)
        )
