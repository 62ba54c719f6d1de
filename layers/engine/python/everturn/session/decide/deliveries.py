"""Tool calls and their deliveries to the worker: which may start, what answers and failures mean.

It must not know how a call ends; that is `tool_result`'s.
"""

from __future__ import annotations

from typing import Final, assert_never

from everturn.session.commands import (
    AnswerDelivery,
    DeliverDirectly,
    Deliveries,
    FailDelivery,
    LeftOpen,
    ToolAnswered,
    ToolRefused,
)
from everturn.session.decide.tool_result import (
    NOT_STARTED,
    fail_tool,
    finish_tool,
    never_started,
    outcome_unknown,
    write_result,
)
from everturn.session.events.decisions import (
    AsOf,
    DecisionCompleted,
    DecisionDispatched,
    DecisionErrored,
    DecisionPrivate,
    DecisionQueued,
    ErroredPrivate,
)
from everturn.session.events.messages import StateUpdated
from everturn.session.events.shape import Anchor
from everturn.session.events.tool_calls import ToolCallDispatched
from everturn.session.journal import Journal
from everturn.session.retries import REPEATABLE, wait_ms
from everturn.session.slots import has_room
from everturn.session.state import Call, CallStatus, Decision

INVALID_IN_A_ROW: Final = 3
"""Source: decision-protocol D-8."""

TOO_LARGE: Final = "too_large"
"""Code of an answer over its limit, which the call's own error repeats. Source: field case F18."""

SLOW_S: Final = 20
"""A tool that may take longer is the step machine's to run. Source: architecture, section 2."""

NO_WORKER: Final = "no worker can run this tool"
"""Source: decision-protocol D-15."""


def refuse_without_worker(journal: Journal) -> None:
    """Settle every queued tool call of an agent that nobody runs tools for. Source: D-15, O-10."""
    for call in journal.session.calls:
        if call.kind == "tool_call" and call.handler == "worker":
            journal.add(ToolCallDispatched(turn_id=journal.turn_id, id=call.id, attempt=1))
            fail_tool(journal, call, ToolRefused(NO_WORKER), attempt=1)


def dispatch_ready(journal: Journal, policy: Deliveries) -> None:
    """Start what has room: client calls at once, overlapping tools in a pool, others in the slot.

    Source: decision-protocol O-5, U-13.
    """
    for call in journal.session.calls:
        if call.kind != "tool_call" or not _may_start(journal, call):
            continue
        if call.handler == "client":
            _dispatch_call(journal, call)
        elif has_room(journal.session, call):
            _deliver_first(journal, call, policy)


def _may_start(journal: Journal, call: Call) -> bool:
    due_ms = call.next_attempt_at_ms
    waited = due_ms is not None and due_ms <= journal.now_ms
    return call.status is CallStatus.QUEUED or (
        call.status is CallStatus.RETRY_SCHEDULED and waited
    )


def _dispatch_call(journal: Journal, call: Call) -> None:
    timeout_s = call.retry.timeout_secs
    journal.add(
        ToolCallDispatched(
            turn_id=journal.turn_id,
            id=call.id,
            attempt=call.attempt + 1,
            deadline_ms=journal.now_ms + round(timeout_s * 1000) if timeout_s else None,
        )
    )


def _deliver_first(journal: Journal, call: Call, policy: Deliveries) -> None:
    _dispatch_call(journal, call)
    journal.add(
        DecisionQueued(
            turn_id=journal.turn_id,
            id=journal.mint(),
            trigger_type="tool.execute",
            call_id=call.id,
        )
    )
    deliver(journal, journal.session.decisions[-1], policy)


def deliver(journal: Journal, decision: Decision, policy: Deliveries) -> None:
    """Start the next delivery of `decision`; the first one notes what it is computed from.

    Source: decision-protocol D-3, D-5.
    """
    session = journal.session
    call = session.call(decision.call_id)
    by_machine = _is_slow(journal, decision, call)
    first = decision.attempt == 0
    as_of = AsOf(
        seq=session.seq,
        head_id=session.head.id if session.head else None,
        calls=tuple({"id": c.id, "status": c.status, "attempt": c.attempt} for c in session.calls),
        state_seq=session.state_seq,
        agent_seq=session.agent_seq,
    )
    journal.add(
        DecisionDispatched(
            turn_id=journal.turn_id,
            id=decision.id,
            attempt=decision.attempt + 1,
            deadline_ms=_deadline_ms(journal, call, policy, by_machine=by_machine),
            private=DecisionPrivate(
                started_ms=journal.now_ms,
                as_of=as_of if first else None,
                by_machine=by_machine,
            ),
        )
    )


def _is_slow(journal: Journal, decision: Decision, call: Call | None) -> bool:
    """Return whether the step machine is to make the delivery. Source: architecture, section 2."""
    timeout_s = call.retry.timeout_secs if call else None
    return (
        journal.facts.agent.worker_is_function
        and decision.trigger == "tool.execute"
        and timeout_s is not None
        and timeout_s > SLOW_S
    )


def _deadline_ms(
    journal: Journal, call: Call | None, policy: Deliveries, *, by_machine: bool
) -> int:
    """Return the end of a delivery that starts now; the machine has all the time of the call."""
    limit_ms = journal.now_ms + round(policy.attempt_timeout_s * 1000)
    if call is None or call.deadline_ms is None:
        return limit_ms
    return call.deadline_ms if by_machine else min(limit_ms, call.deadline_ms)


def deliver_directly(journal: Journal, command: DeliverDirectly) -> None:
    """Start a delivery once more, as the driver's own: the same attempt, which nobody has seen.

    It is recorded before it is made, so that a driver that vanishes then leaves an orphan behind.
    """
    decision = journal.session.decision(command.decision_id)
    if decision is None or not decision.by_machine or decision.attempt != command.attempt:
        return
    call = journal.session.call(decision.call_id)
    journal.add(
        DecisionDispatched(
            turn_id=journal.turn_id,
            id=decision.id,
            attempt=decision.attempt,
            deadline_ms=_deadline_ms(journal, call, command.deliveries, by_machine=False),
            private=DecisionPrivate(started_ms=journal.now_ms),
        )
    )


def answer_delivery(journal: Journal, command: AnswerDelivery) -> None:
    """Apply a worker's answer to a live delivery; any other is a no-op. Source: D-11, P-5.

    What the step machine brings counts for its own attempt alone.
    """
    decision = journal.session.decision(command.decision_id)
    call = journal.session.call(decision.call_id) if decision else None
    if decision is None or call is None or decision.status == "queued":
        return
    if decision.by_machine and decision.attempt != command.attempt:
        return
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision.id, attempt=command.attempt))
    if command.has_state:
        head = journal.session.head
        anchor = Anchor(branch=head.branch, depth=head.depth) if head else None
        journal.add(StateUpdated(turn_id=journal.turn_id, state=command.state, anchor=anchor))
    match command.outcome:
        case ToolAnswered(text=text):
            finish_tool(journal, call, text, decision.id)
        case ToolRefused() as refused:
            fail_tool(journal, call, refused, decision_id=decision.id)
        case LeftOpen():
            pass
        case _:
            assert_never(command.outcome)
    dispatch_ready(journal, command.deliveries)
    write_result(journal)


def fail_delivery(journal: Journal, command: FailDelivery) -> None:
    """Deliver again where the policy and the tool's effect allow it, else settle the call.

    Source: decision-protocol D-8, D-14, O-11.
    """
    decision = journal.session.decision(command.decision_id)
    if decision is None or decision.status != "live" or decision.attempt != command.attempt:
        return
    call = journal.session.call(decision.call_id)
    policy = command.deliveries
    wait = wait_ms(
        policy.backoff_base_s, policy.backoff_max_s, decision.attempt, command.retry_after_s
    )
    safe = call is None or call.effect in REPEATABLE or command.started == "no"
    again = command.retryable and safe and _attempts_left(journal, decision, command, wait)
    journal.add(
        DecisionErrored(
            turn_id=journal.turn_id,
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
    if again or call is None:
        return
    if not safe:
        outcome_unknown(journal, call, decision.id)
    else:
        unsent = command.started == "no" and never_started(call, decision)
        error = f"{NOT_STARTED}{command.error}" if unsent else command.error
        detail = {"reason": command.code} if command.code == TOO_LARGE else None
        refused = ToolRefused(error, code="provider_error", detail=detail)
        fail_tool(journal, call, refused, decision_id=decision.id)
    dispatch_ready(journal, policy)
    write_result(journal)


def _attempts_left(journal: Journal, decision: Decision, command: FailDelivery, wait: int) -> bool:
    policy = command.deliveries
    strikes = decision.strikes + 1 if command.invalid else 0
    over_ms = decision.first_ms + round(policy.total_s * 1000)
    return (
        decision.attempt < policy.max_attempts
        and strikes < INVALID_IN_A_ROW
        and journal.now_ms + wait < over_ms
    )
