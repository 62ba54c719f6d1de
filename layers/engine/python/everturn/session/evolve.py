"""What each event does to a session; it decides nothing and refuses nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentInterrupted,
    SubAgentRequested,
    SubAgentStarted,
    SubAgentTurnCompleted,
)
from everturn.session.events.decisions import (
    DecisionCompleted,
    DecisionDeferred,
    DecisionDispatched,
    DecisionDropped,
    DecisionErrored,
    DecisionQueued,
)
from everturn.session.events.guards import (
    GuardNoted,
    LoopDetected,
    ModelFellBack,
    OutputRejected,
    ToolBudgetExceeded,
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
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    CallVoided,
    SettleIgnored,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)
from everturn.session.events.tree import HeadMoved
from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened
from everturn.session.evolve_calls import voided, with_model_event, with_tool_event
from everturn.session.evolve_children import (
    ChildEvent,
    MailEvent,
    given_up,
    reporting,
    unreported,
    with_child_event,
    with_mail_event,
)
from everturn.session.evolve_decisions import with_decision_event
from everturn.session.evolve_path import with_path_event
from everturn.session.evolve_turns import (
    PolicyEvent,
    with_policy_event,
    with_session_event,
    with_turn_event,
)
from everturn.session.evolve_waits import with_wait_event
from everturn.session.state import Session


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
        case SessionCreated() | SessionDone() | SessionCancelled() | StepStarted() | StepEnded():
            after = with_session_event(after, event)
        case (
            TurnStarted()
            | TurnAdmitted()
            | TurnContinued()
            | TurnCancelRequested()
            | TurnParked()
            | TurnUnparked()
            | TurnStalled()
            | TurnCompleted()
        ):
            after = with_turn_event(after, event)
        case (
            MessageNew()
            | HeadMoved()
            | AgentUpdated()
            | StateUpdated()
            | SessionInterrupted()
            | InterruptResumed()
        ):
            after = with_path_event(after, event)
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
        case WaitOpened() | WaitExtended() | WaitClosed():
            after = with_wait_event(after, event)
        case _:
            after = _with_crossing(after, event)
    return _with_report(after, event)


def _with_report(session: Session, event: Event) -> Session:
    """Return `session` with what its newest event means to a parent. Source: B-7, B-9, B-10."""
    match event:
        case SessionCancelled(cause="parent"):
            return unreported(session)
        case TurnCompleted() | SessionCancelled():
            return replace(reporting(session), has_reported=session.parent is not None)
        case SessionInterrupted():
            return reporting(session)
        case _:
            return session


def _with_crossing(
    session: Session, event: ChildEvent | MailEvent | CallVoided | SettleIgnored | PolicyEvent
) -> Session:
    """Return `session` as what concerns a child leaves it, or a message, or a call's early end."""
    match event:
        case (
            SubAgentRequested()
            | SubAgentDispatched()
            | SubAgentStarted()
            | SubAgentTurnCompleted()
            | SubAgentErrored()
            | SubAgentInterrupted()
        ):
            return with_child_event(session, event)
        case CallVoided():
            call = session.call(event.id)
            after = voided(session, event)
            return given_up(after, call) if call else after
        case SettleIgnored():
            return session
        case (
            SessionDescribed()
            | RunRequested()
            | GuardNoted()
            | LoopDetected()
            | ToolBudgetExceeded()
            | OutputRejected()
            | ModelFellBack()
        ):
            return with_policy_event(session, event)
        case _:
            return with_mail_event(session, event)
