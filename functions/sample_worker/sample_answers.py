"""A decision request -> a decision response: runs tools, leaves all else to the engine."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from sample_clock import clock
from sample_convert import convert
from sample_errors import ToolFailed
from sample_notes import note_pad, notes_in

TOOLS = ("clock", "convert", "note_pad")


def answer(request: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the answer to `request` as of `now`; `{}`, no objection, to all but `tool.execute`.

    Pure: the same delivery twice gets the same answer, and the engine applies one of them.
    """
    trigger = request.get("trigger")
    if not isinstance(trigger, dict) or trigger.get("type") != "tool.execute":
        return {}
    try:
        result, state = run(trigger, request.get("state"), now)
    except ToolFailed as error:
        return {"actions": [{"type": "tool.error", "error": str(error), "retryable": False}]}
    settled: dict[str, Any] = {"actions": [{"type": "tool.result", "result": result}]}
    return settled if state is None else {**settled, "state": state}


def run(trigger: dict[str, Any], state: object, now: datetime) -> tuple[Any, dict[str, Any] | None]:
    """Return a tool's result, and the agent's new state where it changed; raises `ToolFailed`."""
    arguments = arguments_of(trigger)
    match trigger.get("name"):
        case "clock":
            return clock(arguments, now), None
        case "convert":
            return convert(arguments), None
        case "note_pad":
            before = notes_in(state)
            result, after = note_pad(arguments, before)
            others = state if isinstance(state, dict) else {}
            return result, None if after == before else {**others, "notes": list(after)}
        case name:
            raise ToolFailed(f"There is no tool named {name} here; there are {', '.join(TOOLS)}.")


def arguments_of(trigger: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments, numbers exactly as the model wrote them; raises `ToolFailed`.

    The engine has checked them against the tool's schema and says so in `input`.
    """
    checked = trigger.get("input")
    if isinstance(checked, dict) and checked.get("status") in {"invalid", "malformed"}:
        raise ToolFailed(f"The arguments do not fit: {checked.get('error')}")
    try:
        arguments = json.loads(trigger.get("arguments") or "{}", parse_float=Decimal)
    except (ValueError, TypeError, RecursionError) as error:
        raise ToolFailed("The arguments should be one JSON object.") from error
    if not isinstance(arguments, dict):
        raise ToolFailed("The arguments should be one JSON object.")
    return arguments
