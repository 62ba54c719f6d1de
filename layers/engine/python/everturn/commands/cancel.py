"""Stops a turn, or ends a session for good, for whoever may; it waits for nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from everturn.commands.change import ChangeSession
from everturn.commands.turns import session_and_turn
from everturn.ports.callers import Caller
from everturn.protocol.outside import CANCEL_REQUEST
from everturn.protocol.wire import parse
from everturn.session.commands import CancelSession, CancelTurn, Command
from everturn.session.facts import Facts, Stamp
from everturn.session.state import Session


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a wish to stop a turn."""

    turn_id: str
    """The turn's own id, whatever name was given."""

    is_cancelled: bool
    """Whether it was open until now."""


class Cancels:
    """The use cases behind `/cancel` and `/turns/{turn_id}/cancel`. Source: O-19, O-22."""

    def __init__(self, change: ChangeSession) -> None:
        self._change = change

    def session(self, caller: Caller, session_id: str, body: Any) -> bool:
        """End the session for good; returns whether it was not ended before.

        Raises `SchemaViolation`, `UnknownSession`. Source: S-8.
        """
        given = parse(CANCEL_REQUEST, body)

        def cancel(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            return CancelSession(stamp, facts, given.cause or "user")

        return bool(self._change(caller, session_id, cancel).events)

    def turn(self, caller: Caller, session_id: str, name: str, body: Any) -> Ended:
        """Stop the turn of that id, other name or number; one that has ended stays as it is.

        Raises `SchemaViolation`, `UnknownSession`, `UnknownTurn`. Source: T-12.
        """
        given = parse(CANCEL_REQUEST, body)
        _, turn = session_and_turn(self._change.store, caller, session_id, name)

        def cancel(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            keeps = bool(given.keep_inbox)
            return CancelTurn(stamp, facts, turn.turn_id, given.cause or "user", keeps)

        return Ended(turn.turn_id, bool(self._change(caller, session_id, cancel).events))
