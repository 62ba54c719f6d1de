"""What the operations on messages that wait for their turns take and give."""

from __future__ import annotations

from typing import Final

from everturn.protocol.inbox import InboxEdit, InboxRequest
from everturn.protocol.runs.views import InboxAccepted
from everturn.protocol.views import Ok
from everturn.rejections import (
    InboxFull,
    InvalidId,
    InvalidMessage,
    NotYetSupported,
    RoleNotAllowed,
    SessionCancelled,
    SessionQuarantined,
    UnknownItem,
    UnknownSession,
)
from everturn_local.openapi import run_examples
from everturn_local.openapi.shape import BODY, Answer, Spoken

INBOX_OPERATIONS: Final[dict[str, Spoken]] = {
    "enqueue_item": Spoken(
        "Have a message wait for its turn",
        "It opens a turn of its own once those before it are over; at once where there are none. "
        "The same `turn_id` again changes nothing.",
        (Answer(202, "The message is recorded.", InboxAccepted, run_examples.ENQUEUED),),
        body=InboxRequest,
        bodies=(("one message", run_examples.ITEM),),
        refusals=(
            *BODY,
            InvalidId,
            InvalidMessage,
            NotYetSupported,
            RoleNotAllowed,
            UnknownSession,
            InboxFull,
            SessionCancelled,
            SessionQuarantined,
        ),
    ),
    "edit_item": Spoken(
        "Replace what a message that waits says",
        "Its place and its ids stay.",
        (Answer(200, "It says something else now.", Ok, {"ok": True}),),
        body=InboxEdit,
        bodies=(("another text", {"content": "and before that?"}),),
        refusals=(
            *BODY,
            InvalidId,
            UnknownSession,
            UnknownItem,
            SessionCancelled,
            SessionQuarantined,
        ),
    ),
    "drop_item": Spoken(
        "Remove a message that waits",
        "Its turn never opens.",
        (Answer(200, "It is gone.", Ok, {"ok": True}),),
        refusals=(UnknownSession, UnknownItem, SessionCancelled, SessionQuarantined),
    ),
}
