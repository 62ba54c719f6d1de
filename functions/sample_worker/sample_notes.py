"""Tool `note_pad`: notes that live in the agent's state, so the worker itself keeps nothing."""

from __future__ import annotations

from typing import Any

from sample_errors import ToolFailed

MAX_NOTES = 100
MAX_NOTE_CHARS = 1000


def notes_in(state: object) -> tuple[str, ...]:
    """Return the notes of an agent state `{notes: [...]}`; none where it is anything else."""
    notes = state.get("notes") if isinstance(state, dict) else None
    return tuple(str(note) for note in notes) if isinstance(notes, list) else ()


def note_pad(
    arguments: dict[str, Any], notes: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the result `{notes, count}` of `{action, text?}` and the notes as they are then.

    Raises `ToolFailed`.
    """
    match arguments.get("action"):
        case "add":
            after = (*notes, new_note(arguments.get("text"), notes))
        case "list":
            after = notes
        case "clear":
            after = ()
        case _:
            raise ToolFailed("action should be add, list or clear.")
    return {"notes": list(after), "count": len(after)}, after


def new_note(text: object, notes: tuple[str, ...]) -> str:
    """Return the note to add; raises `ToolFailed` for an empty one, a long one, one too many."""
    if not isinstance(text, str) or not text.strip():
        raise ToolFailed("To add a note, text is needed.")
    if len(text) > MAX_NOTE_CHARS:
        raise ToolFailed(f"A note has at most {MAX_NOTE_CHARS} characters, not {len(text)}.")
    if len(notes) >= MAX_NOTES:
        raise ToolFailed(f"The pad is full with {MAX_NOTES} notes; clear it first.")
    return text.strip()
