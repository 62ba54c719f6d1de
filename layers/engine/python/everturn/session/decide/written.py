"""Writes the messages of an answer: a view, the client's news, or a suffix; told apart by ids.

Source: decision-protocol V-2, V-3, V-5, V-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everturn.protocol.json_text import canonical
from everturn.rejections import UnsupportedView
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.messages import MessageSource
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallRequested,
    RequestHeader,
)
from everturn.session.events.tool_calls import ToolCallCompleted, ToolCallErrored
from everturn.session.journal import Journal
from everturn.session.refs import Ref, same_as
from everturn.session.state import Decision


def write_messages(
    journal: Journal, decision: Decision, messages: Sequence[Mapping[str, Any]]
) -> None:
    """Write what of `messages` is new at the end of the path.

    Raises `UnsupportedView` where that would leave the active path.
    """
    if not messages:
        return
    queued = journal.event(decision.seq)
    news = list(queued.news or ()) if isinstance(queued, DecisionQueued) else []
    recorded = {node.message["id"] for node in journal.path}
    named = {message["id"] for message in messages if message.get("id")}
    if named & recorded:
        new = _reconciled(journal, messages)
    else:
        if isinstance(queued, DecisionQueued) and named & {message["id"] for message in news}:
            _check_base(journal, queued)
        new = messages
    used = set(recorded)
    for message in new:
        wanted = message.get("id")
        own = wanted if wanted and wanted not in used else journal.mint()
        used.add(own)
        _write(journal, decision, {**message, "id": own}, news)


def _reconciled(journal: Journal, view: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the messages of a view that stand behind what is recorded. Source: V-5, V-6."""
    places = {node.message["id"]: at for at, node in enumerate(journal.path)}
    answers = {
        node.message["tool_call_id"]: at
        for at, node in enumerate(journal.path)
        if node.message["role"] == "tool"
    }
    reached = -1
    for at, message in enumerate(view):
        place = places.get(message.get("id") or "")
        if message["role"] == "tool":
            place = answers.get(message["tool_call_id"], place)
        if place is None or place < reached:
            new = view[at:]
            break
        reached = place
    else:
        new = ()
    if reached != len(journal.path) - 1:
        raise UnsupportedView("The messages leave the active path; this is not taken yet.")
    return new


def _check_base(journal: Journal, queued: DecisionQueued) -> None:
    head = journal.session.head
    base = queued.private.base_id
    if not queued.private.appends and base != (head.id if head else None):
        raise UnsupportedView("The news leave the active path; this is not taken yet.")


def _write(
    journal: Journal, decision: Decision, message: dict[str, Any], news: list[Mapping[str, Any]]
) -> None:
    """Write a message; a body that stands in the log already is referred to."""
    text = canonical(message)
    for position, one in enumerate(news):
        if canonical(one) == text:
            body = same_as(decision.seq, f"news.{position}")
            journal.write(message, MessageSource(kind="user"), {"message": body})
            return
    refs: dict[str, Ref] = {}
    source, is_error = MessageSource(kind="worker"), False
    match reported(journal, decision):
        case (seq, ModelCallCompleted() as end) if canonical(end.message) == text:
            refs, source = {"message": same_as(seq, "message")}, _model(journal, end.id)
        case (seq, ToolCallCompleted() | ToolCallErrored() as end) if (
            message["role"] == "tool" and message.get("tool_call_id") == end.id
        ):
            field = "result" if isinstance(end, ToolCallCompleted) else "error"
            is_error = field == "error"
            if message.get("content") == getattr(end, field):
                refs = {"message.content": same_as(seq, field)}
                source = MessageSource(kind="tool")
    journal.write(message, source, refs, is_error=is_error)


def _model(journal: Journal, call_id: str) -> MessageSource:
    """Return which model made a reply. Source: session-log MB-3."""
    headers = [
        journal.event(event.private.header_seq)
        for _, event in journal.all_events()
        if isinstance(event, ModelCallRequested) and event.id == call_id
    ]
    configs = [one.header["config"] for one in headers if isinstance(one, RequestHeader)]
    config: Mapping[str, Any] = configs[0] if configs else {}
    return MessageSource(kind="model", provider=config.get("provider"), model=config.get("model"))


def reported(journal: Journal, decision: Decision) -> tuple[int, Any] | None:
    """Return the end of the call that the question reports, with its number."""
    queued = journal.event(decision.seq)
    seq = queued.private.about_seq if isinstance(queued, DecisionQueued) else 0
    return (seq, journal.event(seq)) if seq else None
