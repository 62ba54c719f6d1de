"""The body of a delivery to a worker that decides: a pure function of the log.

Everything but `attempts` and `deadline` is as of the first delivery, so that a redelivery says the
same. Source: decision-protocol D-3 and section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from everturn.errors import DefectError
from everturn.protocol.events import to_rfc3339
from everturn.session import trigger as triggers
from everturn.session.dialogue import Dialogue, dialogue_of
from everturn.session.events.children import SubAgentErrored, SubAgentTurnCompleted
from everturn.session.events.decisions import AsOf, DecisionQueued
from everturn.session.events.interrupts import InterruptResumed
from everturn.session.events.model_calls import ModelCallCompleted, ModelCallErrored
from everturn.session.events.tool_calls import ToolCallCompleted, ToolCallErrored
from everturn.session.facts import PathMessage
from everturn.session.ground import Ground
from everturn.session.proposal import proposal
from everturn.session.records import Records
from everturn.session.request import rebuild
from everturn.session.state import Call, Decision, Session

CheckInput = Callable[[Any, str], dict[str, Any]]
"""A tool's schema (or none) and its argument text -> a `ToolInput` as JSON."""

ToFormat = Callable[[str, Mapping[str, Any], frozenset[str]], Mapping[str, Any]]
"""A provider's name, a neutral request and its failed tool calls -> the provider's own body."""


@dataclass(frozen=True, slots=True)
class Readers:
    """What a question needs done that the core does not do itself."""

    check_input: CheckInput
    to_format: ToFormat


@dataclass(frozen=True, slots=True)
class Asking:
    """One question, and what it is made from."""

    session: Session
    decision: Decision
    owner: Mapping[str, Any]
    records: Records
    readers: Readers


def question(asking: Asking) -> dict[str, Any]:
    """Return the `DecisionRequest`. Raises `DefectError` where the log does not hold it."""
    records, decision = asking.records, asking.decision
    queued, as_of = records.queued(decision.seq), records.as_of(decision.dispatched_seq)
    if queued is None or as_of is None:
        raise DefectError(f"decision {decision.id} is not where the head says")
    path = records.path(as_of.head_id)
    calls = records.calls(as_of)
    pending = sum(call["kind"] != "llm_call" for call in calls)
    version = records.agent(as_of.agent_seq)
    agent = version.agent if version else None
    trigger, more = _trigger(asking, queued, path)
    has_turn = bool(decision.turn_id) and not records.has_ended(decision.turn_id, as_of.seq)
    ground = Ground(
        session_id=asking.session.session_id,
        decision_id=decision.id,
        agent=agent,
        pending_calls=pending,
        open_model_calls=len(calls) - pending,
        layered=version.private.layered if version else (),
        declared=queued.agent,
        has_turn=has_turn,
        is_final=has_turn and records.is_final(decision.turn_id, as_of.seq),
        **more,
    )
    messages = [dict(node.message) for node in path]
    return {
        "session_id": asking.session.session_id,
        "decision_id": decision.id,
        "agent_id": asking.session.agent_id,
        "identity": dict(asking.owner),
        "trigger": trigger,
        "proposed": proposal(trigger, ground),
        "state": records.state(as_of.state_seq),
        "agent": agent,
        "calls": calls,
        "pending_calls": pending,
        "messages": messages,
        "message_tree": _tree(records, as_of),
        "ancestry": list(asking.session.ancestry),
        "attempts": decision.attempt,
        "deadline": to_rfc3339(decision.deadline_ms or 0),
        "turn_id": decision.turn_id if has_turn else None,
    }


def _tree(records: Records, as_of: AsOf) -> dict[str, Any]:
    """Return every branch. Source: Q-1."""
    where = {"head_id": as_of.head_id} if as_of.head_id else {}
    return {"nodes": records.tree(as_of.seq), **where}


def tree(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a path as a `MessageTree` of one branch."""
    nodes: list[dict[str, Any]] = []
    for message in messages:
        parent = {"parent_id": nodes[-1]["message"]["id"]} if nodes else {}
        nodes.append({"message": message, **parent})
    return {"nodes": nodes, "head_id": messages[-1]["id"]} if messages else {"nodes": nodes}


def _trigger(
    asking: Asking, queued: DecisionQueued, path: tuple[PathMessage, ...]
) -> tuple[triggers.Trigger, dict[str, Any]]:
    """Return the trigger, and what else its proposal rests on."""
    match queued.trigger_type:
        case "session.start":
            return triggers.session_start(), {}
        case "client.messages":
            return triggers.client_messages(queued, _base(asking, queued, path)), {}
        case "client.action":
            return triggers.client_action(queued), {}
        case "tool.execute":
            return _tool_execute(asking)
        case "tool.poll" | "llm.execute" as asked:
            return _tool_poll(asking) if asked == "tool.poll" else _llm_execute(asking), {}
        case _:
            return _finished(asking, queued, path)


def _running(asking: Asking) -> Call:
    call = asking.session.call(asking.decision.call_id)
    if call is None:
        raise DefectError(f"there is no call {asking.decision.call_id}")
    return call


def _tool_execute(asking: Asking) -> tuple[triggers.Trigger, dict[str, Any]]:
    """Source: U-3, U-4, 8.4."""
    call = _running(asking)
    asked = asking.records.tool_request(call.id)
    arguments = asked.arguments or "" if asked else ""
    contract = asking.records.contract(call.id, call.name)
    schema = (contract.tool or {}).get("input")
    checked = asking.readers.check_input(schema, arguments)
    if contract.kind == "untraced" and checked["status"] != "valid":
        checked = {"status": "valid", "value": checked.get("value", arguments)}
    key = triggers.idempotency_key(asking.session.session_id, call)
    trigger = triggers.tool_execute(call, arguments, checked, _told(asking, call), key)
    return trigger, {"is_undeclared": contract.kind == "undeclared"}


def _tool_poll(asking: Asking) -> triggers.Trigger:
    """Source: agent-session.md 12."""
    call = _running(asking)
    key = triggers.idempotency_key(asking.session.session_id, call)
    return triggers.tool_poll(call, _told(asking, call), key)


def _told(asking: Asking, call: Call) -> Dialogue:
    """Return what the call was told before this question was put: a redelivery says the same."""
    before = asking.decision.dispatched_seq
    log = asking.records.log
    return dialogue_of((event for seq, event in log.items() if seq < before), call.id)


def _base(
    asking: Asking, queued: DecisionQueued, path: tuple[PathMessage, ...]
) -> tuple[PathMessage, ...]:
    """Return the messages that an input's news stand behind. Source: V-7."""
    if queued.private.appends:
        return path
    return asking.records.path(queued.private.base_id)


def _llm_execute(asking: Asking) -> triggers.Trigger:
    """Source: W-1, W-2, L-7."""
    call = _running(asking)
    found = asking.records.model_request(call.id)
    if found is None:
        raise DefectError(f"nothing asked for model call {call.id}")
    _, asked = found
    boundary = asked.private.boundary
    path = asking.records.path(boundary.head_id if boundary else None)
    built = rebuild(asked, asking.records.header(asked.private.header_seq), path)
    request: Mapping[str, Any] = built.body
    if asked.format:
        request = asking.readers.to_format(asked.format, request, built.failed)
    return triggers.llm_execute(asked, call, request)


def _finished(
    asking: Asking, queued: DecisionQueued, path: tuple[PathMessage, ...]
) -> tuple[triggers.Trigger, dict[str, Any]]:
    end = asking.records.log.get(queued.private.about_seq)
    match end:
        case ModelCallCompleted():
            verdict = asking.records.verdict(queued.private.about_seq, asking.decision.seq)
            more = _continued_from(asking.records, end.id, path)
            return triggers.llm_finished(end), {"verdict": verdict, **more}
        case ModelCallErrored():
            return triggers.llm_finished(end), {}
        case InterruptResumed():
            return triggers.interrupt_resumed(end), {"path_end": path[-1].message if path else None}
        case SubAgentTurnCompleted() | SubAgentErrored():
            return triggers.sub_agent_finished(end), _continued(asking.records, end.id, path)
        case ToolCallCompleted() | ToolCallErrored():
            return triggers.tool_finished(end), _continued(asking.records, end.id, path)
        case _:
            raise DefectError(f"decision {asking.decision.id} reports nothing")


def _continued(records: Records, call_id: str, path: tuple[PathMessage, ...]) -> dict[str, Any]:
    """Return what of the model call that asked for a tool the next one goes on with. G-3."""
    tool, child = records.tool_request(call_id), records.child_request(call_id)
    asked_by = (tool and tool.llm_call_id) or (child and child.private.llm_call_id)
    return _continued_from(records, asked_by or "", path)


def _continued_from(
    records: Records, call_id: str, path: tuple[PathMessage, ...]
) -> dict[str, Any]:
    """Return what of a model call the next one goes on with. Source: G-3."""
    made_by = records.model_request(call_id)
    if made_by is None:
        return {}
    seq, request = made_by
    prompt = None
    if request.messages is not None:
        since = [dict(node.message) for node in path if node.seq > seq]
        prompt = [*request.messages, *since]
    return {"continued": request.private.asked, "prompt": prompt}
