"""Sub-agents of a config as the model sees them, and what its call of one says; nothing starts.

Source: decision-protocol L-5, 8.7, B-2.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from typing import Any, Final

from everturn.protocol.ids import uuid5_in

INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
    "additionalProperties": False,
}
"""The schema of every sub-agent's arguments. Source: L-5."""


def as_tool(sub_agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool that stands for a sub-agent."""
    told = sub_agent.get("description") or f"Hand the task to {sub_agent['id']}."
    return {"name": sub_agent["id"], "description": told, "input": INPUT}


def tools_of(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all that the model may call: tools in config order, then sub-agents."""
    return [*(config.get("tools") or ()), *map(as_tool, config.get("sub_agents") or ())]


def is_sub_agent(config: Mapping[str, Any], name: str) -> bool:
    """Return whether a name that the model calls is a declared sub-agent's."""
    return any(one["id"] == name for one in config.get("sub_agents") or ())


def message_in(arguments: str) -> str | None:
    """Return the message of a call whose arguments fit; `None` where they do not, or it is empty.

    A message without content is none that a session takes (V-10).
    """
    try:
        given = loads(arguments)
    except (ValueError, RecursionError):
        return None
    text = given.get("message") if isinstance(given, dict) and len(given) == 1 else None
    return text if isinstance(text, str) and text else None


def child_of(session_id: str, decision_id: str, tool_call_id: str) -> str:
    """Return the id of the child that answers a tool call: the same in every redelivery. B-2."""
    return uuid5_in(session_id, decision_id, tool_call_id)
