"""Messages of the runs API as messages of the core, and back as callers read them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from everturn.protocol.runs.turn_input import InputMessage
from everturn.runs.files import part_of, told_of_part


def drafts(turn: Iterable[InputMessage]) -> list[dict[str, Any]]:
    """Return what users and models said as `DraftMessage`s; a file is a part behind the text."""
    return [_draft(message) for message in turn if message.role != "system"]


def system_texts(turn: Iterable[InputMessage]) -> list[str]:
    """Return the system messages that say something; they go into the run's config."""
    said = (message.content for message in turn if message.role == "system")
    return [text for text in said if text.strip()]


def replayed(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return `{text, attachments?}` of a recorded message.

    Images, audio and videos have lost the names that they came with.
    """
    content = message.get("content") or ""
    if isinstance(content, str):
        return {"text": content}
    text = "\n".join(part["text"] for part in content if part["type"] == "text")
    found = [told for part in content if (told := told_of_part(part))]
    return {"text": text, "attachments": found} if found else {"text": text}


def _draft(message: InputMessage) -> dict[str, Any]:
    if not message.attachments:
        return {"role": message.role, "content": message.content}
    text = [{"type": "text", "text": message.content}] if message.content else []
    return {"role": message.role, "content": [*text, *map(part_of, message.attachments)]}
