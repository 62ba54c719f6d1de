"""Continues an open turn with a view that answers the client's own tools.

Source: decision-protocol T-3.2, U-7, U-8, O-18; field case F10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.protocol.json_text import compact
from everturn.session.commands import SubmitInput
from everturn.session.decide.model_call import open_model_call
from everturn.session.decide.moving import move_on
from everturn.session.decide.questions import queue
from everturn.session.decide.settlements import settle_open
from everturn.session.decide.turn_end import end_step, void_call
from everturn.session.decide.views import View
from everturn.session.events.decisions import DecisionCompleted, DecisionQueued, QueuedPrivate
from everturn.session.events.messages import MessageSource
from everturn.session.events.sessions import TurnContinued
from everturn.session.journal import Journal
from everturn.session.refs import same_as
from everturn.session.state import Call, CallStatus

CANCELLED_BEFORE_RESULT: Final = '{"error":"cancelled before a result was recorded"}'
"""Source: decision-protocol T-16."""

Answers = list[tuple[Call, Mapping[str, Any]]]
"""Open calls of the client's own tools, each with the tool message that answers it."""


def answers_of(journal: Journal, command: SubmitInput) -> Answers:
    """Return which open client tools a view answers. Source: U-6."""
    if command.input_type != "client.messages":
        return []
    found: Answers = []
    for message in command.view:
        call = journal.session.call(message.get("tool_call_id") or "")
        if call is not None and call.handler == "client" and call.status is CallStatus.PENDING:
            found.append((call, message))
    return found


def continue_turn(journal: Journal, command: SubmitInput, view: View, answers: Answers) -> None:
    """Settle what the view answers, and take in the rest of it, in the turn that is open."""
    news = list(view.news)
    turn_id = journal.turn_id
    if turn_id != command.turn_id:
        journal.add(TurnContinued(turn_id=turn_id, alias=command.turn_id))
    if len(answers) == 1 and len(news) == 1:
        call, message = answers[0]
        settle_open(journal, call, _result(message), command.readings.get(call.id))
        move_on(journal, None)
        return
    answered = {call.id for call, _ in answers}
    news = [_as_settled(message, command.readings) for message in news]
    for call, message in answers:
        settle_open(journal, call, _result(message), command.readings.get(call.id), reports=False)
    if news[-1]["role"] == "user":
        news = _close_others(journal, news, answered)
    _take_in(journal, command, news)


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else compact(content)
    return {"type": "tool.result", "result": text}


def _as_settled(message: dict[str, Any], readings: Mapping[str, str]) -> dict[str, Any]:
    """Return a tool message as the model may see it. Source: U-8."""
    problem = readings.get(message.get("tool_call_id") or "")
    return {**message, "content": problem} if problem else message


def _close_others(
    journal: Journal, news: list[dict[str, Any]], answered: set[str]
) -> list[dict[str, Any]]:
    """Give up the client's other open calls: the conversation has moved on. Source: O-18."""
    closed = []
    for call in journal.session.calls:
        if call.handler == "client" and call.id not in answered:
            void_call(journal, call, "left_unanswered")
            closed.append(
                {
                    "id": journal.mint(),
                    "role": "tool",
                    "tool_call_id": call.id,
                    "name": call.name,
                    "content": CANCELLED_BEFORE_RESULT,
                }
            )
    last = max((at for at, message in enumerate(news) if message["role"] == "tool"), default=-1)
    return [*news[: last + 1], *closed, *news[last + 1 :]]


def _take_in(journal: Journal, command: SubmitInput, news: list[dict[str, Any]]) -> None:
    client = dict(command.client) if command.client else None
    if journal.session.decides == "worker":
        queue(
            journal,
            "client.messages",
            turn_id=journal.turn_id,
            news=news,
            client=client,
            private=QueuedPrivate(appends=True),
        )
        move_on(journal, None)
        return
    decision_id = journal.mint()
    queued = journal.add(
        DecisionQueued(
            turn_id=journal.turn_id,
            id=decision_id,
            trigger_type="client.messages",
            news=news,
            client=client,
        )
    )
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision_id))
    for position, message in enumerate(news):
        body = same_as(queued, f"news.{position}")
        journal.write(message, MessageSource(kind="user"), {"message": body})
    if not journal.session.calls and not journal.session.is_paused:  # P-6
        end_step(journal)
        open_model_call(journal)
