"""What each event does to a session; it decides nothing and refuses nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from everturn.session.events.decisions import (
    DecisionCompleted,
    DecisionDispatched,
    DecisionDropped,
    DecisionErrored,
    DecisionQueued,
)
from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.model_calls import (
    ModelCallAborted,
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
    RequestContext,
    RequestHeader,
)
from everturn.session.events.sessions import (
    SessionCreated,
    SessionDone,
    StepEnded,
    StepStarted,
    TurnAdmitted,
    TurnCompleted,
    TurnStalled,
    TurnStarted,
)
from everturn.session.events.shape import Usage
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    CallVoided,
    SettleIgnored,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)
from everturn.session.state import Call, CallStatus, Decision, Head, Session, Turn
from everturn.session.window import begin_at, with_message, with_turn


def fold(events: Iterable[Event], session: Session | None = None) -> Session:
    """Return `session` (the empty one by default) as `events` leave it."""
    after = session or Session()
    for event in events:
        after = evolve(after, event)
    return after


def evolve(session: Session, event: Event) -> Session:
    """Return `session` as `event` leaves it; total, pure, one event further on."""
    after = replace(session, seq=session.seq + 1)
    match event:
        case (
            SessionCreated()
            | TurnStarted()
            | TurnAdmitted()
            | TurnStalled()
            | TurnCompleted()
            | SessionDone()
            | StepStarted()
            | StepEnded()
        ):
            return _turns(after, event)
        case MessageNew() | AgentUpdated() | StateUpdated():
            return _path(after, event)
        case (
            DecisionQueued()
            | DecisionDispatched()
            | DecisionCompleted()
            | DecisionErrored()
            | DecisionDropped()
        ):
            return _decisions(after, event)
        case (
            RequestHeader()
            | RequestContext()
            | ModelCallRequested()
            | ModelCallDispatched()
            | ModelCallCompleted()
            | ModelCallErrored()
            | ModelCallAborted()
        ):
            return _model_calls(after, event)
        case ToolCallRequested() | ToolCallDispatched() | ToolCallCompleted() | ToolCallErrored():
            return _tool_calls(after, event)
        case CallVoided(id=call_id):
            return _without_call(after, call_id)
        case SettleIgnored():
            return after
        case _:
            assert_never(event)


def _turns(
    session: Session,
    event: SessionCreated
    | TurnStarted
    | TurnAdmitted
    | TurnStalled
    | TurnCompleted
    | SessionDone
    | StepStarted
    | StepEnded,
) -> Session:
    match event:
        case SessionCreated():
            return replace(
                session,
                session_id=event.session_id,
                agent_id=event.agent_id,
                owner_id=event.owner.id,
                decides=event.private.decides,
            )
        case TurnStarted(turn_id=turn_id):
            turn = Turn(turn_id or "", session.turns + 1, session.seq, stream=event.stream)
            return replace(session, turn=turn, window=with_turn(session.window, session.seq))
        case TurnAdmitted(turn=number):
            return replace(session, turns=number, turn=_turn(session, number=number))
        case TurnStalled():
            return replace(session, turn=_turn(session, stalled=True))
        case TurnCompleted():
            return replace(session, turn=None, last_outcome=event.outcome)
        case StepStarted(step=step, call_id=call_id, attempt=attempt):
            turn_now = _turn(session, step=step, step_call=call_id, step_attempt=attempt)
            return replace(session, turn=turn_now)
        case StepEnded():
            return replace(session, turn=_turn(session, step_call="", step_attempt=0))
        case SessionDone():
            return session
        case _:
            assert_never(event)


def _turn(session: Session, **changes: object) -> Turn | None:
    return replace(session.turn, **changes) if session.turn else None  # type: ignore[arg-type]  # names of Turn's own fields


def _path(session: Session, event: MessageNew | AgentUpdated | StateUpdated) -> Session:
    match event:
        case MessageNew(private=private):
            head = Head(event.id, session.seq, private.branch, private.depth)
            return replace(
                session, head=head, window=with_message(session.window, private.size_bytes)
            )
        case AgentUpdated(private=private):
            return replace(session, agent_seq=session.seq, agent_sha=private.sha256)
        case StateUpdated():
            return replace(session, state_seq=session.seq)
        case _:
            assert_never(event)


def _decisions(
    session: Session,
    event: DecisionQueued
    | DecisionDispatched
    | DecisionCompleted
    | DecisionErrored
    | DecisionDropped,
) -> Session:
    match event:
        case DecisionQueued():
            decision = Decision(event.id, event.trigger_type, session.seq, event.call_id or "")
            return replace(session, decisions=(*session.decisions, decision))
        case DecisionDispatched():
            return _with_decision(session, event)
        case DecisionErrored(retryable=True):
            invalid = event.private.invalid
            decisions = tuple(
                replace(
                    one,
                    status="retry_scheduled",
                    strikes=one.strikes + 1 if invalid else 0,
                    deadline_ms=None,
                    next_attempt_at_ms=event.next_attempt_at_ms,
                )
                if one.id == event.id
                else one
                for one in session.decisions
            )
            return replace(session, decisions=decisions)
        case DecisionErrored() | DecisionCompleted() | DecisionDropped():
            kept = tuple(one for one in session.decisions if one.id != event.id)
            return replace(session, decisions=kept)
        case _:
            assert_never(event)


def _with_decision(session: Session, event: DecisionDispatched) -> Session:
    decisions = tuple(
        replace(
            one,
            status="live",
            attempt=event.attempt,
            dispatched_seq=one.dispatched_seq or session.seq,
            first_ms=one.first_ms or event.private.started_ms,
            deadline_ms=event.deadline_ms,
            next_attempt_at_ms=None,
        )
        if one.id == event.id
        else one
        for one in session.decisions
    )
    return replace(session, decisions=decisions)


def _model_calls(
    session: Session,
    event: RequestHeader
    | RequestContext
    | ModelCallRequested
    | ModelCallDispatched
    | ModelCallCompleted
    | ModelCallErrored
    | ModelCallAborted,
) -> Session:
    match event:
        case RequestHeader(sha256=sha256):
            return replace(session, header_seq=session.seq, header_sha=sha256)
        case RequestContext():
            return replace(session, route=route_of(event))
        case ModelCallRequested():
            return _requested(session, event)
        case ModelCallDispatched():
            return _dispatched(session, event.id, event.attempt, event.deadline_ms)
        case ModelCallCompleted():
            done = _without_call(session, event.id)
            truncated = event.finish_reason == "length"
            return _spent(done, event.usage, event.cost, truncated=truncated)
        case ModelCallErrored(retryable=True):
            again = _scheduled(session, event.id, event.next_attempt_at_ms)
            return _spent(again, event.usage, None)
        case ModelCallErrored():
            return _spent(_without_call(session, event.id), event.usage, None)
        case ModelCallAborted():
            return _spent(session, event.usage, None)
        case _:
            assert_never(event)


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
    turn = session.turn
    return replace(
        session,
        calls=(*session.calls, call),
        turn=replace(turn, model_calls=turn.model_calls + 1) if turn else None,
        window=begin_at(session.window, event.private.boundary.from_seq),
    )


def _tool_calls(
    session: Session,
    event: ToolCallRequested | ToolCallDispatched | ToolCallCompleted | ToolCallErrored,
) -> Session:
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
                turn_id=event.turn_id or "",
            )
            return replace(session, calls=(*session.calls, call))
        case ToolCallDispatched():
            return _dispatched(session, event.id, event.attempt, event.deadline_ms)
        case ToolCallErrored(retryable=True):
            return _scheduled(session, event.id, event.next_attempt_at_ms)
        case ToolCallCompleted() | ToolCallErrored():
            return _without_call(session, event.id)
        case _:
            assert_never(event)


def _dispatched(session: Session, call_id: str, attempt: int, deadline_ms: int | None) -> Session:
    calls = tuple(
        replace(
            call,
            status=CallStatus.PENDING,
            attempt=attempt,
            deadline_ms=deadline_ms,
            next_attempt_at_ms=None,
        )
        if call.id == call_id
        else call
        for call in session.calls
    )
    return replace(session, calls=calls)


def _scheduled(session: Session, call_id: str, next_attempt_at_ms: int | None) -> Session:
    calls = tuple(
        replace(
            call,
            status=CallStatus.RETRY_SCHEDULED,
            deadline_ms=None,
            next_attempt_at_ms=next_attempt_at_ms,
        )
        if call.id == call_id
        else call
        for call in session.calls
    )
    return replace(session, calls=calls)


def _without_call(session: Session, call_id: str) -> Session:
    return replace(session, calls=tuple(call for call in session.calls if call.id != call_id))


def _spent(
    session: Session, usage: Usage | None, cost: str | None, *, truncated: bool = False
) -> Session:
    turn = session.turn
    if turn is None:
        return session
    spent = replace(
        turn,
        usage=turn.usage.plus(usage or Usage()),
        cost=str(Decimal(turn.cost) + Decimal(cost or "0")),
        truncated=turn.truncated or truncated,
    )
    return replace(session, turn=spent)
