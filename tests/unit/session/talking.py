"""Conversations for tests of the message tree: what is said, and how the tree looks. No test."""

from __future__ import annotations

from typing import Any

from unit.session.building import Story


def user(text: str, **more: Any) -> dict[str, Any]:
    """Return a new message of the user's."""
    return {"role": "user", "content": text, **more}


def texts(story: Story) -> list[Any]:
    """Return the contents of the active path."""
    return [message.get("content") for message in story.messages()]


def nodes(story: Story) -> dict[str, str | None]:
    """Return every node's parent, both by their contents."""
    made_ = {
        value["id"]: (value["message"]["content"], value.get("parent_id"))
        for value in story.values
        if value["type"] == "message.new"
    }
    return {text: made_[parent][0] if parent else None for text, parent in made_.values()}


def talk(story: Story, *pairs: str) -> None:
    """Have some turns, each a question and its answer."""
    for pair in pairs:
        question, _, reply = pair.partition("/")
        story.submit(question)
        story.answer(reply)
