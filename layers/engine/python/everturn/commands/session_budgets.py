"""Reads and sets what one session and its turns may spend.

It must not know the budgets of owners and tenants. Source: decision-protocol Y-4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.commands.change import ChangeSession
from everturn.commands.reading import seen_by
from everturn.commands.vanishing import vanishing
from everturn.commands.wake_held import WakeHeld
from everturn.ports.callers import Caller
from everturn.ports.sessions import SessionKey
from everturn.protocol.budgets import BUDGETS
from everturn.protocol.wire import parse, to_json
from everturn.session.budget import DEFAULT_MODE, budgets_of
from everturn.session.commands import Command, SetBudgets
from everturn.session.facts import Facts, Stamp
from everturn.session.state import Session, Turn


class SessionBudgets:
    """The use cases behind `/v1/sessions/{id}/budgets`."""

    def __init__(self, change: ChangeSession, held: WakeHeld) -> None:
        """Take what changes sessions, and what wakes those that a budget pauses."""
        self._change = change
        self._held = held

    def get(self, caller: Caller, session_id: str) -> dict[str, Any]:
        """Return the limits that hold, and what was spent. Raises `UnknownSession`."""
        store, key = self._change.store, SessionKey(caller.tenant, session_id)
        head = seen_by(caller, store.head(key))
        with vanishing(store, key):
            facts = self._change.reader.load(key, head).facts
        return _shown(head.session, session_id, facts.agent.config)

    def put(self, caller: Caller, session_id: str, body: Any) -> dict[str, Any]:
        """Set the budgets; a call that was held back goes on where there is room now.

        Raises `SchemaViolation`, `UnknownSession`, `ModelRequired`.
        """
        return self._set(caller, session_id, to_json(parse(BUDGETS, body)))

    def clear(self, caller: Caller, session_id: str) -> dict[str, Any]:
        """Take the budgets away; as `put`."""
        return self._set(caller, session_id, None)

    def _set(
        self, caller: Caller, session_id: str, budgets: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        def set_them(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            return SetBudgets(stamp, facts, budgets)

        decided = self._change(caller, session_id, set_them)
        self._held(caller.tenant)  # its descendants may be among them
        return _shown(decided.session, session_id, decided.agent.config)


def _shown(session: Session, session_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return `SessionBudgetsView` as JSON; between turns the turn's budget is untouched."""
    turn = Turn("", 0, 0)
    whole = Session(turn=session.turn or turn, spent=session.spent)
    states: dict[str, Any] = {
        one.scope: {"limit": one.shown["limit"], "spent": one.shown["spent"]}
        for one in budgets_of(whole, config)
    }
    mode = (config.get("budgets") or {}).get("mode") or DEFAULT_MODE
    return {"session_id": session_id, "mode": mode, **states}
