"""What the core is told about an answer besides the answer: schemas, model bodies, routes.

It decides nothing. Source: decision-protocol O-16, U-4, U-9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from everturn.llm.formats.reading import read_reply
from everturn.protocol.json_text import compact
from everturn.protocol.tool_texts import (
    invalid_result_text,
    undeclared_tool_text,
    unfit_arguments_text,
)
from everturn.protocol.wire import to_json
from everturn.session.commands import Reading
from everturn.session.facts import Facts, Route
from everturn.session.records import Records
from everturn.session.state import Decision, Session
from everturn.session.sub_agents import tools_of
from everturn.tools.answer import client_inputs, judged
from everturn.tools.schema import check_input, check_output

TargetProblem = Callable[[str], str | None]
"""A session's id -> `unknown_target` or `forbidden_target`, where nothing may be sent there."""


RouteOf = Callable[[Mapping[str, Any]], Route]


def with_routes(facts: Facts, response: Mapping[str, Any], route_of: RouteOf) -> Facts:
    """Return `facts` with the routes of the models that an answer names."""
    named = [action.get("model") for action in response.get("actions") or ()]
    named.append((response.get("agent") or {}).get("model"))
    routes = {model: route_of({"model": model}) for model in named if model}
    return replace(facts, routes={**facts.routes, **routes}) if routes else facts


def readings_of(
    response: Mapping[str, Any],
    decision: Decision | None,
    session: Session,
    facts: Facts,
    target_problem: TargetProblem,
) -> dict[int, Reading]:
    """Return what is to be said of each action, by its position; of a message, of its target.

    Raises `InvalidLlmResponse` for a model's body that cannot be read.
    """
    agent = response.get("agent") or facts.agent.config
    found: dict[int, Reading] = {}
    for position, action in enumerate(response.get("actions") or ()):
        reading = _reading(action, decision, session, facts, agent, target_problem)
        if reading is not None:
            found[position] = reading
    return found


def _reading(
    action: Mapping[str, Any],
    decision: Decision | None,
    session: Session,
    facts: Facts,
    agent: Mapping[str, Any],
    target_problem: TargetProblem,
) -> Reading | None:
    match action["type"]:
        case "tool.call":
            return problem_of(action["name"], action.get("arguments"), tools_of(agent))
        case "message.send":
            return target_problem(action["session_id"])
        case "tool.result" | "llm.result":
            call_id = action.get("id") or (decision.call_id if decision else "")
            return settlement_reading(action, call_id, session, facts)
        case _:
            return None


def settlement_reading(
    action: Mapping[str, Any], call_id: str, session: Session, facts: Facts
) -> Reading | None:
    """Return what breaks a result's schema, or what a model's body says; `None` for no comment.

    Raises `InvalidLlmResponse`.
    """
    call = session.call(call_id)
    if call is None:
        return None
    if action["type"] == "llm.result":
        name, schema = _contract_of(call.id, facts)
        inputs = client_inputs(facts.agent.config) if session.decides == "engine" else None
        return judged(read_reply(name, action.get("response")), schema, inputs)
    if action["type"] != "tool.result":
        return None
    tool = _tool(call.id, call.name, facts)
    if not tool or tool.get("output") is None:
        return None
    result = action.get("result")
    text = result if isinstance(result, str) else compact(result)
    violation = check_output(tool["output"], text)
    return invalid_result_text(call.name, violation) if violation is not None else None


def _contract_of(call_id: str, facts: Facts) -> tuple[str | None, Any]:
    """Return the format and the output schema that a model call was asked with."""
    records, config = Records(facts.events), facts.agent.config
    asked = records.model_request(call_id)
    if asked is None:
        return config.get("format"), config.get("output_schema")
    header = records.header(asked[1].private.header_seq)
    return asked[1].format, (header.get("config") or {}).get("output_schema")


def _tool(call_id: str, name: str, facts: Facts) -> Mapping[str, Any] | None:
    """Return the tool that a call is held to. Source: U-3."""
    if facts.events:
        return Records(facts.events).contract(call_id, name).tool
    return facts.agent.tool(name)


def problem_of(name: str, arguments: Any, tools: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what is wrong with a tool call's arguments, worded for the model. Source: 8.4, U-5."""
    tool = next((one for one in tools if one["name"] == name), None)
    if tool is None:
        return undeclared_tool_text(name, [one["name"] for one in tools])
    text = arguments if isinstance(arguments, str) else compact(arguments)
    return unfit_arguments_text(name, to_json(check_input(tool.get("input"), text)))
