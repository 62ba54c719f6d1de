"""What the engine would answer to a trigger: a pure function of the question, in the wire's form.

It must not apply anything. A worker that returns it gets what an engine-decided agent does.
Source: decision-protocol, section 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from everturn.protocol.ids import uuid5_in
from everturn.protocol.json_text import canonical
from everturn.protocol.tool_texts import (
    needs_message_text,
    undeclared_tool_text,
    unfit_arguments_text,
)
from everturn.session.sub_agents import child_of, is_sub_agent, message_in, tools_of

Proposal = dict[str, Any]

CUT_OFF: Final = (
    '{"error":"not run: the reply was cut off by its output limit before the call was complete"}'
)
"""Result of a tool call in a truncated reply. Source: field case F20."""

BARE_CALL: Final[dict[str, Any]] = {"type": "llm.call"}


@dataclass(frozen=True, slots=True)
class Ground:
    """What a proposal rests on besides its trigger, all as of the question's first delivery."""

    session_id: str
    decision_id: str
    agent: Mapping[str, Any] | None
    """The config that holds, `AgentConfig` as JSON; `None` where there is none."""

    pending_calls: int = 0
    open_model_calls: int = 0
    layered: tuple[str, ...] = ()
    """Names of the client's tools in `agent`. Source: K-5."""

    declared: Mapping[str, Any] | None = None
    """For `session.start`: the config that the deployment declares."""

    is_undeclared: bool = False
    """For `tool.execute`: the model called what it was not offered. Source: U-3."""

    has_turn: bool = True
    """Whether the question belongs to a turn that is open. Source: T-10."""

    path_end: Mapping[str, Any] | None = None
    """For `interrupt.resumed`: the newest message of the path."""

    continued: Mapping[str, Any] | None = None
    """For the end of a tool or a child: what the `llm.call` that led to it set itself. G-3."""

    prompt: Sequence[Mapping[str, Any]] | None = None
    """For `tool.finished`: that call's explicit messages, and all recorded since. Source: G-3."""

    def tool(self, name: str) -> Mapping[str, Any] | None:
        """Return the config's tool of that name."""
        tools = (self.agent or {}).get("tools") or ()
        return next((tool for tool in tools if tool["name"] == name), None)

    def minted(self, position: int) -> str:
        """Return the `position`-th id of the proposal, the same in every redelivery."""
        return uuid5_in(self.session_id, self.decision_id, position)


def proposal(trigger: Mapping[str, Any], ground: Ground) -> Proposal:
    """Return the proposed `DecisionResponse` as JSON; `{}` where the engine has no default."""
    match trigger["type"]:
        case "session.start":
            return {"agent": dict(ground.declared)} if ground.declared is not None else {}
        case "client.messages":
            return _for_messages(trigger, ground)
        case "tool.execute":
            return _for_execution(trigger, ground)
        case "interrupt.resumed":
            return _for_resume(ground)
        case _:
            return _for_end(trigger, ground)


def _for_end(trigger: Mapping[str, Any], ground: Ground) -> Proposal:
    """Return what follows the end of a call; nothing for any other trigger."""
    match trigger["type"]:
        case "tool.finished" | "sub_agent.finished":
            return _for_result(trigger, ground)
        case "llm.finished":
            return _for_reply(trigger, ground)
        case _:  # client.action, llm.execute, tool.poll
            return {}


def _for_messages(trigger: Mapping[str, Any], ground: Ground) -> Proposal:
    """Source: G-1, K-4, K-5."""
    if ground.agent is None:
        return {}
    view = list(trigger["messages"])
    proposed: Proposal = {"messages": view} if view else {}
    agent = layered_config(ground.agent, ground.layered, trigger["client"].get("tools") or ())
    if canonical(agent) != canonical(ground.agent):
        proposed["agent"] = agent
    if ground.pending_calls:
        return proposed
    has_news = trigger["new_from"] < len(view)
    if not has_news and view and view[-1]["role"] == "assistant":
        return {**proposed, "actions": [{"type": "done", "data": view[-1].get("content")}]}
    return {**proposed, "actions": [BARE_CALL]}


def layered_config(
    agent: Mapping[str, Any], layered: Sequence[str], client_tools: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return `agent` without the tools of an earlier client and with those of this one.

    A name that a tool or a sub-agent of the worker's has is skipped. Source: K-4, K-5, K-6.
    """
    own = [tool for tool in agent.get("tools") or () if tool["name"] not in layered]
    taken = {tool["name"] for tool in own} | {one["id"] for one in agent.get("sub_agents") or ()}
    added = []
    for tool in client_tools:
        if tool["name"] not in taken:
            taken.add(tool["name"])
            added.append({**tool, "handler": "client"})
    tools = [*own, *added]
    rest = {name: value for name, value in agent.items() if name != "tools"}
    return {**rest, "tools": tools} if tools or ("tools" in agent and not layered) else rest


def _for_execution(trigger: Mapping[str, Any], ground: Ground) -> Proposal:
    return execution_proposal(
        trigger["name"], trigger["input"], ground.agent or {}, is_undeclared=ground.is_undeclared
    )


def execution_proposal(
    name: str, checked: Mapping[str, Any], agent: Mapping[str, Any], *, is_undeclared: bool
) -> Proposal:
    """Return what is proposed where a tool is to run; `checked` is its `input`. Source: 8.4."""
    if is_undeclared:
        names = [tool["name"] for tool in tools_of(agent)]
        text: str | None = undeclared_tool_text(name, names)
    else:
        text = unfit_arguments_text(name, checked)
    if text is None and is_sub_agent(agent, name):
        text = needs_message_text(name)
    return {} if text is None else {"actions": [{"type": "tool.error", "error": text}]}


def _for_result(trigger: Mapping[str, Any], ground: Ground) -> Proposal:
    """Source: 8.5, 8.8, G-2, G-3."""
    message = {
        "id": ground.minted(0),
        "role": "tool",
        "tool_call_id": trigger["id"],
        "name": trigger.get("name") or trigger["agent_id"],
        "content": trigger["result"] if trigger["ok"] else trigger["error"],
    }
    if ground.pending_calls or not ground.has_turn:
        return {"messages": [message]}
    call: dict[str, Any] = {**BARE_CALL, **(ground.continued or {})}
    if ground.prompt is not None:
        call["messages"] = [*ground.prompt, message]
    return {"messages": [message], "actions": [call]}


def _for_reply(trigger: Mapping[str, Any], ground: Ground) -> Proposal:
    """Source: 8.7, G-4, T-10."""
    if not ground.has_turn:
        return {}
    agent = ground.agent or {}
    if not trigger["ok"]:
        payload = {"call_id": trigger["id"], "error": trigger["error"]}
        payload |= {name: trigger[name] for name in ("code", "detail") if name in trigger}
        return _paused(ground, "llm_failed", payload)
    message = trigger["message"]
    if trigger["truncated"] and agent.get("on_truncated") != "record":
        payload = {"call_id": trigger["id"], "message": message}
        return _paused(ground, "llm_truncated", payload)
    calls = [] if trigger["truncated"] else message.get("tool_calls") or []
    if not calls:
        done = {"type": "done", "data": message.get("content")}
        return {"messages": [message, *_cut_off(message, ground)], "actions": [done]}
    runs = [_run(made, ground) for made in calls]
    tasks = [
        _task(action["session_id"], made, ground.minted(position))
        for position, (action, made) in enumerate(zip(runs, calls, strict=True))
        if action["type"] == "sub_agent.spawn"
    ]
    return {"messages": [message], "actions": [*runs, *tasks]}


def _for_resume(ground: Ground) -> Proposal:
    """Source: I-14."""
    if ground.pending_calls or ground.open_model_calls:
        return {}
    last = ground.path_end or {}
    if last.get("role") == "assistant" and not last.get("tool_calls"):
        return {"actions": [{"type": "done", "data": last.get("content")}]}
    return {"actions": [BARE_CALL]}


def _cut_off(message: Mapping[str, Any], ground: Ground) -> list[dict[str, Any]]:
    """Return the results of tool calls in a truncated reply: such a call is never executed."""
    return [
        {
            "id": ground.minted(position),
            "role": "tool",
            "tool_call_id": made["id"],
            "name": made["function"]["name"],
            "content": CUT_OFF,
        }
        for position, made in enumerate(message.get("tool_calls") or ())
    ]


def _task(child: str, made: Mapping[str, Any], message_id: str) -> dict[str, Any]:
    """Return what sends a child its first message. Source: B-6."""
    text = message_in(made["function"]["arguments"])
    message = {"id": message_id, "role": "user", "content": text}
    return {"type": "message.send", "session_id": child, "message": message}


def _run(made: Mapping[str, Any], ground: Ground) -> dict[str, Any]:
    """Return the action that a model's call of a tool, or of a sub-agent, stands for. 8.7."""
    name = made["function"]["name"]
    is_known = is_sub_agent(ground.agent or {}, name)
    if is_known and message_in(made["function"]["arguments"]) is not None:
        return {
            "type": "sub_agent.spawn",
            "session_id": child_of(ground.session_id, ground.decision_id, made["id"]),
            "agent_id": name,
            "tool_call_id": made["id"],
        }
    call = {
        "type": "tool.call",
        "id": made["id"],
        "name": name,
        "arguments": made["function"]["arguments"],
    }
    declared = ground.tool(name)
    is_clients = declared is not None and declared.get("handler") == "client"
    return {**call, "handler": "client"} if is_clients else call


def _paused(ground: Ground, reason: str, payload: dict[str, Any]) -> Proposal:
    interrupt = {
        "type": "interrupt",
        "interrupt_id": ground.minted(0),
        "reason": reason,
        "payload": payload,
    }
    return {"actions": [interrupt]}
