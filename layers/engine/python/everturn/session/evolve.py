"""What each event does to a session; it decides nothing and refuses nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from everturn.session.events.decisions import (
    DecisionCompleted,
    DecisionDeferred,
    DecisionDispatched,
    DecisionDropped,
    DecisionErrored,
    DecisionQueued,
)
from everturn.session.events.interrupts import InterruptResumed, SessionInterrupted
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
    SessionCancelled,
    SessionCreated,
    SessionDone,
    StepEnded,
    StepStarted,
    TurnAdmitted,
    TurnCancelRequested,
    TurnCompleted,
    TurnContinued,
    TurnStalled,
    TurnStarted,
)
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    CallVoided,
    SettleIgnored,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)
from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened
from everturn.session.evolve_calls import voided, with_model_event, with_tool_event
from everturn.session.evolve_decisions import with_decision_event
from everturn.session.evolve_waits import with_wait_event
from everturn.session.state import Head, Interrupt, Session, Spent, Turn, Window
from everturn.session.window import has_turn, with_message, with_turn


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
            | TurnContinued()
            | TurnCancelRequested()
            | TurnStalled()
            | TurnCompleted()
            | SessionDone()
            | SessionCancelled()
            | StepStarted()
            | StepEnded()
        ):
            after = _turns(after, event)
        case MessageNew() | AgentUpdated() | StateUpdated():
            after = _path(after, event)
        case (
            DecisionQueued()
            | DecisionDispatched()
            | DecisionDeferred()
            | DecisionCompleted()
            | DecisionErrored()
            | DecisionDropped()
        ):
            after = with_decision_event(after, event)
        case (
            RequestHeader()
            | RequestContext()
            | ModelCallRequested()
            | ModelCallDispatched()
            | ModelCallCompleted()
            | ModelCallErrored()
            | ModelCallAborted()
        ):
            after = with_model_event(after, event)
        case ToolCallRequested() | ToolCallDispatched() | ToolCallCompleted() | ToolCallErrored():
            after = with_tool_event(after, event)
        case SessionInterrupted() | InterruptResumed():
            after = _interrupts(after, event)
        case WaitOpened() | WaitExtended() | WaitClosed():
            after = with_wait_event(after, event)
        case CallVoided():
            after = voided(after, event)
        case SettleIgnored():
            pass
        case _:
            assert_never(event)
    return after


def _turns(
    session: Session,
    event: SessionCreated
    | TurnStarted
    | TurnAdmitted
    | TurnContinued
    | TurnCancelRequested
    | TurnStalled
    | TurnCompleted
    | SessionDone
    | SessionCancelled
    | StepStarted
    | StepEnded,
) -> Session:
    turn = session.turn
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
        case TurnAdmitted(turn=number):
            turn = _turn(session, number=number)
            session = replace(session, turns=number)
        case TurnStalled():
            turn = _turn(session, stalled=True)
        case TurnCompleted(outcome=outcome):
            turn = None
            open_ = tuple(one for one in session.interrupts if one.turn_id != event.turn_id)
            session = replace(session, last_outcome=outcome, interrupts=open_)
        case StepStarted(step=step, call_id=call_id, attempt=attempt):
            turn = _turn(session, step=step, step_call=call_id, step_attempt=attempt)
        case StepEnded():
            turn = _turn(session, step_call="", step_attempt=0)
        case SessionCancelled():
            return replace(session, is_cancelled=True, interrupts=())
        case SessionDone() | TurnContinued() | TurnCancelRequested():
            pass
        case _:
            assert_never(event)
    return replace(session, turn=turn)


def _turn(session: Session, **changes: object) -> Turn | None:
    return replace(session.turn, **changes) if session.turn else None  # type: ignore[arg-type]  # names of Turn's own fields


def _path(session: Session, event: MessageNew | AgentUpdated | StateUpdated) -> Session:
    match event:
        case MessageNew(private=private):
            head = Head(event.id, session.seq, private.branch, private.depth)
            window = _with_mark(session) if private.source.kind == "user" else session.window
            return replace(session, head=head, window=with_message(window, private.size_bytes))
        case AgentUpdated(private=private):
            counts = private.has_session_budget and session.spent is None
            spent = Spent() if counts else session.spent
            return replace(session, agent_seq=session.seq, agent_sha=private.sha256, spent=spent)
        case StateUpdated():
            return replace(session, state_seq=session.seq)
        case _:
            assert_never(event)


def _interrupts(session: Session, event: SessionInterrupted | InterruptResumed) -> Session:
    match event:
        case SessionInterrupted():
            raised = Interrupt(
                event.interrupt_id,
                session.seq,
                event.origin,
                event.turn_id or "",
                event.subject_call or "",
            )
            return replace(session, interrupts=(*session.interrupts, raised))
        case InterruptResumed():
            left = tuple(one for one in session.interrupts if one.id != event.interrupt_id)
            return replace(session, interrupts=left)
        case _:
            assert_never(event)


def _with_mark(session: Session) -> Window:
    """Return the window with a mark where the open turn's first message is about to stand."""
    turn, window = session.turn, session.window
    if turn is None or has_turn(window, turn.first_seq):
        return window
    return with_turn(window, session.seq)
