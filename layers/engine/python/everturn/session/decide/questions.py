"""Puts questions to a worker that decides: queues them in order, one live at a time, drops them.

It must not know what an answer does. Source: decision-protocol, section 4.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.session.commands import Deliveries
from everturn.session.events.decisions import (
    AsOf,
    DecisionDispatched,
    DecisionDropped,
    DecisionPrivate,
    DecisionQueued,
    QueuedPrivate,
)
from everturn.session.events.tool_calls import ToolCallDispatched
from everturn.session.journal import Journal
from everturn.session.slots import RUNS_TOOLS, may_go_live
from everturn.session.state import Call, Decision, Session

SLOW_S: Final = 20
"""A tool that may take longer is the step machine's to run. Source: architecture, section 2."""

EXECUTES: Final = (*RUNS_TOOLS, "llm.execute")
"""Triggers that ask the worker to run a call, or to say how far it is."""

FINISHED = ("tool.finished", "sub_agent.finished")
"""Triggers that report the end of a call which counts as open until they are delivered. Q-3."""


def queue(
    journal: Journal,
    trigger: str,
    *,
    turn_id: str | None,
    call_id: str | None = None,
    about_seq: int = 0,
    **bodies: Any,
) -> str:
    """Add a question to the end of the queue; return its id. `bodies` are fields of the event."""
    decision_id = journal.mint()
    private = bodies.pop("private", None) or QueuedPrivate(about_seq=about_seq)
    journal.add(
        DecisionQueued(
            turn_id=turn_id,
            id=decision_id,
            trigger_type=trigger,
            call_id=call_id,
            private=private,
            **bodies,
        )
    )
    return decision_id


def queue_finished(journal: Journal, trigger: str, call: Call, about_seq: int) -> None:
    """Report the end of `call`, in its turn where that is still open. Source: T-10, T-11."""
    turn = journal.session.turn
    turn_id = turn.id if turn is not None and turn.id == call.turn_id else None
    queue(journal, trigger, turn_id=turn_id, call_id=call.id, about_seq=about_seq)


def promote(journal: Journal, policy: Deliveries) -> None:
    """Put the questions that have room, in order. Only whoever delivers them may do so.

    Source: decision-protocol D-1, D-3, O-5.
    """
    for decision in journal.session.decisions:
        if decision.status == "queued" and may_go_live(journal.session, decision):
            deliver(journal, decision, policy)


def deliver(journal: Journal, decision: Decision, policy: Deliveries) -> None:
    """Start the next delivery of `decision`; the first one notes what it is computed from.

    Source: decision-protocol D-3, D-5.
    """
    session = journal.session
    call = session.call(decision.call_id) if decision.trigger in EXECUTES else None
    if decision.trigger == "tool.execute" and decision.attempt == 0:
        call = _clocked(journal, call)
    by_machine = _is_slow(journal, decision, call)
    as_of = AsOf(
        seq=session.seq,
        head_id=session.head.id if session.head else None,
        calls=tuple(_calls(session, decision)),
        state_seq=session.state_seq,
        agent_seq=session.agent_seq,
    )
    journal.add(
        DecisionDispatched(
            turn_id=turn_of(journal, decision),
            id=decision.id,
            attempt=decision.attempt + 1,
            deadline_ms=deadline_of(journal, call, policy, by_machine=by_machine),
            private=DecisionPrivate(
                started_ms=journal.now_ms,
                as_of=as_of if decision.attempt == 0 else None,
                by_machine=by_machine,
            ),
        )
    )


def _clocked(journal: Journal, call: Call | None) -> Call | None:
    """Start the clock of a call anew that goes on after an answer; any other one runs already.

    Waiting for a person is no work: each run of the tool has its whole time.
    """
    if call is None or not call.questions or call.deadline_ms or not call.retry.timeout_secs:
        return call
    journal.add(
        ToolCallDispatched(
            turn_id=journal.turn_id,
            id=call.id,
            attempt=call.attempt,
            deadline_ms=attempt_deadline_ms(journal, call),
        )
    )
    return journal.session.call(call.id)


def attempt_deadline_ms(journal: Journal, call: Call) -> int | None:
    """Return until when a tool that starts now may take."""
    timeout_s = call.retry.timeout_secs
    return journal.now_ms + round(timeout_s * 1000) if timeout_s else None


def _is_slow(journal: Journal, decision: Decision, call: Call | None) -> bool:
    """Return whether the step machine is to make the delivery. Source: architecture, section 2."""
    timeout_s = call.retry.timeout_secs if call else None
    return (
        journal.facts.agent.worker_is_function
        and decision.trigger == "tool.execute"
        and timeout_s is not None
        and timeout_s > SLOW_S
    )


def deadline_of(
    journal: Journal, call: Call | None, policy: Deliveries, *, by_machine: bool
) -> int:
    """Return the end of a delivery that starts now; the machine has all the time of the call."""
    limit_ms = journal.now_ms + round(policy.attempt_timeout_s * 1000)
    if call is None or call.deadline_ms is None:
        return limit_ms
    return call.deadline_ms if by_machine else min(limit_ms, call.deadline_ms)


def turn_of(journal: Journal, decision: Decision) -> str | None:
    """Return the turn that a question belongs to; where the engine decides, the open one. T-11."""
    if journal.session.decides == "worker":
        return decision.turn_id or None
    return journal.turn_id


def _calls(session: Session, decision: Decision) -> list[dict[str, Any]]:
    """Return the calls that a question lists: the open ones, and those whose end is unreported.

    The call that the question itself reports is not among them. Source: Q-3.
    """
    open_calls = [_open_call(session, call) for call in session.calls]
    unreported = [
        {"id": one.call_id, "end": one.seq}
        for one in session.decisions
        if one.trigger in FINISHED and one.status == "queued" and one.id != decision.id
    ]
    return [*open_calls, *unreported]


def _open_call(session: Session, call: Call) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": call.id, "status": call.status, "attempt": call.attempt}
    if session.decides == "worker" and call.deadline_ms is not None:
        shown["deadline_ms"] = call.deadline_ms
    return shown


def drop_all_about(journal: Journal, call_id: str, reason: str) -> None:
    """Drop every question about a call, the live one too. Source: D-13."""
    for decision in journal.session.decisions:
        if decision.call_id == call_id:
            turn_id = turn_of(journal, decision)
            journal.add(DecisionDropped(turn_id=turn_id, id=decision.id, reason=reason))


def drop_questions_about(journal: Journal, call_id: str, reason: str) -> None:
    """Drop the executions of a call that are queued; a live one keeps its place. Source: O-25."""
    for decision in journal.session.decisions:
        executes = decision.trigger in EXECUTES and decision.status == "queued"
        if executes and decision.call_id == call_id:
            turn_id = turn_of(journal, decision)
            journal.add(DecisionDropped(turn_id=turn_id, id=decision.id, reason=reason))
