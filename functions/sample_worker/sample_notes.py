"""Notes that live in the agent's state, so that the worker itself keeps nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, assert_never

from everturn.workers import ToolError

MAX_NOTES = 100
MAX_NOTE_CHARS = 1000

Action = Literal["add", "list", "clear"]


def notes_in(state: object) -> tuple[str, ...]:
    """Return the notes of an agent state `{notes: [...]}`; none where it is anything else."""
    notes = state.get("notes") if isinstance(state, dict) else None
    return tuple(str(note) for note in notes) if isinstance(notes, list) else ()


@dataclass(frozen=True, slots=True)
class Notes:
    """The pad as it is now."""

    notes: tuple[str, ...]
    count: int


def changed(action: Action, text: str, state: Any) -> tuple[Any, Notes]:
    """Return the agent's state after `action`, the same one where nothing changes, and the pad.

    Raises `ToolError`.
    """
    notes = notes_in(state)
    match action:
        case "add":
            after = (*notes, new_note(text, notes))
        case "list":
            after = notes
        case "clear":
            after = ()
        case _:
            assert_never(action)
    others = state if isinstance(state, dict) else {}
    kept = state if after == notes else {**others, "notes": list(after)}
    return kept, Notes(after, len(after))


def new_note(text: str, notes: tuple[str, ...]) -> str:
    """Return the note to add; raises `ToolError` for an empty one, and for one too many."""
    if not text.strip():
        raise ToolError("To add a note, text is needed.")
    if len(notes) >= MAX_NOTES:
        raise ToolError(f"The pad is full with {MAX_NOTES} notes; clear it first.")
    return text.strip()
