"""What the guards have counted in a turn; how it changes stands elsewhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """What the guards have counted in a turn. Source: agent-runs, section 8."""

    signature: str = ""
    streak: int = 0
    tool_turns: int = 0
    calls: tuple[tuple[str, int], ...] = ()
    """Of tools with a budget: how often they were asked for."""
