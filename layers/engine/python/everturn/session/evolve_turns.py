"""What the events of a session, its turns and steps do; it decides nothing and refuses nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from everturn.session.events.guards import (
    GuardNoted,
    LoopDetected,
    ModelFellBack,
    OutputRejected,
    ToolBudgetExceeded,
)
from everturn.session.events.runs import RunRequested, SessionDescribed
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
    TurnParked,
    TurnStalled,
    TurnStarted,
    TurnUnparked,
)
from everturn.session.guard_counts import Guard
from everturn.session.mailbox import Parent
from everturn.session.state import Session, Turn

SessionEvent = SessionCreated | SessionDone | SessionCancelled
TurnEvent = (
    TurnStarted
    | TurnAdmitted
    | TurnContinued
    | TurnCancelRequested
    | TurnParked
    | TurnUnparked
    | TurnStalled
    | TurnCompleted
)


def with_session_event(session: Session, event: SessionEvent | StepStarted | StepEnded) -> Session:
    """Return `session` as an event of it, or of a step, leaves it."""
    match event:
        case SessionCreated():
            return replace(
                session,
                session_id=event.session_id,
                agent_id=event.agent_id,
                owner_id=event.owner.id,
                decides=event.private.decides,
                parent=_parent(event),
                ancestry=event.ancestry,
            )
        case SessionCancelled():
            return replace(session, is_cancelled=True, interrupts=())
        case SessionDone():
            return session
        case StepStarted(step=step, call_id=call_id, attempt=attempt):
            turn = _turn(session, step=step, step_call=call_id, step_attempt=attempt)
        case StepEnded():
            turn = _turn(session, step_call="", step_attempt=0)
        case _:
            assert_never(event)
    return replace(session, turn=turn)


def _parent(event: SessionCreated) -> Parent | None:
    given = event.parent
    return Parent(given.session_id, given.tool_call_id) if given else None


def with_turn_event(session: Session, event: TurnEvent) -> Session:
    """Return `session` as an event of a turn leaves it."""
    turn = session.turn
    match event:
        case TurnStarted(turn_id=turn_id):
            turn = Turn(
                turn_id or "",
                session.turns + 1,
                session.seq,
                stream=event.stream,
                run_seq=event.private.run_seq,
            )
        case TurnAdmitted(turn=number):
            turn = _turn(session, number=number)
            session = replace(session, turns=number)
        case TurnStalled():
            turn = _turn(session, stalled=True)
        case TurnCompleted():
            return _completed(session, event)
        case TurnParked():
            parked = (*session.parked, turn) if turn else session.parked
            return replace(session, turn=None, parked=parked)
        case TurnUnparked(turn_id=turn_id):
            turn = next((one for one in session.parked if one.id == turn_id), None)
            session = replace(session, parked=_without(session.parked, turn_id))
        case TurnContinued() | TurnCancelRequested():
            pass
        case _:
            assert_never(event)
    return replace(session, turn=turn)


PolicyEvent = (
    SessionDescribed
    | RunRequested
    | GuardNoted
    | LoopDetected
    | ToolBudgetExceeded
    | OutputRejected
    | ModelFellBack
)


def with_policy_event(session: Session, event: PolicyEvent) -> Session:
    """Return `session` as what a policy noted of the open turn leaves it."""
    match event:
        case GuardNoted(private=noted):
            counts = tuple(sorted(noted.calls.items()))
            guard = Guard(noted.signature, noted.streak, noted.tool_turns, counts)
            is_final = noted.is_final or bool(session.turn and session.turn.is_final)
            turn = _turn(session, guard=guard, is_final=is_final)
        case OutputRejected(attempt=attempt):
            turn = _turn(session, rejected=attempt)
        case ModelFellBack():
            turn = _turn(session, fallbacks=session.turn.fallbacks + 1) if session.turn else None
        case SessionDescribed() | RunRequested() | LoopDetected() | ToolBudgetExceeded():
            return session
        case _:
            assert_never(event)
    return replace(session, turn=turn)


def _completed(session: Session, event: TurnCompleted) -> Session:
    """Return `session` without a turn, the open one or one that is parked, and its pauses."""
    kept = tuple(one for one in session.interrupts if one.turn_id != event.turn_id)
    if any(one.id == event.turn_id for one in session.parked):
        return replace(session, parked=_without(session.parked, event.turn_id), interrupts=kept)
    return replace(session, turn=None, last_outcome=event.outcome, interrupts=kept)


def _without(turns: tuple[Turn, ...], turn_id: str | None) -> tuple[Turn, ...]:
    return tuple(one for one in turns if one.id != turn_id)


def _turn(session: Session, **changes: object) -> Turn | None:
    return replace(session.turn, **changes) if session.turn else None  # type: ignore[arg-type]  # names of Turn's own fields
