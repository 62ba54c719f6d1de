"""What the events of sub-agents and of mail do to a session; nothing is decided here."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentInterrupted,
    SubAgentRequested,
    SubAgentStarted,
    SubAgentTurnCompleted,
)
from everturn.session.events.mail import (
    InboxDequeued,
    InboxDiscarded,
    InboxEnqueued,
    InboxUpdated,
    MessageRequested,
    OutboxDelivered,
)
from everturn.session.evolve_calls import scheduled, with_call, without_call
from everturn.session.mailbox import Outgoing, Waiting
from everturn.session.state import Call, CallStatus, Session

ChildEvent = (
    SubAgentRequested
    | SubAgentDispatched
    | SubAgentStarted
    | SubAgentTurnCompleted
    | SubAgentErrored
    | SubAgentInterrupted
)
MailEvent = (
    MessageRequested
    | OutboxDelivered
    | InboxEnqueued
    | InboxUpdated
    | InboxDequeued
    | InboxDiscarded
)


def with_child_event(session: Session, event: ChildEvent) -> Session:
    """Return `session` as an event of a sub-agent call leaves it."""
    match event:
        case SubAgentRequested():
            calls = (*session.calls, _call(session, event))
            return replace(session, calls=calls, children=session.children + 1)
        case SubAgentDispatched():
            return with_call(
                session,
                event.id,
                status=CallStatus.PENDING,
                attempt=event.attempt,
                deadline_ms=event.deadline_ms,
                next_attempt_at_ms=None,
            )
        case SubAgentStarted():
            return with_call(session, event.id, is_started=True, deadline_ms=event.deadline_ms)
        case SubAgentInterrupted():
            return with_call(session, event.id, interrupt_id=event.interrupt_id)
        case SubAgentErrored(retryable=True):
            return scheduled(session, event.id, event.next_attempt_at_ms)
        case SubAgentTurnCompleted() | SubAgentErrored():
            return _ended(session, event)
        case _:
            assert_never(event)


def _call(session: Session, event: SubAgentRequested) -> Call:
    return Call(
        id=event.id,
        kind="sub_agent",
        seq=session.seq,
        retry=event.retry,
        name=event.agent_id,
        depth=event.anchor.depth if event.anchor else 0,
        branch=event.anchor.branch if event.anchor else 0,
        turn_id=event.turn_id or "",
        session_id=event.session_id,
    )


def _ended(session: Session, event: SubAgentTurnCompleted | SubAgentErrored) -> Session:
    """Return `session` without the call, its turn charged with what the child used. B-8."""
    after = without_call(session, event.id)
    if isinstance(event, SubAgentErrored) and event.private.gives_up:
        cancel = Outgoing(session.seq, "cancel", event.session_id, event.id, event.agent_id)
        after = replace(after, outbox=(*after.outbox, cancel))

    if after.spent is not None:
        after = replace(after, spent=after.spent.plus(event.usage, event.cost))
    turn = after.turn
    if turn is None or turn.id != event.turn_id:
        return after
    charged = replace(
        turn,
        cost=_sum(turn.cost, event.cost),
        sub_agent_cost=_sum(turn.sub_agent_cost, event.cost),
        usage=turn.usage.plus(event.usage),
    )
    return replace(after, turn=charged)


def _sum(one: str, other: str) -> str:
    return format(Decimal(one) + Decimal(other), "f")


def with_mail_event(session: Session, event: MailEvent) -> Session:
    """Return `session` as a message on its way, or one that came, leaves it."""
    match event:
        case MessageRequested(target=target):
            if target == session.session_id:
                return session  # its inbox has it in the same commit
            out = Outgoing(session.seq, "message", target)
            return replace(session, outbox=(*session.outbox, out))
        case OutboxDelivered(entry=entry):
            left = tuple(one for one in session.outbox if one.seq != entry)
            return replace(session, outbox=left)
        case InboxEnqueued():
            waiting = Waiting(
                event.item_id,
                session.seq,
                event.turn_id or "",
                event.private.run_seq,
                event.private.is_users,
                wakes=event.wakeup,
            )
            return replace(session, inbox=(*session.inbox, waiting))
        case InboxUpdated(item_id=item_id):
            inbox = tuple(
                replace(one, seq=session.seq) if one.id == item_id else one for one in session.inbox
            )
            return replace(session, inbox=inbox)
        case InboxDequeued(item_id=item_id) | InboxDiscarded(item_id=item_id):
            kept = tuple(one for one in session.inbox if one.id != item_id)
            return replace(session, inbox=kept)
        case _:
            assert_never(event)


def reporting(session: Session) -> Session:
    """Return `session` with its newest event on the way to the parent that waits for it."""
    parent = session.parent
    if parent is None or session.has_reported:
        return session
    out = Outgoing(session.seq, "report", parent.session_id, parent.call_id)
    return replace(session, outbox=(*session.outbox, out))


def unreported(session: Session) -> Session:
    """Return `session` with nothing to say to a parent, which gave it up itself."""
    kept = tuple(one for one in session.outbox if one.kind != "report")
    return replace(session, outbox=kept, has_reported=session.parent is not None)


def given_up(session: Session, call: Call) -> Session:
    """Return `session` with the cancel of a child on its way that may be there. Source: B-10."""
    if call.kind != "sub_agent" or call.attempt == 0:
        return session
    out = Outgoing(session.seq, "cancel", call.session_id, call.id, call.name)
    return replace(session, outbox=(*session.outbox, out))
