"""What a run's stream tells of a model's words: pieces as they come, and the whole message."""

from __future__ import annotations

from typing import Any, Final

from everturn.ports.streams import Delta
from everturn.runs.frames import Told
from everturn.runs.tool_frames import calls_in, read_arguments
from everturn.session.events.model_calls import ModelCallCompleted

FINISH_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
"""The others are the provider's own and stay. Source: vocabulary, "Finish reasons"."""


def finish_reason(reason: str | None) -> str | None:
    """Return a finish reason as the runs view has it."""
    return FINISH_REASONS.get(reason, reason) if reason else None


def text_in(message: Any) -> str:
    """Return the text of a model's reply, of all its parts together."""
    match (message or {}).get("content"):
        case str() as text:
            return text
        case list() as parts:
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            return "".join(text for text in texts if isinstance(text, str))
        case _:
            return ""


def assistant_message(event: ModelCallCompleted, turn: int) -> Told:
    """Return the frame of a whole reply; `turn` counts the run's model calls from 0."""
    data: dict[str, Any] = {"text": text_in(event.message), "turn": turn}
    if reason := finish_reason(event.finish_reason):
        data["finishReason"] = reason
    if calls := calls_in(event.message):
        data["toolCalls"] = [
            {
                "id": one["id"],
                "name": one["function"]["name"],
                "input": read_arguments(one["function"]["arguments"]),
            }
            for one in calls
        ]
    return "assistant_message", data


def last_words(text: str, turn: int) -> Told:
    """Return the frame of a reply that was broken off."""
    return "assistant_message", {"text": text, "turn": turn}


def delta_frame(delta: Delta) -> Told | None:
    """Return the frame of a piece of a reply, `None` for one that says nothing to readers.

    A piece has text or thinking: its writer parts them.
    """
    if text := delta.body.get("text"):
        return "assistant_delta", {"text": text}
    if thought := delta.body.get("reasoning"):
        return "thinking_delta", {"text": thought}
    return None
