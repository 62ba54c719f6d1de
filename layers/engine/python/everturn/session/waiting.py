"""How a tool may stay open: it asks its user, starts a task, or is not finished. Values only.

Source: decision-protocol O-12; agent-session.md 11 and 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class UserAsked:
    """The tool asks its user something, and runs again with the answer."""

    question: str
    choices: tuple[str, ...] = ()
    allows_free_text: bool = True
    continuation: Any = None


@dataclass(frozen=True, slots=True)
class TaskBegun:
    """The work goes on elsewhere."""

    task_id: str
    interval_s: float
    continuation: Any = None


@dataclass(frozen=True, slots=True)
class TaskPending:
    """The task is not finished; without an interval the one before holds."""

    interval_s: float | None = None
    continuation: Any = None


Held = UserAsked | TaskBegun | TaskPending

HOLDS: Final = ("tool.ask", "tool.task", "tool.pending")
"""Actions that keep the call open that was asked about; they name none."""

ANSWERS: Final = {
    "tool.execute": frozenset({"tool.ask", "tool.task"}),
    "tool.poll": frozenset({"tool.ask", "tool.pending"}),
}
"""Which of them answer which question."""


def held_by(action: Mapping[str, Any]) -> Held:
    """Return what an action of `HOLDS`, in its wire form, says.

    Choices are closed unless the tool says otherwise; without any, text is free.
    """
    continuation = action.get("continuation")
    match action["type"]:
        case "tool.ask":
            choices = tuple(action.get("choices") or ())
            is_free = not choices or bool(action.get("allows_free_text"))
            return UserAsked(action["question"], choices, is_free, continuation)
        case "tool.task":
            return TaskBegun(action["task_id"], action["poll_interval_seconds"], continuation)
        case _:
            return TaskPending(action.get("poll_interval_seconds"), continuation)


def misplaced(trigger: str, action_type: str) -> str:
    """Say why an action of `HOLDS` is no answer to `trigger`; empty where it is one."""
    if action_type in ANSWERS.get(trigger, ()):
        return ""
    askable = [name for name, taken in ANSWERS.items() if action_type in taken]
    return f"{action_type} answers {' and '.join(askable)}, not {trigger}"
