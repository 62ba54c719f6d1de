"""Turns that are asked for with settings of their own, and sessions that wait for such turns.

A run is a turn; nothing here knows how the runs API spells one. Source: agent-runs.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everturn.session.commands import SubmitInput
from everturn.session.decide.beginnings import ask_start, create, start_session
from everturn.session.decide.inbox import check_room
from everturn.session.decide.response import update_agent
from everturn.session.events.mail import EnqueuedPrivate, InboxEnqueued
from everturn.session.events.runs import RunRequested, SessionDescribed
from everturn.session.inbox_commands import BeginSession
from everturn.session.journal import Journal
from everturn.session.refs import same_as
from everturn.session.state import is_quiescent


def begin_session(journal: Journal, command: BeginSession) -> None:
    """Make a session; one that is there already stays as it is."""
    if journal.session.seq:
        return
    decides = journal.facts.agent.decides
    create(journal, command.session_id, command.agent_id, command.owner, decides)
    if decides == "worker":
        ask_start(journal)
    else:
        start_session(journal)
    journal.add(SessionDescribed(description=dict(command.description)))


def has_to_wait(journal: Journal) -> bool:
    """Return whether a turn that is asked for now comes after others. Source: session-log IB-2."""
    session = journal.session
    is_taken = session.turn is not None and not is_quiescent(session)
    return is_taken or session.is_paused or bool(session.inbox)


def request_run(
    journal: Journal, command: SubmitInput, messages: Sequence[Mapping[str, Any]] | None = None
) -> int:
    """Record what a turn is asked for with; return the event. 0 where it has no own settings.

    `messages` are those of one that waits: of any other its question has them.
    """
    order = command.run
    if order is None:
        return 0
    return journal.add(
        RunRequested(
            turn_id=command.turn_id,
            run=dict(order.run),
            config=dict(order.config) if order.config is not None else None,
            client=dict(order.client) if order.client is not None else None,
            messages=[dict(message) for message in messages] if messages is not None else None,
        )
    )


def enqueue_run(
    journal: Journal, command: SubmitInput, messages: Sequence[Mapping[str, Any]]
) -> None:
    """Have a turn wait for its predecessors, with its messages and its settings.

    Raises `InboxFull`.
    """
    check_room(journal)
    asked = request_run(journal, command, messages)
    journal.add(
        InboxEnqueued(
            turn_id=command.turn_id,
            item_id=journal.mint(),
            private=EnqueuedPrivate(run_seq=asked, is_users=True),
            refs={"message": same_as(asked, f"messages.{len(messages) - 1}")},
        )
    )


def take_settings(journal: Journal, run_seq: int, config: Mapping[str, Any] | None) -> None:
    """Have the open turn go by the settings that it was asked for with.

    What the session may spend is the session's own, whoever set it: a run does not change it.
    """
    if config is None:
        return
    held = journal.facts.agent.config
    if held.get("budgets") == config.get("budgets"):
        update_agent(journal, config, (), same_as(run_seq, "config"))
        return
    rest = {name: value for name, value in config.items() if name != "budgets"}
    kept = {"budgets": held["budgets"]} if held.get("budgets") is not None else {}
    update_agent(journal, {**rest, **kept}, ())
