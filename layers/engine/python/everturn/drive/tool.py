"""What a `tool.execute` says, and what its answer means as a command; it sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from everturn.commands.read_session import as_call
from everturn.commands.reading import Loaded
from everturn.drive.holding import MakeCommand
from everturn.errors import DefectError, RejectedError
from everturn.ports.decider import Answered, Deferred, DeliveryFailed, WorkerAnswer
from everturn.ports.sessions import Logged
from everturn.protocol.action import ToolErrorAction, ToolResultAction
from everturn.protocol.decision import DecisionResponse, check_response
from everturn.protocol.ids import uuid5_in
from everturn.protocol.json_text import canonical, compact
from everturn.protocol.limits import MAX_RESULT_BYTES
from everturn.protocol.tool_texts import (
    invalid_arguments_text,
    invalid_result_text,
    malformed_arguments_text,
    undeclared_tool_text,
)
from everturn.protocol.wire import to_json
from everturn.session.ask import ToolAsk, tool_request
from everturn.session.commands import (
    AnswerDelivery,
    Deliveries,
    FailDelivery,
    LeftOpen,
    ToolAnswered,
    ToolRefused,
)
from everturn.session.events.decisions import AsOf, DecisionDispatched
from everturn.session.events.messages import StateUpdated
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.facts import Facts
from everturn.session.state import Call, Decision, Session
from everturn.tools.schema import check_input, check_output

UNSUPPORTED: Final = "unsupported_answer"
"""Code of an answer that this version cannot apply."""


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
    if call.effect == "idempotent_write":
        about["idempotency_key"] = idempotency_key(session.session_id, call)
    return tool_request(
        ToolAsk(
            session_id=session.session_id,
            decision_id=decision.id,
            agent_id=session.agent_id,
            identity=owner,
            turn_id=call.turn_id or None,
            call=about,
            input=checked,
            proposed=_proposed(facts, call.name, tool, checked),
            as_of=as_of,
            open_calls=_open_calls(as_of, logged),
            path=facts.path,
            agent=facts.agent.config,
            state=state,
            attempt=decision.attempt,
            deadline_ms=decision.deadline_ms or 0,
        )
    )


def idempotency_key(session_id: str, call: Call) -> str:
    """Return the key that every attempt of a repeatable write carries. Source: agent-session 5."""
    return uuid5_in(session_id, "idempotency", call.id)


def _proposed(
    facts: Facts, name: str, tool: Mapping[str, Any] | None, checked: dict[str, Any]
) -> dict[str, Any]:
    """Source: decision-protocol 8.4."""
    if tool is None:
        names = [one["name"] for one in facts.agent.config.get("tools") or []]
        text = undeclared_tool_text(name, names)
    elif checked["status"] == "invalid":
        text = invalid_arguments_text(name, checked["error"])
    elif checked["status"] == "malformed":
        text = malformed_arguments_text(name, checked["error"])
    else:
        return {}
    return {"actions": [{"type": "tool.error", "error": text}]}


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


def state_of(seq: int, logged: tuple[Logged, ...]) -> StateUpdated | None:
    """Return the state version at event `seq`, where it is among the commits at hand."""
    for commit in logged:
        for number, event in commit.numbered():
            if number == seq and isinstance(event, StateUpdated):
                return event
    return None


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
            refused = _refused(response, call)
            if refused is not None:
                return _failed(refused, decision, deliveries)
            settled = _settled(response, call, facts, state)
        case Deferred():
            settled = Settled(LeftOpen())
        case DeliveryFailed():
            return _failed(answer, decision, deliveries)
    return lambda stamp, now: AnswerDelivery(
        stamp,
        now,
        decision.id,
        decision.attempt,
        settled.outcome,
        settled.state,
        settled.has_state,
        deliveries,
    )


def _failed(answer: DeliveryFailed, decision: Decision, deliveries: Deliveries) -> MakeCommand:
    return lambda stamp, facts: FailDelivery(
        stamp,
        facts,
        decision.id,
        decision.attempt,
        error=answer.error,
        code=answer.code,
        retryable=answer.retryable,
        started=answer.started,
        invalid=answer.invalid,
        retry_after_s=answer.retry_after_s,
        deliveries=deliveries,
    )


@dataclass(frozen=True, slots=True)
class Settled:
    """What an answer does: how the call ends, and a new state where there is one."""

    outcome: ToolAnswered | ToolRefused | LeftOpen
    state: Any = None
    has_state: bool = False


def _settled(response: DecisionResponse, call: Call, facts: Facts, state: Any) -> Settled:
    outcome: ToolAnswered | ToolRefused | LeftOpen = LeftOpen()
    for action in response.actions or ():
        if isinstance(action, ToolResultAction):
            outcome = _result(action, call, facts)
        elif isinstance(action, ToolErrorAction):
            outcome = ToolRefused(action.error, bool(action.retryable), action.code, action.detail)
    new_state = _new_state(response.state, state)
    if new_state is _SAME:
        return Settled(outcome)
    return Settled(outcome, new_state, has_state=True)


_SAME: Final = object()


def _new_state(given: Any, holds: Any) -> Any:
    """Return the state to record. Absent or null keeps, an empty value clears. Source: Z-1, Z-3."""
    if given is None:
        return _SAME
    wanted = None if given in ({}, [], "") else given
    return _SAME if canonical(wanted) == canonical(holds) else wanted


def _result(action: ToolResultAction, call: Call, facts: Facts) -> ToolAnswered | ToolRefused:
    """Source: decision-protocol U-9, section 23."""
    value = action.result
    text = value if isinstance(value, str) else compact(value)
    if len(text.encode()) > MAX_RESULT_BYTES:
        return ToolRefused(
            f"The result of {call.name} is over {MAX_RESULT_BYTES} bytes.",
            detail={"reason": "too_large"},
        )
    tool = facts.agent.tool(call.name)
    if tool is not None and tool.get("output") is not None:
        violation = check_output(tool["output"], text)
        if violation is not None:
            return ToolRefused(invalid_result_text(call.name, violation))
    return ToolAnswered(text)


def _refused(response: DecisionResponse, call: Call) -> DeliveryFailed | None:
    """Return what is wrong with an answer as a whole. Source: decision-protocol P-2, P-3, D-8."""
    try:
        check_response(response, decides="engine")
    except RejectedError as error:
        return DeliveryFailed(error.message, error.code, True, "unknown", invalid=True)
    problem = _unsupported(response, call)
    return DeliveryFailed(problem, UNSUPPORTED, True, "unknown", invalid=True) if problem else None


def _unsupported(response: DecisionResponse, call: Call) -> str:
    """Say what of an answer cannot be applied; empty where all of it can."""
    actions = response.actions or ()
    if len(actions) > 1 or not all(
        isinstance(action, ToolResultAction | ToolErrorAction) for action in actions
    ):
        return "an answer to tool.execute takes one tool.result or tool.error"
    named = {
        action.id for action in actions if isinstance(action, ToolResultAction | ToolErrorAction)
    }
    if named - {None, call.id}:
        return "an answer to tool.execute settles the call that it was asked about"
    if response.messages or response.agent is not None:
        return "an answer to tool.execute takes no messages and no agent"
    if call.overlap and response.state is not None:
        return "a tool that may overlap takes no state"
    return ""
