"""What an order to run a call says, and what its answer means as a command; it sends nothing.

This is for agents that the engine decides; `question` is for those whose worker does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.commands.read_session import as_call
from everturn.commands.reading import Loaded
from everturn.commands.tool_answers import answer_command, settled_by
from everturn.drive.decision import failed_delivery
from everturn.drive.holding import MakeCommand
from everturn.errors import DefectError
from everturn.llm.formats.bodies import to_body
from everturn.ports.decider import Answered, Deferred, DeliveryFailed, WorkerAnswer
from everturn.ports.sessions import Logged
from everturn.protocol.wire import to_json
from everturn.session.ask import Ask, execution_request
from everturn.session.commands import DeferDecision, Deliveries
from everturn.session.dialogue import Dialogue, dialogue_of
from everturn.session.events.children import SubAgentRequested
from everturn.session.events.decisions import AsOf, DecisionDispatched
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.facts import Facts
from everturn.session.ground import Proposal
from everturn.session.proposal import execution_proposal
from everturn.session.request import BuiltRequest
from everturn.session.state import Call, Decision, Session
from everturn.session.trigger import (
    Trigger,
    idempotency_key,
    llm_execute,
    tool_execute,
    tool_poll,
)
from everturn.tools.schema import check_input

Order = tuple[Trigger, Proposal]
"""What is to be run, and what the engine would answer itself."""


def tool_order(session: Session, decision: Decision, call: Call, loaded: Loaded) -> Order:
    """Return the order to run a tool, or the question how far it is. Source: 8.4, O-12."""
    key = idempotency_key(session.session_id, call)
    told = _told(decision, call, loaded.logged)
    if decision.trigger == "tool.poll":
        return tool_poll(call, told, key), {}
    arguments = _asked(call, loaded.logged).arguments or ""
    agent = loaded.facts.agent
    tool = agent.tool(call.name)
    checked = to_json(check_input(tool.get("input") if tool else None, arguments))
    trigger = tool_execute(call, arguments, checked, told, key)
    proposed = execution_proposal(call.name, checked, agent.config, is_undeclared=tool is None)
    return trigger, proposed


def model_order(call: Call, asked: ModelCallRequested, built: BuiltRequest) -> Order:
    """Return the order to run a model call, in the format that was asked for.

    Raises `UnsupportedContent` where the format has no place for it. Source: 8.6, W-1.
    """
    body = to_body(asked.format, built.body, built.failed) if asked.format else built.body
    return llm_execute(asked, call, body), {}


def to_request(
    session: Session,
    decision: Decision,
    call: Call,
    order: Order,
    loaded: Loaded,
    state: Any,
    owner: dict[str, Any],
) -> dict[str, Any]:
    """Return the delivery's body; one decision gives one body, but for attempt and deadline."""
    as_of = _as_of(decision, loaded.logged)
    trigger, proposed = order
    return execution_request(
        Ask(
            session_id=session.session_id,
            decision_id=decision.id,
            agent_id=session.agent_id,
            identity=owner,
            turn_id=call.turn_id or None,
            trigger=trigger,
            proposed=proposed,
            as_of=as_of,
            open_calls=_open_calls(as_of, loaded.logged),
            path=loaded.facts.path,
            agent=loaded.facts.agent.config,
            state=state,
            attempt=decision.attempt,
            deadline_ms=decision.deadline_ms or 0,
            ancestry=session.ancestry,
        )
    )


def _asked(call: Call, logged: tuple[Logged, ...]) -> ToolCallRequested:
    for commit in logged:
        for seq, event in commit.numbered():
            if seq == call.seq and isinstance(event, ToolCallRequested):
                return event
    raise DefectError(f"tool call {call.id} is not at event {call.seq}")


def _told(decision: Decision, call: Call, logged: tuple[Logged, ...]) -> Dialogue:
    """Return what the call was told before this delivery: its events are all in the window."""
    numbered = (pair for commit in logged for pair in commit.numbered())
    before = decision.dispatched_seq
    return dialogue_of((event for seq, event in numbered if call.seq < seq < before), call.id)


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
        if isinstance(event, ToolCallRequested | ModelCallRequested | SubAgentRequested)
    }
    shown = []
    for one in as_of.calls:
        seq, event = asked[one["id"]]
        if isinstance(event, SubAgentRequested):
            shown.append(_open_child(one, event))
            continue
        is_tool = isinstance(event, ToolCallRequested)
        call = Call(
            id=event.id,
            kind="tool_call" if is_tool else "llm_call",
            seq=seq,
            retry=event.retry,
            status=one["status"],
            attempt=one["attempt"],
            name=getattr(event, "name", ""),
            handler=event.handler,
            stream=getattr(event, "stream", False),
        )
        shown.append(as_call(call, event if isinstance(event, ToolCallRequested) else None))
    return shown


def _open_child(noted: Mapping[str, Any], asked: SubAgentRequested) -> dict[str, Any]:
    return {
        "id": asked.id,
        "kind": "sub_agent",
        "status": noted["status"],
        "attempt": max(noted["attempt"], 1),
        "agent_id": asked.agent_id,
        "session_id": asked.session_id,
    }


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
            settled = settled_by(response, decision.trigger, call, facts, state)
            if isinstance(settled, DeliveryFailed):
                return failed_delivery(settled, decision, deliveries)
        case Deferred():
            return lambda stamp, now: DeferDecision(stamp, now, decision.id, decision.attempt)
        case DeliveryFailed():
            return failed_delivery(answer, decision, deliveries)
    return lambda stamp, now: answer_command(stamp, now, decision, settled, deliveries)
