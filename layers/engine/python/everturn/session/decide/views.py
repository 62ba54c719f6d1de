"""Finds out what of a client's view is new; writes nothing. Source: V-4 to V-6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.rejections import UnsupportedView
from everturn.session.commands import SubmitInput
from everturn.session.decide.call_ids import with_own_call_ids
from everturn.session.journal import Journal
from everturn.session.state import Session


def news_of(session: Session, command: SubmitInput, journal: Journal) -> list[dict[str, Any]]:
    """Return the messages of the view that are to be recorded, each with its id. Source: V-5, V-6.

    Raises `UnsupportedView` where recording them would leave the active path.
    """
    if command.input_type == "client.action":
        return []
    places = {node.id: node.depth for node in command.known}
    answers = _answers(session, journal)
    reached = session.head.depth if command.input_type == "client.message" and session.head else 0
    news: list[dict[str, Any]] = []
    renamed: dict[str, str] = {}
    for message in command.view:
        depth = places.get(message.get("id") or "", 0)
        answered = answers.get(message["tool_call_id"]) if message["role"] == "tool" else None
        if not news and depth > reached:
            reached = depth
        elif not news and answered is not None:
            reached = max(reached, answered)
        else:
            own = with_own_call_ids(journal, message, renamed)
            news.append(_with_id(own, {m["id"] for m in news}, journal))
    if session.head is not None and reached != session.head.depth:
        raise UnsupportedView(
            "The view does not continue the conversation's newest message; "
            "send all messages with their ids, and the new ones after them."
        )
    return news


def _answers(session: Session, journal: Journal) -> dict[str, int]:
    """Return where the path answers tool calls, as depths by call id. Source: V-6."""
    first = session.head.depth - len(journal.path) + 1 if session.head else 1
    return {
        node.message["tool_call_id"]: depth
        for depth, node in enumerate(journal.path, start=first)
        if node.message["role"] == "tool"
    }


def _with_id(message: Mapping[str, Any], used: set[str], journal: Journal) -> dict[str, Any]:
    wanted = message.get("id")
    free = wanted and wanted not in used and not journal.is_known(wanted)
    return {**message, "id": wanted if free else journal.mint()}
