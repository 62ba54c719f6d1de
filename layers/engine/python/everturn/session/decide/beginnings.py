"""Begins a session: its first event, and the question of how it starts. Source: S-4, S-5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from everturn.session.budget import sets_session_budget
from everturn.session.decide.questions import queue
from everturn.session.events.decisions import DecisionCompleted, DecisionQueued
from everturn.session.events.messages import AgentPrivate, AgentUpdated
from everturn.session.events.sessions import Owner, Parent, SessionCreated, SessionHeader
from everturn.session.journal import Journal
from everturn.session.refs import Ref


def create(
    journal: Journal,
    session_id: str,
    agent_id: str,
    owner: Owner,
    decides: Literal["engine", "worker"],
    parent: Parent | None = None,
    ancestry: tuple[str, ...] = (),
) -> None:
    """Write the first event of a log."""
    journal.add(
        SessionCreated(
            session_id=session_id,
            agent_id=agent_id,
            owner=owner,
            ancestry=ancestry,
            parent=parent,
            private=SessionHeader(decides=decides, delegation_depth=len(ancestry)),
        )
    )


def ask_start(journal: Journal) -> None:
    """Queue what a worker that decides is asked first."""
    declared: Mapping[str, Any] = dict(journal.facts.agent.config)
    queue(journal, "session.start", turn_id=None, agent=declared or None)


def start_session(journal: Journal, place: Ref | None = None) -> None:
    """Ask and answer `session.start` with the declared config. Source: 8.1, S-4.

    `place` is where its body stands already.
    """
    decision_id = journal.mint()
    journal.add(DecisionQueued(id=decision_id, trigger_type="session.start"))
    journal.add(DecisionCompleted(id=decision_id))
    agent = journal.facts.agent
    private = AgentPrivate(
        sha256=agent.sha256, has_session_budget=sets_session_budget(agent.config)
    )
    journal.add(
        AgentUpdated(
            agent=None if place else dict(agent.config),
            private=private,
            refs={"agent": place} if place else {},
        )
    )
