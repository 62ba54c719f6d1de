"""Tool calls and their deliveries to the worker: which may start, and by whom they are made.

It must not know what an answer means; that is `delivery_answers`'s.
"""

from __future__ import annotations

from typing import Final

from everturn.session.commands import DeliverDirectly, Deliveries, ToolRefused
from everturn.session.decide.questions import deadline_of, deliver, promote
from everturn.session.decide.tool_result import dispatch_tool_call, fail_tool
from everturn.session.events.decisions import (
    DecisionDispatched,
    DecisionPrivate,
    DecisionQueued,
)
from everturn.session.events.tool_calls import ToolCallDispatched
from everturn.session.journal import Journal
from everturn.session.slots import has_room
from everturn.session.state import Call, CallStatus

NO_WORKER: Final = "no worker can run this tool"
"""Source: decision-protocol D-15."""


def refuse_without_worker(journal: Journal) -> None:
    """Settle every queued tool call of an agent that nobody runs tools for. Source: D-15, O-10."""
    for call in journal.session.calls:
        if call.kind == "tool_call" and call.handler == "worker":
            journal.add(ToolCallDispatched(turn_id=journal.turn_id, id=call.id, attempt=1))
            fail_tool(journal, call, ToolRefused(NO_WORKER), attempt=1)


def dispatch_ready(journal: Journal, policy: Deliveries) -> None:
    """Start what has room: client calls, overlapping tools in a pool, others in the slot.

    Calls that go on after a wait come first. Source: decision-protocol O-5, U-13.
    """
    promote(journal, policy)
    if journal.session.is_paused:
        return  # P-6
    for call in journal.session.calls:
        if call.kind != "tool_call" or not _may_start(journal, call):
            continue
        if not has_room(journal.session, call):
            continue
        if call.handler == "client":
            dispatch_tool_call(journal, call)
        else:
            _deliver_first(journal, call, policy)


def _may_start(journal: Journal, call: Call) -> bool:
    due_ms = call.next_attempt_at_ms
    waited = due_ms is not None and due_ms <= journal.now_ms
    return call.status is CallStatus.QUEUED or (
        call.status is CallStatus.RETRY_SCHEDULED and waited
    )


def _deliver_first(journal: Journal, call: Call, policy: Deliveries) -> None:
    dispatch_tool_call(journal, call)
    journal.add(
        DecisionQueued(
            turn_id=journal.turn_id,
            id=journal.mint(),
            trigger_type="tool.execute",
            call_id=call.id,
        )
    )
    deliver(journal, journal.session.decisions[-1], policy)


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
            deadline_ms=deadline_of(journal, call, command.deliveries, by_machine=False),
            private=DecisionPrivate(started_ms=journal.now_ms),
        )
    )
