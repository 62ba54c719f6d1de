"""Takes in what other sessions cause here, and what became of what this one causes there.

Source: decision-protocol, section 15.
"""

from __future__ import annotations

from typing import assert_never

from everturn.errors import SessionConflict
from everturn.session.decide.beginnings import ask_start, create, start_session
from everturn.session.decide.cancel import check_not_cancelled
from everturn.session.decide.children import hear_child, note_start
from everturn.session.decide.inbox import take_message
from everturn.session.decide.moving import move_on
from everturn.session.decide.outbox import note_sent
from everturn.session.events.sessions import Parent, SessionCancelled
from everturn.session.journal import Journal
from everturn.session.mail_commands import (
    BetweenSessions,
    HearChild,
    NoteSent,
    NoteStart,
    StartChild,
    TakeMessage,
)


def hear_other(journal: Journal, command: BetweenSessions) -> None:
    """Do what follows; the same command once more changes nothing.

    Raises `SessionConflict` (B-3), `SessionCancelled` (S-8).
    """
    match command:
        case StartChild():
            _start_child(journal, command)
        case TakeMessage():
            check_not_cancelled(journal.session)
            take_message(journal, command)
        case HearChild():
            if hear_child(journal, command):
                move_on(journal, None)
        case NoteStart():
            note_start(journal, command)
            move_on(journal, None)
        case NoteSent():
            note_sent(journal, command)
        case _:
            assert_never(command)


def _start_child(journal: Journal, command: StartChild) -> None:
    """Begin a child; one of the same call has begun. Source: B-3, B-5, S-5."""
    session = journal.session
    if session.seq:
        parent = session.parent
        wanted = (command.ancestry[-1], command.call_id)
        if parent is None or (parent.session_id, parent.call_id) != wanted:
            raise SessionConflict(f"There is another session {command.session_id} already.")
        return
    create(
        journal,
        command.session_id,
        command.agent_id,
        command.owner,
        journal.facts.agent.decides,
        Parent(session_id=command.ancestry[-1], tool_call_id=command.call_id),
        command.ancestry,
    )
    if command.is_given_up:
        journal.add(SessionCancelled(cause="parent"))
    elif journal.session.decides == "worker":
        ask_start(journal)
    else:
        start_session(journal)
