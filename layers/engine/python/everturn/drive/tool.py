"""What a `tool.execute` says, and what its answer means as a command; it sends nothing."""

from __future__ import annotations

from typing import Any

from everturn.commands.read_session import as_call
from everturn.commands.reading import Loaded
from everturn.commands.tool_answers import answer_command, settled_by
from everturn.drive.decision import failed_delivery
from everturn.drive.holding import MakeCommand
from everturn.errors import DefectError
from everturn.ports.decider import Answered, Deferred, DeliveryFailed, WorkerAnswer
from everturn.ports.sessions import Logged
from everturn.protocol.wire import to_json
from everturn.session.ask import ToolAsk, tool_request
from everturn.session.commands import DeferDecision, Deliveries
from everturn.session.events.decisions import AsOf, DecisionDispatched
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.facts import Facts
from everturn.session.proposal import execution_proposal
from everturn.session.state import Call, Decision, Session
from everturn.session.trigger import idempotency_key
from everturn.tools.schema import check_input


def to_request(
    session: Session,
    decision: Decision,
    call: Call,
    loaded: Loaded,
    state: Any,
    owner: dict[str, Any],
) -> dict[str, Any]:
    """Return the delivery's body; one decision gives one body, but for attempt and deadline."""
    logged, facts = loaded.logged, loaded.facts
    asked = _asked(call, logged)
    as_of = _as_of(decision, logged)
    tool = facts.agent.tool(call.name)
    arguments = asked.arguments or ""
    checked = to_json(check_input(tool.get("input") if tool else None, arguments))
    about: dict[str, Any] = {
        "id": call.id,
        "name": call.name,
        "arguments": arguments,
        "attempt": call.attempt,
        "deadline_ms": call.deadline_ms,
    }
    key = idempotency_key(session.session_id, call)
    if key is not None:
        about["idempotency_key"] = key
    return tool_request(
        ToolAsk(
            session_id=session.session_id,
            decision_id=decision.id,
            agent_id=session.agent_id,
            identity=owner,
            turn_id=call.turn_id or None,
            call=about,
            input=checked,
            proposed=execution_proposal(
                call.name, checked, facts.agent.config, is_undeclared=tool is None
            ),
            as_of=as_of,
            open_calls=_open_calls(as_of, logged),
            path=facts.path,
            agent=facts.agent.config,
            state=state,
            attempt=decision.attempt,
            deadline_ms=decision.deadline_ms or 0,
        )
    )


def _asked(call: Call, logged: tuple[Logged, ...]) -> ToolCallRequested:
    for commit in logged:
        for seq, event in commit.numbered():
            if seq == call.seq and isinstance(event, ToolCallRequested):
                return event
    raise DefectError(f"tool call {call.id} is not at event {call.seq}")


def _as_of(decision: Decision, logged: tuple[Logged, ...]) -> AsOf:
    for commit in logged:
        for seq, event in commit.numbered():
            if seq != decision.dispatched_seq or not isinstance(event, DecisionDispatched):
                continue
            if event.private.as_of is not None:
                return event.private.as_of
    raise DefectError(
        f"decision {decision.id} was not dispatched at event {decision.dispatched_seq}"
    )


def _open_calls(as_of: AsOf, logged: tuple[Logged, ...]) -> list[dict[str, Any]]:
    asked = {
        event.id: (seq, event)
        for commit in logged
        for seq, event in commit.numbered()
        if isinstance(event, ToolCallRequested)
    }
    shown = []
    for one in as_of.calls:
        seq, event = asked[one["id"]]
        call = Call(
            id=event.id,
            kind="tool_call",
            seq=seq,
            retry=event.retry,
            status=one["status"],
            attempt=one["attempt"],
            name=event.name,
            handler=event.handler,
        )
        shown.append(as_call(call, event))
    return shown


def to_command(
    answer: WorkerAnswer,
    decision: Decision,
    call: Call,
    facts: Facts,
    state: Any,
    deliveries: Deliveries,
) -> MakeCommand:
    """Return the command that a worker's answer means. Source: decision-protocol P-2, O-5, X-4."""
    match answer:
        case Answered(response=response):
            settled = settled_by(response, call, facts, state)
            if isinstance(settled, DeliveryFailed):
                return failed_delivery(settled, decision, deliveries)
        case Deferred():
            return lambda stamp, now: DeferDecision(stamp, now, decision.id, decision.attempt)
        case DeliveryFailed():
            return failed_delivery(answer, decision, deliveries)
    return lambda stamp, now: answer_command(stamp, now, decision, settled, deliveries)
