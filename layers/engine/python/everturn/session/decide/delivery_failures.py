"""What a delivery that brought no valid answer leads to: another one, or the end of what it asked.

It must not know how a delivery is made.
"""

from __future__ import annotations

from typing import Final

from everturn.session.commands import FailDelivery, ModelFailure, ToolRefused
from everturn.session.decide.model_failure import fail_attempt
from everturn.session.decide.moving import move_on
from everturn.session.decide.questions import EXECUTES, turn_of
from everturn.session.decide.tool_result import (
    NOT_STARTED,
    fail_tool,
    never_started,
    outcome_unknown,
)
from everturn.session.decide.turn_end import fail_turn
from everturn.session.events.decisions import DecisionErrored, ErroredPrivate
from everturn.session.journal import Journal
from everturn.session.retries import may_repeat, wait_ms
from everturn.session.state import Call, Decision

INVALID_IN_A_ROW: Final = 3
"""Source: decision-protocol D-8."""

TOO_LARGE: Final = "too_large"
"""Code of an answer over its limit, which the call's own error repeats. Source: field case F18."""


def fail_delivery(journal: Journal, command: FailDelivery) -> None:
    """Deliver again where the policy and the tool's effect allow it, else end what was asked.

    Source: decision-protocol D-8, D-14, O-11.
    """
    decision = journal.session.decision(command.decision_id)
    under_way = decision is not None and decision.status in {"live", "deferred"}
    if decision is None or not under_way or decision.attempt != command.attempt:
        return
    call = journal.session.call(decision.call_id) if decision.trigger in EXECUTES else None
    policy = command.deliveries
    wait = wait_ms(
        policy.backoff_base_s, policy.backoff_max_s, decision.attempt, command.retry_after_s
    )
    is_safe = _is_safe(decision, call) or command.started == "no"
    is_pointless = decision.trigger in EXECUTES and call is None  # the call was settled meanwhile
    wanted = command.retryable and is_safe and not is_pointless
    again = wanted and _attempts_left(journal, decision, command, wait)
    journal.add(
        DecisionErrored(
            turn_id=turn_of(journal, decision),
            id=decision.id,
            attempt=decision.attempt,
            error=command.error,
            code=command.code,
            retryable=again,
            next_attempt_at_ms=journal.now_ms + wait if again else None,
            private=ErroredPrivate(
                invalid=command.invalid, may_have_started=command.started == "unknown"
            ),
        )
    )
    if again:
        return
    match call:
        case None if is_pointless:
            pass
        case None:
            fail_turn(journal, command.error, command.code)
        case Call(kind="llm_call"):
            fail_attempt(journal, call, ModelFailure(command.error, "provider_error", False))
        case _ if not is_safe or _leaves_task(decision, call):
            outcome_unknown(journal, call, decision.id)
        case _:
            _fail_tool(journal, call, decision, command)
    move_on(journal, policy)


def _is_safe(decision: Decision, call: Call | None) -> bool:
    """Return whether what was delivered may be delivered again though it may have been done."""
    if decision.trigger == "tool.poll":
        return True  # a poll is a read, whatever its tool is
    return call is None or call.kind != "tool_call" or may_repeat(call.effect)


def _leaves_task(decision: Decision, call: Call) -> bool:
    """Return whether a task goes on, unseen, that may take effect."""
    return decision.trigger == "tool.poll" and not may_repeat(call.effect)


def _fail_tool(journal: Journal, call: Call, decision: Decision, command: FailDelivery) -> None:
    unsent = command.started == "no" and never_started(call, decision)
    error = f"{NOT_STARTED}{command.error}" if unsent else command.error
    detail = {"reason": command.code} if command.code == TOO_LARGE else None
    refused = ToolRefused(error, code="provider_error", detail=detail)
    fail_tool(journal, call, refused, decision_id=decision.id)


def _attempts_left(journal: Journal, decision: Decision, command: FailDelivery, wait: int) -> bool:
    policy = command.deliveries
    strikes = decision.strikes + 1 if command.invalid else 0
    over_ms = decision.first_ms + round(policy.total_s * 1000)
    return (
        decision.attempt < policy.max_attempts
        and strikes < INVALID_IN_A_ROW
        and journal.now_ms + wait < over_ms
    )
