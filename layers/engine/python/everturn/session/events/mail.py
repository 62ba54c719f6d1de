"""Events of what goes from one session to another: asked for, taken in, handed over.

What is on its way out has no event of its own: each of these kinds puts it into the outbox:
`session.message_requested`, `call.voided` of a child, and in a child the end of its first turn,
`session.interrupted` and `session.cancelled`. Source: storage-and-commits, "Commits" 4.
"""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Json, Part, Stored


class MessageRequested(Stored):
    """A decision sends a message to a session. Source: decision-protocol B-14."""

    type: Literal["session.message_requested"] = "session.message_requested"
    target: str
    message_id: str
    message: Json = None


class OutboxDelivered(Stored):
    """What event `entry` put into the outbox has arrived, or nobody takes it."""

    type: Literal["outbox.delivered"] = "outbox.delivered"
    entry: int
    outcome: Literal["delivered", "refused"] = "delivered"
    code: str | None = None
    """Why nobody takes it."""


class EnqueuedPrivate(Part):
    """Where the settings stand that the turn is to have."""

    run_seq: int = 0
    """The `run.requested` that asked for it; 0 where none did."""

    is_users: bool = False
    """A user wrote it, and no other session."""


class InboxEnqueued(Stored):
    """A message waits for a turn of its own; `turn_id` is that turn's. Source: session-log IB-9."""

    type: Literal["inbox.enqueued"] = "inbox.enqueued"
    item_id: str
    message: Json = None
    placement: Literal["queued", "steering"] = "queued"
    wakeup: bool = True
    private: EnqueuedPrivate = EnqueuedPrivate()


class InboxUpdated(Stored):
    """The content of a waiting message was replaced; its place and its ids stay. Source: IB-5."""

    type: Literal["inbox.updated"] = "inbox.updated"
    item_id: str
    message: Json = None


class InboxDequeued(Stored):
    """A waiting message becomes the input of its turn, which opens."""

    type: Literal["inbox.dequeued"] = "inbox.dequeued"
    item_id: str


class InboxDiscarded(Stored):
    """A waiting message will never be an input."""

    type: Literal["inbox.discarded"] = "inbox.discarded"
    item_id: str
    reason: str
