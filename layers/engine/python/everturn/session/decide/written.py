"""Writes the messages of an answer: a view, the client's news, or a suffix; told apart by ids.

Source: decision-protocol V-2, V-3, V-5, V-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everturn.protocol.json_text import canonical
from everturn.session.decide.branches import go_to
from everturn.session.decide.children import result_place
from everturn.session.decide.views import head_place, is_same
from everturn.session.events.children import SubAgentErrored, SubAgentTurnCompleted
from everturn.session.events.decisions import DecisionQueued
from everturn.session.events.messages import MessageSource
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallRequested,
    RequestHeader,
)
from everturn.session.events.tool_calls import ToolCallCompleted, ToolCallErrored
from everturn.session.facts import Place
from everturn.session.journal import Journal
from everturn.session.refs import Ref, same_as
from everturn.session.state import Decision
from everturn.session.tree import Stretches, places_of, reconcile


def write_messages(
    journal: Journal, decision: Decision, messages: Sequence[Mapping[str, Any]]
) -> Stretches | None:
    """Write what of `messages` is new where it stands in the tree, and have the head go there.

    Returns the path to where it went, `None` where it stayed on its own.
    """
    if not messages:
        return None
    queued = journal.event(decision.seq)
    news = list(queued.news or ()) if isinstance(queued, DecisionQueued) else []
    places = places_of(journal.all_events())
    named = {message["id"] for message in messages if message.get("id")}
    new, base = messages, head_place(journal.session)
    if named & places.keys():
        base, at = reconcile(messages, places, _answered(journal, places), journal.begun)
        new = messages[at:]
    elif isinstance(queued, DecisionQueued) and named & {message["id"] for message in news}:
        base = base if queued.private.appends else places.get(queued.private.base_id or "")
    path = None
    if not is_same(base, head_place(journal.session)):
        path = go_to(journal, base, new)
    used = set(places)
    for message in new:
        wanted = message.get("id")
        own = wanted if wanted and wanted not in used else journal.mint()
        used.add(own)
        _write(journal, decision, {**message, "id": own}, news)
    return path


def _answered(journal: Journal, places: Mapping[str, Place]) -> dict[str, Place]:
    """Return where the active path answers tool calls, by call id. Source: V-6."""
    return {
        node.message["tool_call_id"]: places[node.message["id"]]
        for node in journal.path
        if node.message["role"] == "tool"
    }


def _write(
    journal: Journal, decision: Decision, message: dict[str, Any], news: list[Mapping[str, Any]]
) -> None:
    """Write a message; a body that stands in the log already is referred to."""
    text = canonical(message)
    for position, one in enumerate(news):
        if canonical(one) == text:
            body = same_as(decision.seq, f"news.{position}")
            source = MessageSource(kind="agent" if _is_mail(journal, decision) else "user")
            journal.write(message, source, {"message": body})
            return
    refs: dict[str, Ref] = {}
    source, is_error = MessageSource(kind="worker"), False
    match reported(journal, decision):
        case (seq, ModelCallCompleted() as end) if canonical(end.message) == text:
            refs, source = {"message": same_as(seq, "message")}, _model(journal, end.id)
        case (seq, SubAgentTurnCompleted() | SubAgentErrored() as end) if (
            message["role"] == "tool" and message.get("tool_call_id") == end.id
        ):
            is_error = isinstance(end, SubAgentErrored)
            told = end.error if isinstance(end, SubAgentErrored) else end.result
            if message.get("content") == told:
                refs, source = result_place(seq, end), MessageSource(kind="tool")
        case (seq, ToolCallCompleted() | ToolCallErrored() as end) if (
            message["role"] == "tool" and message.get("tool_call_id") == end.id
        ):
            field = "result" if isinstance(end, ToolCallCompleted) else "error"
            is_error = field == "error"
            if message.get("content") == getattr(end, field):
                refs = {"message.content": same_as(seq, field)}
                source = MessageSource(kind="tool")
    journal.write(message, source, refs, is_error=is_error)


def _is_mail(journal: Journal, decision: Decision) -> bool:
    queued = journal.event(decision.seq)
    return isinstance(queued, DecisionQueued) and queued.private.is_mail


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
