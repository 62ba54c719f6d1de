"""Takes what outsiders say about questions and calls: answers, deferrals, settlements.

It must not know how an answer is applied; that is `response`'s.
"""

from __future__ import annotations

from everturn.errors import RejectedError
from everturn.rejections import DecisionNotLive, UnknownDecision
from everturn.session.commands import (
    AnswerDecision,
    DeferDecision,
    FailDelivery,
    SettleCall,
)
from everturn.session.decide.delivery_failures import fail_delivery
from everturn.session.decide.moving import move_on
from everturn.session.decide.questions import turn_of
from everturn.session.decide.response import apply_response
from everturn.session.decide.settlements import KINDS, settle_open, settleable
from everturn.session.events.decisions import DecisionCompleted, DecisionDeferred, DecisionQueued
from everturn.session.journal import Journal


def answer_decision(journal: Journal, command: AnswerDecision) -> None:
    """Apply an answer to a live question; one to a question that is over changes nothing.

    An answer to a delivery that the session does not allow fails that delivery (D-8); one that
    came by `workers/submit` is refused with a `RejectedError`. Raises `DecisionNotLive`,
    `UnknownDecision`. Source: D-11, D-12, P-2.
    """
    decision = journal.session.decision(command.decision_id)
    if decision is None:
        _check_known(journal, command.decision_id)
        return
    if decision.status == "queued":
        raise DecisionNotLive(f"The decision {decision.id} has not been asked yet.")
    trial = journal.copy()
    trial.add(
        DecisionCompleted(
            turn_id=turn_of(journal, decision),
            id=decision.id,
            attempt=decision.attempt if command.attempt is None else command.attempt,
        )
    )
    try:
        apply_response(trial, decision, command.response, command.readings)
    except RejectedError as error:
        if command.attempt is None:
            raise
        _refuse(journal, command, error)
        return
    journal.become(trial)
    move_on(journal, command.deliveries if command.attempt is not None else None)


def _check_known(journal: Journal, decision_id: str) -> None:
    for _, event in journal.all_events():
        if isinstance(event, DecisionQueued) and event.id == decision_id:
            return
    raise UnknownDecision(f"The session never had a decision {decision_id}.")


def _refuse(journal: Journal, command: AnswerDecision, error: RejectedError) -> None:
    fail_delivery(
        journal,
        FailDelivery(
            stamp=command.stamp,
            facts=command.facts,
            decision_id=command.decision_id,
            attempt=command.attempt or 0,
            error=error.message,
            code=error.code,
            retryable=True,
            started="unknown",
            invalid=True,
            deliveries=command.deliveries,
        ),
    )


def defer_decision(journal: Journal, command: DeferDecision) -> None:
    """Note that the worker has a live question and will answer by itself. Source: D-7."""
    decision = journal.session.decision(command.decision_id)
    if decision is None or decision.status != "live" or decision.attempt != command.attempt:
        return
    turn_id = turn_of(journal, decision)
    journal.add(DecisionDeferred(turn_id=turn_id, id=decision.id, attempt=decision.attempt))


def settle_call(journal: Journal, command: SettleCall) -> None:
    """End a call as an outsider says.

    Raises `UnknownCall`, `WrongHandler`, `CallNotOpen`, `StaleAttempt`. Source: U-6, U-12.
    """
    action = command.action
    kind = KINDS[action["type"].partition(".")[0]]
    call = settleable(journal, action["id"], kind, action.get("attempt"), handlers=command.handlers)
    settle_open(journal, call, action, command.reading)
    move_on(journal, None)
