"""Takes a client's input: opens the session and the turn, records the messages, asks the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.rejections import AgentMismatch, RoleNotAllowed, TurnAlreadyActive, UnsupportedView
from everturn.session.commands import SubmitInput
from everturn.session.decide.call_ids import with_own_call_ids
from everturn.session.decide.model_call import open_model_call
from everturn.session.decide.turn_end import complete_turn
from everturn.session.events.decisions import DecisionCompleted, DecisionQueued
from everturn.session.events.messages import AgentPrivate, AgentUpdated, MessageSource
from everturn.session.events.sessions import (
    SessionCreated,
    SessionHeader,
    TurnAdmitted,
    TurnStarted,
)
from everturn.session.journal import Journal
from everturn.session.refs import same_as
from everturn.session.state import Session, Turn, is_quiescent

NOT_THE_USERS: Final = frozenset({"system", "assistant"})
"""Roles of messages that an end user's client cannot bring in. Source: decision-protocol V-11."""


def submit(journal: Journal, command: SubmitInput) -> None:
    """Open a turn with the input's news, and its model call, in one go.

    Raises `AgentMismatch` (S-3), `TurnAlreadyActive` (T-2), `UnsupportedView` for a view that is
    not the active path with something after it, `RoleNotAllowed` (V-11). Source: decision-protocol
    O-6, G-1.
    """
    session = journal.session
    if session.seq == 0:
        _create(journal, command)
    elif session.agent_id != command.agent_id:
        raise AgentMismatch(
            f"The session {command.session_id} belongs to another agent; "
            "leave out session_id to start a new one."
        )
    elif session.turn is not None:
        _yield_turn(journal, session.turn)
    news = news_of(session, command, journal)
    if command.is_frontend and any(message["role"] in NOT_THE_USERS for message in news):
        raise RoleNotAllowed("With a client token new messages have the role user or tool.")
    journal.add(
        TurnStarted(turn_id=command.turn_id, input_type=command.input_type, stream=command.stream)
    )
    if journal.session.agent_seq == 0:
        _start_session(journal)
    _record(journal, command.input_type, news)
    if news or _last_role(journal) != "assistant":
        open_model_call(journal)
    else:
        complete_turn(journal, "done", data=_last_content(journal))


def _create(journal: Journal, command: SubmitInput) -> None:
    journal.add(
        SessionCreated(
            session_id=command.session_id,
            agent_id=command.agent_id,
            owner=command.owner,
            private=SessionHeader(decides="engine"),
        )
    )


def _yield_turn(journal: Journal, turn: Turn) -> None:
    """A turn that waits for nothing makes way; any other keeps its place. Source: T-2, T-3.4."""
    if not is_quiescent(journal.session):
        raise TurnAlreadyActive(
            f"The turn {turn.id} is still running; send the input when it has ended.",
            turn_id=turn.id,
        )
    complete_turn(journal, "quiescent")


def _start_session(journal: Journal) -> None:
    """Ask and answer `session.start` with the declared config. Source: 8.1, S-4."""
    decision_id = journal.mint()
    journal.add(DecisionQueued(id=decision_id, trigger_type="session.start"))
    journal.add(DecisionCompleted(id=decision_id))
    agent = journal.facts.agent
    journal.add(AgentUpdated(agent=dict(agent.config), private=AgentPrivate(sha256=agent.sha256)))


def _record(journal: Journal, input_type: str, news: list[dict[str, Any]]) -> None:
    decision_id = journal.mint()
    queued = journal.add(
        DecisionQueued(
            turn_id=journal.turn_id,
            id=decision_id,
            trigger_type="client.messages",
            news=news or None,
        )
    )
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision_id))
    number = journal.session.turns + 1
    journal.add(TurnAdmitted(turn_id=journal.turn_id, turn=number, trigger=input_type))
    for position, message in enumerate(news):
        body = same_as(queued, f"news.{position}")
        journal.write(message, MessageSource(kind="user"), {"message": body})


def news_of(session: Session, command: SubmitInput, journal: Journal) -> list[dict[str, Any]]:
    """Return the messages of the view that are to be recorded, each with its id. Source: V-5, V-6.

    Raises `UnsupportedView` where recording them would leave the active path.
    """
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


def _last_role(journal: Journal) -> str:
    return journal.path[-1].message["role"] if journal.path else ""


def _last_content(journal: Journal) -> Any:
    return journal.path[-1].message.get("content")
