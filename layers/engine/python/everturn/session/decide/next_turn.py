"""Opens the turn of the message that waits longest, once nothing stands in its way.

Source: decision-protocol B-14, T-2, T-3; session-log IB-4.
"""

from __future__ import annotations

from typing import Final

from everturn.session.decide.model_call import open_model_call
from everturn.session.decide.questions import queue
from everturn.session.decide.response import update_agent
from everturn.session.decide.turn_end import complete_turn
from everturn.session.events.decisions import DecisionCompleted, QueuedPrivate
from everturn.session.events.mail import InboxDequeued
from everturn.session.events.messages import MessageSource
from everturn.session.events.sessions import TurnAdmitted, TurnStarted
from everturn.session.journal import Journal
from everturn.session.mailbox import Waiting
from everturn.session.proposal import layered_config
from everturn.session.refs import same_as
from everturn.session.state import has_next

TRIGGER: Final = "message.send"
"""What a turn of the kind was admitted for."""


def open_next(journal: Journal) -> None:
    """Make the oldest waiting message the input of its own turn; a quiescent one yields to it."""
    if not has_next(journal.session):
        return
    complete_turn(journal, "quiescent")
    waiting = journal.session.inbox[0]
    journal.add(InboxDequeued(turn_id=waiting.turn_id, item_id=waiting.id))
    journal.add(TurnStarted(turn_id=waiting.turn_id, reason="message"))
    if journal.session.decides == "worker":
        _ask(journal, waiting)
    else:
        _record(journal, waiting)


def _ask(journal: Journal, waiting: Waiting) -> None:
    _queue(journal, waiting, QueuedPrivate(appends=True, is_mail=True))
    _admit(journal)


def _record(journal: Journal, waiting: Waiting) -> None:
    """Do what the engine proposes: write the message and ask the model. Source: G-1, O-6."""
    message = dict(journal.facts.inbox[waiting.id])
    decision_id = _queue(journal, waiting, QueuedPrivate())
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision_id))
    _admit(journal)
    refs = {"message": same_as(waiting.seq, "message")}
    if journal.is_known(message["id"]):  # somebody else's came with that id meanwhile
        message, refs = {**message, "id": journal.mint()}, {}
    journal.write(message, MessageSource(kind="agent"), refs)
    held = journal.facts.agent
    if held.layered:
        update_agent(journal, layered_config(held.config, held.layered, ()), ())
    open_model_call(journal)


def _queue(journal: Journal, waiting: Waiting, private: QueuedPrivate) -> str:
    return queue(
        journal,
        "client.messages",
        turn_id=journal.turn_id,
        refs={"news.0": same_as(waiting.seq, "message")},
        private=private,
    )


def _admit(journal: Journal) -> None:
    number = journal.session.turns + 1
    journal.add(TurnAdmitted(turn_id=journal.turn_id, turn=number, trigger=TRIGGER))
