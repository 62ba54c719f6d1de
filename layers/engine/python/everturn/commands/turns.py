"""Finds the turn that a caller names: by its id, another name of it, or its number."""

from __future__ import annotations

from typing import Literal

from everturn.commands.reading import seen_by, unreadable_hidden
from everturn.ports.callers import Caller
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey, TurnRecord
from everturn.rejections import UnknownTurn
from everturn.session.state import Session

TurnStatus = Literal["queued", "running", "parked", "completed"]
"""How a turn is whose id a caller brings again. Source: decision-protocol T-4; session-log IB-9."""


def session_and_turn(
    store: SessionStore, caller: Caller, session_id: str, name: str
) -> tuple[Head, TurnRecord]:
    """Return the session's head and what is known of the turn; of one that is not over, its begin.

    `turn-<n>` names an open or parked turn by its number. Raises `UnknownSession`, `UnknownTurn`.
    Source: vocabulary, "Session and turn".
    """
    key = SessionKey(caller.tenant, session_id)
    with unreadable_hidden(caller):
        found, record = store.head_and_turn(key, name)
    head = seen_by(caller, found)
    open_turns = [*head.session.parked, *([head.session.turn] if head.session.turn else ())]
    if record is not None and record.alias_of:
        return session_and_turn(store, caller, session_id, record.alias_of)
    if record is not None:
        return head, record
    for waiting in head.session.inbox:
        if waiting.turn_id == name:
            return head, TurnRecord(name)
    for turn in open_turns:
        if name in {turn.id, f"turn-{turn.number}"}:
            return head, TurnRecord(turn.id, turn.number, turn.first_seq)
    raise UnknownTurn(f"The session {session_id} has no turn {name}.")


def known_turn(
    session: Session, turn_id: str, record: TurnRecord | None
) -> tuple[str, TurnStatus] | None:
    """Return the own id of a turn that the session has had and how it is, `None` for a new id.

    `record` is what is kept under the id. Source: decision-protocol T-4.
    """
    name = (record.alias_of or turn_id) if record is not None else turn_id
    if session.turn is not None and session.turn.id == name:
        return name, "running"
    if any(one.turn_id == name for one in session.inbox):
        return name, "queued"
    if any(turn.id == name for turn in session.parked):
        return name, "parked"
    return (name, "completed") if record is not None else None
