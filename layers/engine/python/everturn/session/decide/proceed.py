"""Moves on by itself: what is due starts, what is over its deadline lapses, orphans are replaced.

It must not read a clock: the command says what time it is.
"""

from __future__ import annotations

from typing import Final

from everturn.session.commands import ModelFailure, Proceed, TakeOver, ToolRefused
from everturn.session.decide.deliveries import deliver, dispatch_ready
from everturn.session.decide.model_answer import fail_attempt
from everturn.session.decide.model_call import dispatch_model_call
from everturn.session.decide.tool_result import fail_tool, lapse_tool, outcome_unknown, write_result
from everturn.session.events.decisions import DecisionDropped
from everturn.session.journal import Journal
from everturn.session.retries import REPEATABLE
from everturn.session.state import Call, CallStatus, Decision

VANISHED: Final = "the driver that ran this attempt vanished"


def proceed(journal: Journal, command: Proceed) -> None:
    """Do everything whose time has come. Doing it twice changes nothing."""
    for decision in journal.session.decisions:
        if _is_due(journal, decision):
            deliver(journal, decision, command.deliveries)
    for call in journal.session.calls:
        if journal.session.call(call.id) == call:  # an earlier one may have ended the turn
            _move(journal, call)
    dispatch_ready(journal, command.deliveries)
    write_result(journal)


def _move(journal: Journal, call: Call) -> None:
    lapsed = _lapsed(journal, call)
    due = call.next_attempt_at_ms is not None and call.next_attempt_at_ms <= journal.now_ms
    match call.status, call.kind:
        case CallStatus.RETRY_SCHEDULED, "llm_call" if due:
            dispatch_model_call(journal, call)
        case CallStatus.PENDING, "llm_call" if lapsed:
            error = f"attempt {call.attempt} passed its deadline"
            failure = ModelFailure(error, "deadline_exceeded", retryable=True)
            fail_attempt(journal, call, failure)
        case CallStatus.PENDING, "tool_call" if lapsed:
            lapse_tool(journal, call)
        case _:
            pass


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
        elif call.kind == "tool_call":
            _orphaned_tool_call(journal, call)
    dispatch_ready(journal, command.deliveries)
    write_result(journal)


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
        if one.call_id == call.id and one.status == "live" and not one.by_machine
    ]
    if not live:
        return  # left open, waiting for its next delivery, or the machine's: no driver ran it
    decision = live[0]
    journal.add(DecisionDropped(turn_id=journal.turn_id, id=decision.id, reason="driver_vanished"))
    if call.effect in REPEATABLE:
        vanished = ToolRefused(VANISHED, retryable=True, code="provider_error")
        fail_tool(journal, call, vanished, decision_id=decision.id, retry_after_s=0)
    else:
        outcome_unknown(journal, call, decision.id)
