"""What a person sees of a turn on a console."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from everturn_local.showing import TurnPrinter


def shown(*payloads: dict[str, Any]) -> list[str]:
    """Return the lines that events come to."""
    text = io.StringIO()
    printer = TurnPrinter(Console(file=text, width=120))
    for payload in payloads:
        printer.show({"type": "event", "event": {"payload": payload}})
    printer.end()
    return [" ".join(line.split()) for line in text.getvalue().splitlines()]


def test_tools_and_sub_agents_are_shown_with_what_they_came_to() -> None:
    lines = shown(
        {"type": "tool.call.requested", "name": "look", "arguments": "{}"},
        {"type": "sub_agent.started", "agent_id": "poet", "session_id": "s2"},
        {"type": "tool.call.completed", "result": "a cloud"},
        {"type": "sub_agent.turn_completed", "result": "Soft rain"},
        {"type": "sub_agent.interrupted", "session_id": "s3", "reason": "confirm"},
        {"type": "sub_agent.errored", "error": "no"},
        {"type": "sub_agent.turn_completed"},
        {"type": "request.context"},
    )

    assert lines == [
        "tool call look {}",
        "sub-agent poet, session s2",
        "result a cloud",
        "result Soft rain",
        "paused s3: confirm",
        "error no",
        "result",
    ]
