"""What the events of calls do to a session; it decides nothing and refuses nothing."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, assert_never

from everturn.session.events.model_calls import (
    ModelCallAborted,
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
    RequestContext,
    RequestHeader,
)
from everturn.session.events.shape import Usage
from everturn.session.events.tool_calls import (
    CallVoided,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)
from everturn.session.state import Aborting, Call, CallStatus, Session
from everturn.session.window import begin_at


def with_model_event(
    session: Session,
    event: RequestHeader
    | RequestContext
    | ModelCallRequested
    | ModelCallDispatched
    | ModelCallCompleted
    | ModelCallErrored
    | ModelCallAborted,
) -> Session:
    """Return `session` as an event of a model call, or of its header, leaves it."""
    match event:
        case RequestHeader(sha256=sha256):
            after = replace(session, header_seq=session.seq, header_sha=sha256)
        case RequestContext():
            after = replace(session, route=route_of(event))
        case ModelCallRequested():
            after = _requested(session, event)
        case ModelCallDispatched():
            after = _dispatched(session, event.id, event.attempt, event.deadline_ms)
        case ModelCallCompleted():
            done = without_call(session, event.id)
            is_cut_off = event.finish_reason == "length"
            after = _spent(_with_cut_off(done, is_cut_off=is_cut_off), event.usage, event.cost)
        case ModelCallErrored(retryable=True):
            again = scheduled(session, event.id, event.next_attempt_at_ms)
            after = _spent(again, event.usage, event.cost)
        case ModelCallErrored():
            after = _spent(without_call(session, event.id), event.usage, event.cost)
        case ModelCallAborted():
            after = _aborted(session, event)
        case _:
            assert_never(event)
    return after


def route_of(event: RequestContext) -> str:
    """Return the route and its capacity as one word to compare."""
    return f"{event.provider}/{event.model}/{event.context_window or ''}"


def _requested(session: Session, event: ModelCallRequested) -> Session:
    call = Call(
        id=event.id,
        kind="llm_call",
        seq=session.seq,
        retry=event.retry,
        handler=event.handler,
        depth=event.anchor.depth if event.anchor else 0,
        branch=event.anchor.branch if event.anchor else 0,
        stream=event.stream,
        turn_id=event.turn_id or "",
    )
    turn, boundary = session.turn, event.private.boundary
    return replace(
        session,
        calls=(*session.calls, call),
        turn=replace(turn, model_calls=turn.model_calls + 1) if turn else None,
        window=begin_at(session.window, boundary.from_seq) if boundary else session.window,
    )


def with_tool_event(
    session: Session,
    event: ToolCallRequested | ToolCallDispatched | ToolCallCompleted | ToolCallErrored,
) -> Session:
    """Return `session` as an event of a tool call leaves it."""
    match event:
        case ToolCallRequested():
            call = Call(
                id=event.id,
                kind="tool_call",
                seq=session.seq,
                retry=event.retry,
                name=event.name,
                handler=event.handler,
                depth=event.anchor.depth if event.anchor else 0,
                branch=event.anchor.branch if event.anchor else 0,
                effect=event.private.effect,
                overlap=event.private.overlap,
                is_serial=event.private.is_serial,
                turn_id=event.turn_id or "",
            )
            return replace(session, calls=(*session.calls, call))
        case ToolCallDispatched():
            return _dispatched(session, event.id, event.attempt, event.deadline_ms)
        case ToolCallErrored(retryable=True):
            return scheduled(session, event.id, event.next_attempt_at_ms)
        case ToolCallCompleted() | ToolCallErrored():
            return without_call(session, event.id)
        case _:
            assert_never(event)


def with_call(session: Session, call_id: str, **changes: Any) -> Session:
    """Return `session` with an open call changed."""
    calls = tuple(
        replace(call, **changes) if call.id == call_id else call for call in session.calls
    )
    return replace(session, calls=calls)


def _dispatched(session: Session, call_id: str, attempt: int, deadline_ms: int | None) -> Session:
    return with_call(
        session,
        call_id,
        status=CallStatus.PENDING,
        attempt=attempt,
        deadline_ms=deadline_ms,
        next_attempt_at_ms=None,
    )


def scheduled(session: Session, call_id: str, next_attempt_at_ms: int | None) -> Session:
    """Return `session` with a call that waits for its next attempt."""
    return with_call(
        session,
        call_id,
        status=CallStatus.RETRY_SCHEDULED,
        deadline_ms=None,
        next_attempt_at_ms=next_attempt_at_ms,
    )


def voided(session: Session, event: CallVoided) -> Session:
    """Return `session` without a call that was given up; one under way is still to be heard of."""
    call, after = session.call(event.id), without_call(session, event.id)
    if call is None or not event.private.aborts:
        return after
    aborting = Aborting(call.id, call.attempt, call.seq, call.turn_id)
    return replace(after, aborting=(*session.aborting, aborting))


def _aborted(session: Session, event: ModelCallAborted) -> Session:
    left = tuple(one for one in session.aborting if one.id != event.id)
    turn = session.turn
    in_turn = turn is not None and turn.id == event.turn_id
    return replace(_spent(session, event.usage, None) if in_turn else session, aborting=left)


def without_call(session: Session, call_id: str) -> Session:
    """Return `session` without the call of that id, and without what that waited for."""
    waits = tuple(one for one in session.waits if one.call_id != call_id)
    calls = tuple(call for call in session.calls if call.id != call_id)
    return replace(session, calls=calls, waits=waits)


def _with_cut_off(session: Session, *, is_cut_off: bool) -> Session:
    """Return `session` knowing whether the newest reply of its turn was cut off."""
    turn = session.turn
    return replace(session, turn=replace(turn, truncated=is_cut_off)) if turn else session


def _spent(session: Session, usage: Usage | None, cost: str | None) -> Session:
    if session.spent is not None:
        session = replace(session, spent=session.spent.plus(usage, cost))
    turn = session.turn
    if turn is None:
        return session
    spent = replace(
        turn,
        usage=turn.usage.plus(usage or Usage()),
        cost=format(Decimal(turn.cost) + Decimal(cost or "0"), "f"),
    )
    return replace(session, turn=spent)
