"""Moves on by itself: what is due starts, what is over its deadline lapses, orphans are replaced.

It must not read a clock: the command says what time it is.
"""

from __future__ import annotations

from typing import Final

from everturn.session.commands import (
    Deliveries,
    FailDelivery,
    ModelFailure,
    Proceed,
    TakeOver,
    ToolRefused,
)
from everturn.session.decide.children import dispatch_child, lapse_child
from everturn.session.decide.delivery_failures import fail_delivery
from everturn.session.decide.model_call import dispatch_model_call
from everturn.session.decide.model_failure import fail_attempt
from everturn.session.decide.moving import move_on
from everturn.session.decide.next_turn import open_next
from everturn.session.decide.questions import (
    EXECUTES,
    deliver,
    drop_all_about,
    promote,
    turn_of,
)
from everturn.session.decide.requests import start_tool_call
from everturn.session.decide.tool_result import fail_tool, lapse_tool, outcome_unknown
from everturn.session.decide.waits import lapse_wait
from everturn.session.events.decisions import DecisionDropped
from everturn.session.journal import Journal
from everturn.session.retries import may_repeat
from everturn.session.state import Call, CallStatus, Decision

VANISHED: Final = "the driver that ran this attempt vanished"
NEVER_ANSWERED: Final = "the worker said that it would answer later, and did not"


def proceed(journal: Journal, command: Proceed) -> None:
    """Do everything whose time has come. Doing it twice changes nothing."""
    for decision in journal.session.decisions:
        if journal.session.decision(decision.id) != decision:
            continue  # an earlier one ended it
        if decision.status == "deferred":
            _lapse_deferred(journal, decision, command.deliveries)
        elif _is_due(journal, decision) and _is_pointless(journal, decision):
            turn_id = turn_of(journal, decision)
            journal.add(DecisionDropped(turn_id=turn_id, id=decision.id, reason="call_settled"))
        elif _is_due(journal, decision):
            deliver(journal, decision, command.deliveries)
    for call in journal.session.calls:
        if journal.session.call(call.id) == call:  # an earlier one may have ended the turn
            _move(journal, call)
    for wait in journal.session.waits:
        lapse_wait(journal, wait)
    move_on(journal, command.deliveries)
    open_next(journal)
    if journal.session.decides == "worker":
        promote(journal, command.deliveries)


def _is_pointless(journal: Journal, decision: Decision) -> bool:
    """Return whether the call that a question is about was settled meanwhile. Source: O-25."""
    return decision.trigger in EXECUTES and journal.session.call(decision.call_id) is None


def _lapse_deferred(journal: Journal, decision: Decision, policy: Deliveries) -> None:
    """Fail a delivery that the worker took on and did not answer. Source: D-7, D-8."""
    if decision.deadline_ms is None or decision.deadline_ms > journal.now_ms:
        return
    late = FailDelivery(
        stamp=journal.stamp,
        facts=journal.facts,
        decision_id=decision.id,
        attempt=decision.attempt,
        error=NEVER_ANSWERED,
        code="deadline_exceeded",
        retryable=True,
        started="unknown",
        deliveries=policy,
    )
    fail_delivery(journal, late)


def _move(journal: Journal, call: Call) -> None:
    lapsed = _lapsed(journal, call)
    due = call.next_attempt_at_ms is not None and call.next_attempt_at_ms <= journal.now_ms
    match call.status, call.kind:
        case CallStatus.RETRY_SCHEDULED, "llm_call" if due:
            dispatch_model_call(journal, call)
        case CallStatus.RETRY_SCHEDULED, "tool_call" if due and _decides_worker(journal):
            start_tool_call(journal, call)
        case CallStatus.PENDING, "llm_call" if lapsed:
            drop_all_about(journal, call.id, "attempt_lapsed")
            error = f"attempt {call.attempt} passed its deadline"
            failure = ModelFailure(error, "deadline_exceeded", retryable=True)
            fail_attempt(journal, call, failure)
        case CallStatus.PENDING, "tool_call" if lapsed:
            lapse_tool(journal, call)
        case CallStatus.RETRY_SCHEDULED, "sub_agent" if due:
            dispatch_child(journal, call)
        case CallStatus.PENDING, "sub_agent" if lapsed:
            lapse_child(journal, call)
        case _:
            pass


def _decides_worker(journal: Journal) -> bool:
    return journal.session.decides == "worker"


def _is_due(journal: Journal, decision: Decision) -> bool:
    due_ms, call = decision.next_attempt_at_ms, journal.session.call(decision.call_id)
    return due_ms is not None and due_ms <= journal.now_ms and not (call and _lapsed(journal, call))


def _lapsed(journal: Journal, call: Call) -> bool:
    return call.deadline_ms is not None and call.deadline_ms <= journal.now_ms


def take_over(journal: Journal, command: TakeOver) -> None:
    """Replace what a vanished driver was running by new attempts, where that is safe.

    Source: decision-protocol N-2, O-8.
    """
    for call in journal.session.calls:
        if journal.session.call(call.id) != call or call.status is not CallStatus.PENDING:
            continue
        if call.kind == "llm_call" and call.handler == "server":
            _orphaned_model_call(journal, call)
        elif call.kind == "tool_call" and call.effect is not None:
            _orphaned_tool_call(journal, call)
    for decision in journal.session.decisions:
        is_ours = decision.status == "live" and not decision.by_machine
        if is_ours and journal.session.decision(decision.id) == decision:
            _orphaned_delivery(journal, decision, command)
    move_on(journal, command.deliveries)


def _orphaned_model_call(journal: Journal, call: Call) -> None:
    failure = ModelFailure(VANISHED, "provider_error", retryable=True, retry_after_s=0)
    fail_attempt(journal, call, failure)
    failed = journal.session.call(call.id)
    if failed is not None:
        dispatch_model_call(journal, failed)


def _orphaned_tool_call(journal: Journal, call: Call) -> None:
    live = [
        one
        for one in journal.session.decisions
        if one.call_id == call.id
        and one.trigger == "tool.execute"
        and one.status == "live"
        and not one.by_machine
    ]
    if not live:
        return  # left open, waiting, polled, or the machine's: no driver ran it
    decision = live[0]
    turn_id = turn_of(journal, decision)
    journal.add(DecisionDropped(turn_id=turn_id, id=decision.id, reason="driver_vanished"))
    if may_repeat(call.effect):
        vanished = ToolRefused(VANISHED, retryable=True, code="provider_error")
        fail_tool(journal, call, vanished, decision_id=decision.id, retry_after_s=0)
        _repeat_at_once(journal, call)
    else:
        outcome_unknown(journal, call, decision.id)


def _repeat_at_once(journal: Journal, call: Call) -> None:
    failed = journal.session.call(call.id)
    if failed is not None and _decides_worker(journal):
        start_tool_call(journal, failed)


def _orphaned_delivery(journal: Journal, decision: Decision, command: TakeOver) -> None:
    """Deliver a question again that a vanished driver had delivered, or was about to. N-2."""
    vanished = FailDelivery(
        stamp=command.stamp,
        facts=command.facts,
        decision_id=decision.id,
        attempt=decision.attempt,
        error=VANISHED,
        code="driver_vanished",
        retryable=True,
        started="unknown",
        retry_after_s=0,
        deliveries=command.deliveries,
    )
    fail_delivery(journal, vanished)
    failed = journal.session.decision(decision.id)
    if failed is not None and failed.status == "retry_scheduled":
        deliver(journal, failed, command.deliveries)
