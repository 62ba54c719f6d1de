"""What the engine would answer to a trigger: a pure function of the question, in the wire's form.

It must not apply anything. A worker that returns it gets what an engine-decided agent does.
Source: decision-protocol, section 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from everturn.protocol.json_text import canonical
from everturn.protocol.tool_texts import (
    needs_message_text,
    undeclared_tool_text,
    unfit_arguments_text,
)
from everturn.session.ground import Ground, Proposal, ask
from everturn.session.guard_texts import FINAL_NOTE
from everturn.session.guarded_reply import note_behind, refusals
from everturn.session.guards import output_repairs
from everturn.session.sub_agents import child_of, is_sub_agent, message_in, tools_of

CUT_OFF: Final = (
    '{"error":"not run: the reply was cut off by its output limit before the call was complete"}'
)
"""Result of a tool call in a truncated reply. Source: field case F20."""


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
    return {**proposed, "actions": [ask(ground)]}


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
    if not ground.has_turn:
        return {"messages": [message]}
    return _ask_again(ground, [message], None)


def _ask_again(
    ground: Ground, messages: Sequence[Mapping[str, Any]], told: str | None, position: int = 1
) -> Proposal:
    """Return an `llm.call` behind `messages` and what the model is `told`, unless others are open.

    Before its last word it is told that there are no more tools. `position` is the note's.
    """
    if told is None and ground.is_final and not ground.pending_calls:
        told = FINAL_NOTE
    new = [*messages, *([_note(told, ground.minted(position))] if told else [])]
    if ground.pending_calls:
        return {"messages": new}
    return {"messages": new, "actions": [ask(ground, *new)]}


def _note(text: str, message_id: str) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": text}


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
    if trigger["truncated"]:
        return _done(message, _cut_off(message, ground))
    return _for_whole_reply(trigger["id"], message, ground)


def _for_whole_reply(call_id: str, message: Mapping[str, Any], ground: Ground) -> Proposal:
    """Return what follows what a model said in full, guards heeded. Source: 8.7, F26."""
    verdict, agent, calls = ground.verdict, ground.agent or {}, message.get("tool_calls") or []
    rejected = verdict.rejected
    if rejected is not None and rejected.attempt > output_repairs(agent):
        payload = {"call_id": call_id, "problem": rejected.problem, "message": message}
        return _paused(ground, "output_invalid", payload)
    refused = refusals(verdict, calls)
    results = [
        _result(made, refused[made["id"]].text, ground.minted(position))
        for position, made in enumerate(calls)
        if made["id"] in refused
    ]
    is_over = rejected is None and (verdict.closes or not calls)
    if is_over:
        return _done(message, results)
    runs = [
        action
        for position, made in enumerate(calls)
        if made["id"] not in refused
        for action in _running(made, ground, position)
    ]
    if runs:
        in_order = sorted(runs, key=lambda action: action["type"] == "message.send")
        return {"messages": [message, *results], "actions": in_order}
    said = [message] if message.get("content") or calls else []
    told = note_behind(verdict, agent.get("output_schema"))
    return _ask_again(ground, [*said, *results], told, len(calls))


def _done(message: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Proposal:
    done = {"type": "done", "data": message.get("content")}
    return {"messages": [message, *results], "actions": [done]}


def _for_resume(ground: Ground) -> Proposal:
    """Source: I-14."""
    if ground.pending_calls or ground.open_model_calls:
        return {}
    last = ground.path_end or {}
    if last.get("role") == "assistant" and not last.get("tool_calls"):
        return {"actions": [{"type": "done", "data": last.get("content")}]}
    return {"actions": [ask(ground)]}


def _cut_off(message: Mapping[str, Any], ground: Ground) -> list[dict[str, Any]]:
    """Return the results of tool calls in a truncated reply: such a call is never executed."""
    return [
        _result(made, CUT_OFF, ground.minted(position))
        for position, made in enumerate(message.get("tool_calls") or ())
    ]


def _result(made: Mapping[str, Any], text: str, message_id: str) -> dict[str, Any]:
    """Return the result of a call that is never run."""
    return {
        "id": message_id,
        "role": "tool",
        "tool_call_id": made["id"],
        "name": made["function"]["name"],
        "content": text,
    }


def _running(made: Mapping[str, Any], ground: Ground, position: int) -> list[dict[str, Any]]:
    """Return what runs a call, and what its child is to do."""
    run = _run(made, ground)
    if run["type"] != "sub_agent.spawn":
        return [run]
    return [run, _task(run["session_id"], made, ground.minted(position))]


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
