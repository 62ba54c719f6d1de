"""Applies a worker's decision, whole or not at all: messages, state, config, calls, the turn's end.

It must not know who brought the answer. Source: decision-protocol, sections 6, 9 and 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from everturn.protocol.json_text import canonical
from everturn.session.budget import sets_session_budget
from everturn.session.commands import Reading
from everturn.session.decide.branches import leave_branch
from everturn.session.decide.children import spawn
from everturn.session.decide.outbox import send
from everturn.session.decide.pausing import pause
from everturn.session.decide.questions import EXECUTES
from everturn.session.decide.requests import check_room, open_tool_call, request_model_call
from everturn.session.decide.settlements import settle
from everturn.session.decide.turn_end import complete_turn, void_open_calls
from everturn.session.decide.waits import keep_open
from everturn.session.decide.written import reported, write_messages
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.messages import AgentPrivate, AgentUpdated, StateUpdated
from everturn.session.events.model_calls import ModelCallCompleted
from everturn.session.events.sessions import TurnStarted
from everturn.session.facts import Pinned
from everturn.session.journal import Journal
from everturn.session.refs import Ref, same_as
from everturn.session.request import digest
from everturn.session.state import Decision

SETTLES = ("tool.result", "tool.error", "llm.result", "llm.error")
Actions = tuple[tuple[int, Mapping[str, Any]], ...]
"""Actions as JSON, each with its position in the answer."""


def apply_response(
    journal: Journal,
    decision: Decision,
    response: Mapping[str, Any],
    readings: Mapping[int, Reading],
) -> None:
    """Do what `response`, a `DecisionResponse` as JSON in order by itself, says. Source: P-5.

    `readings` has, by an action's position, what breaks a schema or what a model's body says.
    Raises a `RejectedError` where the session does not allow it; the journal is of no use then.
    """
    actions = tuple(enumerate(response.get("actions") or ()))
    path = write_messages(journal, decision, response.get("messages") or ())
    if path is not None:
        leave_branch(journal, path)
    _write_state(journal, response.get("state"))
    _write_agent(journal, decision, response.get("agent"))
    for position, action in _those(actions, *SETTLES):
        settle(journal, decision, action, readings.get(position))
    keep_open(journal, decision, dict(actions))
    for position, action in _those(actions, "llm.call", "tool.call", "sub_agent.spawn"):
        _request(journal, action, readings.get(position))
    for position, action in _those(actions, "message.send"):
        send(journal, action, readings.get(position))
    for _, action in _those(actions, "interrupt"):
        _interrupt(journal, decision, action)
    for _, action in _those(actions, "done"):
        _end_turn(journal, decision, action.get("data"))


def _those(actions: Actions, *types: str) -> Actions:
    return tuple((position, action) for position, action in actions if action["type"] in types)


def _request(journal: Journal, action: Mapping[str, Any], reading: Reading | None) -> None:
    _open_turn(journal)
    match action["type"]:
        case "llm.call":
            request_model_call(journal, action)
        case "sub_agent.spawn":
            spawn(journal, action)
            check_room(journal)
        case _:
            open_tool_call(journal, action, reading if isinstance(reading, str) else None)


def _write_state(journal: Journal, given: Any) -> None:
    """Source: Z-1, Z-3."""
    if given is None:
        return
    wanted = None if given in ({}, [], "") else given
    holds = journal.event(journal.session.state_seq)
    held = holds.state if isinstance(holds, StateUpdated) else None
    if canonical(wanted) != canonical(held):
        journal.add(StateUpdated(turn_id=journal.turn_id, state=wanted, anchor=journal.anchor))


def _write_agent(journal: Journal, decision: Decision, given: Any) -> None:
    """Record a config that differs from the one that holds; the actions after it go by it. Z-5."""
    if given is None:
        return
    queued = journal.event(decision.seq)
    client = queued.client if isinstance(queued, DecisionQueued) else None
    declared = queued.agent if isinstance(queued, DecisionQueued) else None
    update_agent(
        journal,
        given,
        (client or {}).get("tools") or (),
        same_as(decision.seq, "agent") if declared == given else None,
    )


def update_agent(
    journal: Journal,
    config: Mapping[str, Any],
    client_tools: Sequence[Mapping[str, Any]],
    place: Ref | None = None,
) -> None:
    """Record `config` where it differs from the one that holds; what follows goes by it.

    `place` is where its body stands already. Source: Z-3, Z-5, K-5.
    """
    held = journal.facts.agent
    layered = layered_names(held, config, client_tools)
    agent = replace(held, config=config, sha256=digest(config), layered=layered)
    if agent.sha256 != journal.session.agent_sha or layered != held.layered:
        journal.add(
            AgentUpdated(
                turn_id=journal.turn_id,
                agent=None if place else dict(config),
                anchor=journal.anchor,
                private=AgentPrivate(
                    sha256=agent.sha256,
                    layered=layered,
                    has_session_budget=sets_session_budget(config),
                ),
                refs={"agent": place} if place else {},
            )
        )
    route = journal.facts.routes.get(config["model"], journal.facts.route)
    journal.facts = replace(journal.facts, agent=agent, route=route)


def layered_names(
    held: Pinned, agent: Mapping[str, Any], client_tools: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return which tools of `agent` are the client's, offered now or before, unchanged. K-5."""
    kept = {tool["name"]: canonical(tool) for tool in agent.get("tools") or ()}
    offered = {
        tool["name"]: canonical(tool)
        for tool in held.config.get("tools") or ()
        if tool["name"] in held.layered
    }
    offered |= {tool["name"]: canonical({**tool, "handler": "client"}) for tool in client_tools}
    return tuple(name for name, text in offered.items() if kept.get(name) == text)


def _open_turn(journal: Journal) -> None:
    """Open a turn for calls that no turn asked for. Source: T-15."""
    if journal.session.turn is None:
        journal.add(TurnStarted(turn_id=journal.mint(), reason="late_finish"))


def _interrupt(journal: Journal, decision: Decision, action: Mapping[str, Any]) -> None:
    """Pause the path, in a turn as every pause. Source: I-11, I-13."""
    _open_turn(journal)
    executes = decision.trigger in EXECUTES
    subject = decision.call_id if executes and journal.session.call(decision.call_id) else ""
    interrupt_id = action.get("interrupt_id") or journal.mint()
    pause(journal, interrupt_id, "frontend", action["reason"], action.get("payload"), subject)


def _end_turn(journal: Journal, decision: Decision, data: Any) -> None:
    """Source: T-6, T-10, T-11."""
    turn = journal.session.turn
    if turn is None or decision.turn_id != turn.id:
        return
    void_open_calls(journal, "turn_done")
    place = _place_of(journal, decision, data)
    refs = {"data": place} if place else {}
    complete_turn(journal, "done", data=None if place else data, refs=refs)


def _place_of(journal: Journal, decision: Decision, data: Any) -> Ref | None:
    """Return where `data` stands in the log already: in the reply that the question reports."""
    match reported(journal, decision):
        case (seq, ModelCallCompleted() as end) if data and end.message.get("content") == data:
            return same_as(seq, "message.content")
    return None
