"""Triggers as a worker reads them, each a pure function of stored events; nothing is proposed here.

Source: decision-protocol, section 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everturn.protocol.events import to_rfc3339
from everturn.protocol.ids import uuid5_in
from everturn.session.dialogue import Dialogue
from everturn.session.events.children import SubAgentErrored, SubAgentTurnCompleted
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.interrupts import InterruptResumed
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallErrored,
    ModelCallRequested,
)
from everturn.session.events.shape import Usage
from everturn.session.events.tool_calls import ToolCallCompleted, ToolCallErrored
from everturn.session.facts import PathMessage
from everturn.session.state import Call

Trigger = dict[str, Any]


def session_start() -> Trigger:
    """Source: 8.1."""
    return {"type": "session.start"}


def client_messages(queued: DecisionQueued, path: Sequence[PathMessage]) -> Trigger:
    """Return the client's view: the path that is recorded, then the news. Source: 8.2, V-7."""
    base = [dict(node.message) for node in path]
    return {
        "type": "client.messages",
        "messages": [*base, *(queued.news or [])],
        "new_from": len(base),
        "client": dict(queued.client or {}),
    }


def client_action(queued: DecisionQueued) -> Trigger:
    """Source: 8.3."""
    return {"type": "client.action", **(queued.action or {})}


def tool_execute(
    call: Call,
    arguments: str,
    checked: Mapping[str, Any],
    told: Dialogue,
    idempotency_key: str | None = None,
) -> Trigger:
    """Return the order to run a tool; `checked` is a `ToolInput` as JSON.

    It brings every answer so far. Source: 8.4, agent-session.md 11.
    """
    trigger: Trigger = {
        "type": "tool.execute",
        "id": call.id,
        "name": call.name,
        "arguments": arguments,
        "input": dict(checked),
        "attempt": call.attempt,
    }
    if told.answers:
        trigger["answers"] = list(told.answers)
    return trigger | _about(call, told, idempotency_key)


def tool_poll(call: Call, told: Dialogue, idempotency_key: str | None = None) -> Trigger:
    """Return the question how far a task is. Source: agent-session.md 12."""
    trigger: Trigger = {
        "type": "tool.poll",
        "id": call.id,
        "name": call.name,
        "task_id": told.task_id,
        "attempt": call.attempt,
    }
    if told.pending_answer is not None:
        trigger["pending_answer"] = told.pending_answer
    return trigger | _about(call, told, idempotency_key)


def _about(call: Call, told: Dialogue, key: str | None) -> Trigger:
    """Return what is said of a call where it holds."""
    about: Trigger = {}
    if told.continuation is not None:
        about["continuation"] = told.continuation
    if call.deadline_ms is not None:
        about["deadline"] = to_rfc3339(call.deadline_ms)
    if key:
        about["idempotency_key"] = key
    return about


def idempotency_key(session_id: str, call: Call) -> str | None:
    """Return the key that every attempt of a repeatable write carries. Source: agent-session 5."""
    if call.effect != "idempotent_write":
        return None
    return uuid5_in(session_id, "idempotency", call.id)


def tool_finished(end: ToolCallCompleted | ToolCallErrored) -> Trigger:
    """Source: 8.5."""
    about = {"type": "tool.finished", "id": end.id, "name": end.name}
    if isinstance(end, ToolCallCompleted):
        return {**about, "ok": True, "result": end.result}
    return {**about, "ok": False, "error": end.error}


def sub_agent_finished(end: SubAgentTurnCompleted | SubAgentErrored) -> Trigger:
    """Source: 8.8, B-12."""
    about = {"type": "sub_agent.finished", "id": end.id}
    child = {"session_id": end.session_id, "agent_id": end.agent_id}
    if isinstance(end, SubAgentTurnCompleted):
        return {**about, "ok": True, **child, "result": end.result}
    return {**about, "ok": False, **child, "error": end.error}


def llm_execute(asked: ModelCallRequested, call: Call, request: Mapping[str, Any]) -> Trigger:
    """Return the order to run a model call; `request` is in its format already. Source: 8.6."""
    trigger: Trigger = {
        "type": "llm.execute",
        "id": call.id,
        "request": dict(request),
        "stream": asked.stream,
        "attempt": call.attempt,
    }
    if asked.format:
        trigger["format"] = asked.format
    if call.deadline_ms is not None:
        trigger["deadline"] = to_rfc3339(call.deadline_ms)
    return trigger


def llm_finished(end: ModelCallCompleted | ModelCallErrored) -> Trigger:
    """Source: 8.7, G-4."""
    trigger: Trigger = {"type": "llm.finished", "id": end.id}
    if isinstance(end, ModelCallCompleted):
        trigger |= {"ok": True, "message": end.message, "truncated": end.finish_reason == "length"}
        if end.cost is not None:
            trigger["cost"] = end.cost
    else:
        trigger |= {"ok": False, "truncated": False, "error": end.error}
        trigger |= {name: getattr(end, name) for name in ("code", "detail") if getattr(end, name)}
    if end.usage is not None:
        trigger["usage"] = shown_usage(end.usage)
    return trigger


def interrupt_resumed(resumed: InterruptResumed) -> Trigger:
    """Source: 8.9."""
    trigger: Trigger = {"type": "interrupt.resumed", "interrupt_id": resumed.interrupt_id}
    return trigger if resumed.payload is None else {**trigger, "payload": resumed.payload}


def shown_usage(usage: Usage) -> dict[str, Any]:
    """Return the counts as the wire has them: those that are optional only where they count."""
    counts = usage.model_dump()
    always = {"input_tokens", "output_tokens"}
    return {name: count for name, count in counts.items() if count or name in always}
