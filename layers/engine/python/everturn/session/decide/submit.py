"""Takes a client's input: opens the session and the turn, or goes on with an open one.

Where the engine decides it records the messages and asks the model; a worker is asked instead.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.rejections import AgentMismatch, RoleNotAllowed, TurnAlreadyActive
from everturn.session.commands import SubmitInput
from everturn.session.decide.beginnings import ask_start, create, start_session
from everturn.session.decide.branches import go_to, leave_branch, park
from everturn.session.decide.cancel import check_not_cancelled
from everturn.session.decide.client_answers import answers_of, continue_turn
from everturn.session.decide.interrupts import interrupted
from everturn.session.decide.model_call import open_model_call
from everturn.session.decide.questions import queue
from everturn.session.decide.response import update_agent
from everturn.session.decide.runs import (
    enqueue_run,
    has_to_wait,
    request_run,
    take_settings,
)
from everturn.session.decide.turn_end import complete_turn
from everturn.session.decide.views import View, is_destination_paused, read_view
from everturn.session.events.decisions import DecisionCompleted, DecisionQueued, QueuedPrivate
from everturn.session.events.messages import MessageSource
from everturn.session.events.sessions import StartedPrivate, TurnAdmitted, TurnStarted
from everturn.session.journal import Journal
from everturn.session.proposal import layered_config
from everturn.session.refs import same_as
from everturn.session.state import Turn, is_quiescent

NOT_THE_USERS: Final = frozenset({"system", "assistant"})
"""Roles of messages that an end user's client cannot bring in. Source: decision-protocol V-11."""


def submit(journal: Journal, command: SubmitInput) -> None:
    """Open a turn with the input's news, or continue the open one that it answers.

    Raises `SessionCancelled` (S-8), `AgentMismatch` (S-3), `TurnAlreadyActive` (T-2),
    `SessionInterrupted` (I-6), `RoleNotAllowed` (V-11); `NeedsBranches` and `NeedsDestination` for
    what has to be read first. Source: O-6, G-1, T-3.
    """
    session = journal.session
    check_not_cancelled(session)
    if session.seq == 0:
        create(journal, command.session_id, command.agent_id, command.owner, command.decides)
    elif session.agent_id != command.agent_id:
        raise AgentMismatch(
            f"The session {command.session_id} belongs to another agent; "
            "leave out session_id to start a new one."
        )
    view = read_view(journal, command)
    if command.is_frontend and any(message["role"] in NOT_THE_USERS for message in view.news):
        raise RoleNotAllowed("With a client token new messages have the role user or tool.")
    answers = answers_of(journal, command) if view.stays and session.turn is not None else []
    if answers:
        continue_turn(journal, command, view, answers)
        return
    if command.run is not None and has_to_wait(journal):
        enqueue_run(journal, command, view.news)
        return
    leaves = _make_way(journal, view)
    asked = request_run(journal, command)
    journal.add(
        TurnStarted(
            turn_id=command.turn_id,
            input_type=command.input_type,
            stream=command.stream,
            private=StartedPrivate(run_seq=asked),
        )
    )
    if journal.session.decides == "worker":
        _ask_worker(journal, command, view, leaves=leaves, is_new=session.seq == 0)
        return
    if journal.session.agent_seq == 0:
        start_session(journal, same_as(asked, "config") if asked else None)
    _record(journal, command, view, asked)
    if command.input_type == "client.action":
        return
    if view.news or _last_role(journal) != "assistant":
        open_model_call(journal)
    else:
        complete_turn(journal, "done", data=_last_content(journal))


def _make_way(journal: Journal, view: View) -> bool:
    """Have the open turn yield to one that goes where `view` leads; return whether it is parked.

    Where that is paused only a look is taken: a view without news that ends with a reply. Raises
    `SessionInterrupted`, `TurnAlreadyActive`. Source: I-6, I-7, T-2, T-3.
    """
    session = journal.session
    is_look = not view.stays and not view.news and view.last_role == "assistant"
    if is_destination_paused(journal, view) and (session.is_paused or not is_look):
        raise interrupted(session)
    if session.turn is None:
        return session.is_paused
    if session.is_paused:
        park(journal, session.turn)
        return True
    _yield_turn(journal, session.turn)
    return False


def _yield_turn(journal: Journal, turn: Turn) -> None:
    """A turn that waits for nothing makes way; any other keeps its place. Source: T-2, T-3.4."""
    if not is_quiescent(journal.session):
        raise TurnAlreadyActive(
            f"The turn {turn.id} is still running; send the input when it has ended.",
            turn_id=turn.id,
        )
    complete_turn(journal, "quiescent")


def _ask_worker(
    journal: Journal, command: SubmitInput, view: View, *, leaves: bool, is_new: bool
) -> None:
    """Queue what the worker is to decide. Source: S-4, S-5, T-11."""
    if is_new:
        ask_start(journal)
    if command.input_type == "client.action":
        queue(journal, "client.action", turn_id=command.turn_id, action=dict(command.action or {}))
    else:
        queue(
            journal,
            "client.messages",
            turn_id=command.turn_id,
            news=list(view.news) or None,
            client=_client_of(command),
            private=QueuedPrivate(
                base_id=view.base.id if view.base else None,
                appends=command.input_type == "client.message",
                leaves=leaves,
            ),
        )
    _admit(journal, command)


def _client_of(command: SubmitInput) -> dict[str, Any] | None:
    given = command.run.client if command.run is not None else command.client
    return dict(given) if given else None


def _record(journal: Journal, command: SubmitInput, view: View, asked: int) -> None:
    decision_id, is_action = journal.mint(), command.input_type == "client.action"
    queued = journal.add(
        DecisionQueued(
            turn_id=journal.turn_id,
            id=decision_id,
            trigger_type="client.action" if is_action else "client.messages",
            news=list(view.news) or None,
            client=dict(command.client) if command.client else None,
            action=dict(command.action or {}) if is_action else None,
        )
    )
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision_id))
    _admit(journal, command)
    path = None if view.stays else go_to(journal, view.base, view.news)
    for position, message in enumerate(view.news):
        body = same_as(queued, f"news.{position}")
        journal.write(message, MessageSource(kind="user"), {"message": body})
    if path is not None:
        leave_branch(journal, path)
    if command.run is not None:
        take_settings(journal, asked, command.run.config)
    elif not is_action:
        _layer(journal, command)


def _layer(journal: Journal, command: SubmitInput) -> None:
    """Put the client's tools into the config, for this turn. Source: K-4, K-5."""
    held = journal.facts.agent
    tools = (command.client or {}).get("tools") or ()
    if tools or held.layered:
        update_agent(journal, layered_config(held.config, held.layered, tools), tools)


def _admit(journal: Journal, command: SubmitInput) -> None:
    number = journal.session.turns + 1
    journal.add(TurnAdmitted(turn_id=journal.turn_id, turn=number, trigger=command.input_type))


def _last_role(journal: Journal) -> str:
    return journal.path[-1].message["role"] if journal.path else ""


def _last_content(journal: Journal) -> Any:
    return journal.path[-1].message.get("content")
