"""The spec of a run as the config that its turn goes by, and what a message's spec inherits.

It must not read a session or an agent: both are handed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from everturn.protocol.json_text import compact
from everturn.protocol.limits import (
    DEFAULT_LOOP_CUTOFF,
    DEFAULT_LOOP_NUDGE,
    DEFAULT_TOOL_TURNS,
    MAX_AGENT_BYTES,
    MAX_TOOL_BUDGETS,
    MAX_TOOLS,
)
from everturn.protocol.runs.tool_refs import names_of
from everturn.rejections import InvalidRequest, NotYetSupported
from everturn.runs.reasoning import reasoning_of
from everturn.runs.tools import check_schema, tools_of

Spec = Mapping[str, Any]
"""`RunSpec.spec`: as the caller wrote it, checked."""

OF_SESSIONS: Final = frozenset({"agentId"})
"""What a message cannot say otherwise than its session. Source: 2.2, 8.6."""

TOOL_BUDGETS: Final = {
    "recall": 4,
    "traverse": 3,
    "hive_consult_ontology": 4,
    "hive_search_deals": 5,
    "hive_search_meetings": 5,
    "hive_search_companies": 5,
    "hive_search_people": 5,
    "hive_search_tickets": 5,
    "hive_search_conversations": 5,
    "hive_search_accounts": 5,
    "hive_search_releases": 5,
    "hive_search_issues": 5,
}
"""Calls that a run may make of these tools where nothing is said. Source: 8.2."""


@dataclass(frozen=True, slots=True)
class SpecBase:
    """What a spec is read against."""

    default_model: str
    config: Mapping[str, Any] | None = None
    """The `AgentConfig` of the agent that `agentId` names, as JSON."""

    registered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`AgentTool`s of the tenant as JSON, by name."""


def inherited(session_spec: Spec, message_spec: Spec) -> dict[str, Any]:
    """Return the spec of one run: the session's, but for what its message says."""
    said = {
        name: value
        for name, value in message_spec.items()
        if name not in OF_SESSIONS and value is not None
    }
    return {**session_spec, **said}


def model_of(spec: Spec, base: SpecBase) -> str:
    """Return the selector of the run's model: its own, the agent's, or the default one."""
    own: str | None = (base.config or {}).get("model")
    chosen: str = spec.get("modelId") or own or base.default_model
    return chosen


def config_of(
    spec: Spec, base: SpecBase, efforts: Sequence[str], system: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the `AgentConfig` of a run as JSON.

    `efforts` are those that the model of `model_of` offers, `system` the texts of system messages.
    Raises `InvalidRequest` and `NotYetSupported`.
    """
    refuse_plan_only(spec)
    own = base.config or {}
    config: dict[str, Any] = {
        **own,
        "model": model_of(spec, base),
        "tools": _tools(spec, base),
        "guards": _guards(spec, own.get("guards") or {}),
        "on_failure": "fail",
        "on_truncated": "record",
        "stream": True,
    }
    instructions = [spec.get("systemPrompt") or own.get("system"), *system]
    if text := "\n\n".join(said for said in instructions if said):
        config["system"] = text
    if spec.get("outputSchema"):
        schema = spec["outputSchema"]["schema"]
        check_schema(schema, "/outputSchema/schema")
        config["output_schema"] = schema
    if spec.get("fallbackModelId"):
        config["fallback_models"] = [spec["fallbackModelId"]]
    _set_reasoning(config, spec, efforts)
    _check_size(config)
    return config


def refuse_plan_only(spec: Spec) -> None:
    """Refuse a plan without its run. Raises `NotYetSupported`."""
    plan = spec.get("plan")
    if isinstance(plan, Mapping) and plan.get("planOnly"):
        raise NotYetSupported("/plan/planOnly: a plan without its run is not made yet")


def _set_reasoning(config: dict[str, Any], spec: Spec, efforts: Sequence[str]) -> None:
    level = spec.get("reasoningLevel")
    if level is None:
        return
    config.pop("reasoning", None)
    reasoning = reasoning_of(level, efforts)
    if reasoning is not None:
        config["reasoning"] = reasoning


def _tools(spec: Spec, base: SpecBase) -> list[Mapping[str, Any]]:
    """Return the agent's own tools and those of the run behind them."""
    refs, own = spec.get("tools") or (), base.config or {}
    taken = dict(_own_names(own))
    more = []
    for tool in tools_of(refs, base.registered):
        held = taken.get(tool["name"])
        if held is None:
            more.append(tool)
        elif held != tool:  # a registered tool that the agent has anyway is no second one
            path = dict(names_of(refs))[tool["name"]]
            raise InvalidRequest(f"{path}: the agent has a tool {tool['name']} of its own")
    tools = [*(own.get("tools") or ()), *more]
    if len(tools) + len(own.get("sub_agents") or ()) > MAX_TOOLS:
        raise InvalidRequest(f"/tools: more than {MAX_TOOLS} tools, the agent's own among them")
    return tools


def _own_names(own: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what the model may call of an agent without its run, by name."""
    for name in own.get("builtins") or ():
        yield name, {}
    for sub_agent in own.get("sub_agents") or ():
        yield sub_agent["id"], sub_agent
    for tool in (*(own.get("a2a") or ()), *(own.get("tools") or ())):
        yield tool["name"], tool


def _guards(spec: Spec, own: Mapping[str, Any]) -> dict[str, Any]:
    cap = (spec.get("budgets") or {}).get("maxToolTurns")
    return {
        **own,
        "loop_detection": _loop_detection(spec.get("loopDetection"), own.get("loop_detection")),
        "tool_budgets": _tool_budgets(spec.get("toolBudgets"), own.get("tool_budgets")),
        "max_tool_turns": cap or own.get("max_tool_turns") or DEFAULT_TOOL_TURNS,
    }


def _loop_detection(asked: Any, own: Any) -> Any:
    """Return the thresholds of the run, else the agent's, else the usual ones; or false."""
    if asked is None and own is not None:
        return own
    if asked is False:
        return False
    said = asked if isinstance(asked, Mapping) else {}
    return {
        "consecutive_threshold": said.get("consecutiveThreshold") or DEFAULT_LOOP_NUDGE,
        "hard_cutoff_threshold": said.get("hardCutoffThreshold") or DEFAULT_LOOP_CUTOFF,
    }


def _tool_budgets(asked: Mapping[str, Any] | None, own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the run's budgets, then the agent's, then the usual ones, as many as may be.

    An empty object of the run's clears all.
    """
    if asked is not None and not asked:
        return {}
    said = {name: {"max_calls": budget["maxCalls"]} for name, budget in (asked or {}).items()}
    usual = {name: {"max_calls": calls} for name, calls in TOOL_BUDGETS.items()}
    layered = {**usual, **(own or {}), **said}
    order = dict.fromkeys((*said, *(own or {}), *usual))
    return {name: layered[name] for name in islice(order, MAX_TOOL_BUDGETS)}


def _check_size(config: Mapping[str, Any]) -> None:
    size_bytes = len(compact(config).encode())
    if size_bytes > MAX_AGENT_BYTES:
        raise InvalidRequest(
            f"/: instructions, tools and schemas have {size_bytes} bytes together; at most "
            f"{MAX_AGENT_BYTES} are taken"
        )
