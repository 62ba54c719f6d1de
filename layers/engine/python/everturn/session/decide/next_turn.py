"""Opens the turn that waits longest, once nothing stands in its way.

Source: decision-protocol B-14, T-2, T-3; session-log IB-4; agent-runs 2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.session.decide.model_call import open_model_call
from everturn.session.decide.questions import queue
from everturn.session.decide.response import update_agent
from everturn.session.decide.runs import take_settings
from everturn.session.decide.turn_end import complete_turn
from everturn.session.events.decisions import DecisionCompleted, QueuedPrivate
from everturn.session.events.mail import InboxDequeued
from everturn.session.events.messages import MessageSource
from everturn.session.events.sessions import StartedPrivate, TurnAdmitted, TurnStarted
from everturn.session.journal import Journal
from everturn.session.mailbox import Waiting
from everturn.session.proposal import layered_config
from everturn.session.refs import Ref, same_as
from everturn.session.state import has_next
from everturn.session.tree import places_of

MAIL: Final = "message.send"
"""What the turn of a message from another session was admitted for."""


def open_next(journal: Journal) -> None:
    """Make the oldest waiting message the input of its own turn; a quiescent one yields to it."""
    if not has_next(journal.session):
        return
    complete_turn(journal, "quiescent")
    waiting = journal.session.inbox[0]
    journal.add(InboxDequeued(turn_id=waiting.turn_id, item_id=waiting.id))
    journal.add(
        TurnStarted(
            turn_id=waiting.turn_id,
            reason="submit" if waiting.is_users else "message",
            stream=bool(waiting.run_seq),
            private=StartedPrivate(run_seq=waiting.run_seq),
        )
    )
    if journal.session.decides == "worker":
        _ask(journal, waiting)
    else:
        _record(journal, waiting)


def _ask(journal: Journal, waiting: Waiting) -> None:
    _queue(journal, waiting, QueuedPrivate(appends=True, is_mail=not waiting.is_users))
    _admit(journal, waiting)


def _record(journal: Journal, waiting: Waiting) -> None:
    """Do what the engine proposes: write the messages and ask the model. Source: G-1, O-6."""
    decision_id = _queue(journal, waiting, QueuedPrivate())
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision_id))
    _admit(journal, waiting)
    source = MessageSource(kind="user" if waiting.is_users else "agent")
    for given, place in _messages(journal, waiting):
        message, refs = dict(given), {"message": place}
        if journal.is_known(message["id"]):  # somebody else's came with that id meanwhile
            message, refs = {**message, "id": journal.mint()}, {}
        journal.write(message, source, refs)
    held, order = journal.facts.agent, journal.facts.orders.get(waiting.turn_id)
    if order is not None:
        take_settings(journal, waiting.run_seq, order.config)
    elif held.layered:
        update_agent(journal, layered_config(held.config, held.layered, ()), ())
    open_model_call(journal)


def _messages(journal: Journal, waiting: Waiting) -> list[tuple[Mapping[str, Any], Ref]]:
    """Return what a turn that waited begins with, and where it stands; the last may be edited."""
    order = journal.facts.orders.get(waiting.turn_id)
    earlier = [
        (message, same_as(waiting.run_seq, f"messages.{position}"))
        for position, message in enumerate((order.messages if order else None) or ())
    ]
    own = (journal.facts.inbox[waiting.id], same_as(waiting.seq, "message"))
    return [*earlier[:-1], own]


def _queue(journal: Journal, waiting: Waiting, private: QueuedPrivate) -> str:
    messages = _messages(journal, waiting)
    refs = {f"news.{position}": place for position, (_, place) in enumerate(messages)}
    news, known = None, places_of(journal.all_events())
    if any(message["id"] in known for message, _ in messages):  # a worker would take it for that
        news = [
            {**message, "id": journal.mint()} if message["id"] in known else dict(message)
            for message, _ in messages
        ]
        refs = {}
    order = journal.facts.orders.get(waiting.turn_id)
    if order is not None and order.client:
        refs["client"] = same_as(waiting.run_seq, "client")
    return queue(
        journal,
        "client.messages",
        turn_id=journal.turn_id,
        news=news,
        refs=refs,
        private=private,
    )


def _admit(journal: Journal, waiting: Waiting) -> None:
    number, trigger = journal.session.turns + 1, "client.message" if waiting.is_users else MAIL
    journal.add(TurnAdmitted(turn_id=journal.turn_id, turn=number, trigger=trigger))
