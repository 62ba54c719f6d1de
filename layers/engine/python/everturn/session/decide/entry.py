"""The one door into the core: a session and a command in, events out.

It must not do I/O, nor take time or randomness from anywhere but the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from everturn.session.commands import (
    AnswerDecision,
    AnswerDelivery,
    CancelSession,
    CancelTurn,
    Command,
    DeferDecision,
    DeliverDirectly,
    FailDelivery,
    FailTurn,
    NoteAborted,
    Proceed,
    RaiseInterrupt,
    ResolveWait,
    ResumeInterrupt,
    SetBudgets,
    SettleCall,
    SettleModelCall,
    SubmitInput,
    TakeOver,
)
from everturn.session.decide.answers import answer_decision, defer_decision, settle_call
from everturn.session.decide.between import hear_other
from everturn.session.decide.branches import unpark
from everturn.session.decide.cancel import (
    cancel_session,
    cancel_turn,
    check_not_cancelled,
    note_aborted,
)
from everturn.session.decide.deliveries import deliver_directly
from everturn.session.decide.delivery_answers import answer_delivery
from everturn.session.decide.delivery_failures import fail_delivery
from everturn.session.decide.inbox import drop_item, edit_item, enqueue_item
from everturn.session.decide.interrupts import raise_interrupt, resume_interrupt
from everturn.session.decide.model_answer import settle_model_call
from everturn.session.decide.moving import move_on
from everturn.session.decide.proceed import proceed, take_over
from everturn.session.decide.runs import begin_session
from everturn.session.decide.set_budgets import set_budgets
from everturn.session.decide.submit import submit
from everturn.session.decide.turn_end import complete_turn, fail_turn
from everturn.session.decide.waits import resolve_wait
from everturn.session.events.sessions import TurnStalled
from everturn.session.events.stored import Event
from everturn.session.facts import PathMessage, Pinned, Route
from everturn.session.inbox_commands import (
    BeginSession,
    DropItem,
    EditItem,
    EnqueueItem,
    InboxCommand,
)
from everturn.session.journal import Journal
from everturn.session.mail_commands import (
    BetweenSessions,
    HearChild,
    NoteSent,
    NoteStart,
    StartChild,
    TakeMessage,
)
from everturn.session.state import Session, is_quiescent


@dataclass(frozen=True, slots=True)
class Decided:
    """What a command leads to."""

    events: tuple[Event, ...]
    """None where it changes nothing."""

    session: Session
    """As the events leave it."""

    path: tuple[PathMessage, ...]
    """The path that was handed in, and what was written to it."""

    agent: Pinned
    """The config that holds afterwards, and where its models are."""

    route: Route
    routes: Mapping[str, Route]
    counts: bool = False
    """What model calls use counts for a budget of the owner or the tenant."""


def decide(session: Session, command: Command) -> Decided:
    """Return what `command` leads to.

    Raises a `RejectedError` where the caller may not do what it asks.
    """
    journal = Journal(session, command.stamp, command.facts)
    match command:
        case SubmitInput():
            submit(journal, command)
        case Proceed():
            proceed(journal, command)
        case TakeOver():
            take_over(journal, command)
        case FailTurn():
            fail_turn(journal, command.error, command.code)
        case _:
            _hear(journal, command)
    unpark(journal)
    turn = journal.session.turn
    if journal.events and turn is not None and not turn.stalled and is_quiescent(journal.session):
        if turn.run_seq:  # whoever started it waits for its end, and nobody goes on with it
            complete_turn(journal, "quiescent")
        else:
            journal.add(TurnStalled(turn_id=turn.id))
    facts = journal.facts
    return Decided(
        tuple(journal.events),
        journal.session,
        tuple(journal.path),
        facts.agent,
        facts.route,
        facts.routes,
        any(not one.of for one in facts.budgets),
    )


def _hear(
    journal: Journal,
    command: SettleModelCall
    | AnswerDecision
    | DeferDecision
    | SettleCall
    | RaiseInterrupt
    | ResumeInterrupt
    | CancelTurn
    | CancelSession
    | NoteAborted
    | SetBudgets
    | ResolveWait
    | AnswerDelivery
    | FailDelivery
    | DeliverDirectly
    | BetweenSessions
    | InboxCommand,
) -> None:
    """Take in what somebody says about a call, a question or the session."""
    match command:
        case AnswerDecision() | DeferDecision():
            _hear_worker(journal, command)
        case SettleModelCall():
            settle_model_call(journal, command)
            move_on(journal, command.deliveries)
        case SettleCall() | RaiseInterrupt() | ResumeInterrupt() | ResolveWait():
            check_not_cancelled(journal.session)
            _hear_outsider(journal, command)
        case CancelTurn() | CancelSession() | NoteAborted():
            _cancel(journal, command)
        case SetBudgets():
            set_budgets(journal, command)
        case BeginSession() | EnqueueItem() | EditItem() | DropItem():
            _hear_about_inbox(journal, command)
        case StartChild() | TakeMessage() | HearChild() | NoteStart() | NoteSent():
            hear_other(journal, command)
        case _:
            _hear_delivery(journal, command)


def _hear_about_inbox(journal: Journal, command: InboxCommand) -> None:
    check_not_cancelled(journal.session)
    match command:
        case BeginSession():
            begin_session(journal, command)
        case EnqueueItem():
            enqueue_item(journal, command)
        case EditItem():
            edit_item(journal, command)
        case DropItem():
            drop_item(journal, command)
        case _:
            assert_never(command)


def _hear_outsider(
    journal: Journal, command: SettleCall | RaiseInterrupt | ResumeInterrupt | ResolveWait
) -> None:
    match command:
        case SettleCall():
            settle_call(journal, command)
        case RaiseInterrupt():
            raise_interrupt(journal, command)
        case ResumeInterrupt():
            resume_interrupt(journal, command)
        case ResolveWait():
            resolve_wait(journal, command)
            move_on(journal, None)
        case _:
            assert_never(command)


def _cancel(journal: Journal, command: CancelTurn | CancelSession | NoteAborted) -> None:
    match command:
        case CancelTurn():
            cancel_turn(journal, command)
        case CancelSession():
            cancel_session(journal, command)
        case NoteAborted():
            note_aborted(journal, command)
        case _:
            assert_never(command)


def _hear_worker(journal: Journal, command: AnswerDecision | DeferDecision) -> None:
    match command:
        case AnswerDecision():
            answer_decision(journal, command)
        case DeferDecision():
            defer_decision(journal, command)
        case _:
            assert_never(command)


def _hear_delivery(
    journal: Journal, command: AnswerDelivery | FailDelivery | DeliverDirectly
) -> None:
    match command:
        case AnswerDelivery():
            answer_delivery(journal, command)
        case FailDelivery():
            fail_delivery(journal, command)
        case DeliverDirectly():
            deliver_directly(journal, command)
        case _:
            assert_never(command)
