"""Writes the engine's own notes into a conversation; it must not know when one is due."""

from __future__ import annotations

from everturn.session.events.messages import MessageSource
from everturn.session.guard_texts import FINAL_NOTE
from everturn.session.journal import Journal
from everturn.session.state import Turn


def write_note(journal: Journal, text: str) -> None:
    """Write a user's message that the engine made; `text` says so at its beginning."""
    message = {"id": journal.mint(), "role": "user", "content": text}
    journal.write(message, MessageSource(kind="engine"), {})


def tell_final(journal: Journal, turn: Turn) -> None:
    """Tell the model, once in a turn, that it is to answer without tools."""
    told = (
        node.seq > turn.first_seq and node.message.get("content") == FINAL_NOTE
        for node in journal.path
    )
    if not any(told):
        write_note(journal, FINAL_NOTE)
