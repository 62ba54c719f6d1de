"""Has drivers look again at the sessions that a budget pauses; it does not look itself."""

from __future__ import annotations

from typing import Any, Final

from everturn.ports.budgets import BudgetStore
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import Wake

HELD_WOKEN: Final = 500
"""Paused sessions that one request wakes; it can be repeated for the rest."""


class WakeHeld:
    """What follows a change of a budget."""

    def __init__(
        self, budgets: BudgetStore, sessions: SessionStore, wake: Wake, clock: Clock
    ) -> None:
        self._budgets = budgets
        self._sessions = sessions
        self._wake = wake
        self._clock = clock

    def __call__(self, tenant: str) -> dict[str, Any]:
        """Have a driver look at the sessions that a budget pauses: it knows whether they go on."""
        held = self._budgets.held(tenant, HELD_WOKEN + 1)
        woken = 0
        for one in held[:HELD_WOKEN]:
            key = SessionKey(tenant, one.session)
            head = self._sessions.head(key)
            if head is None or head.created != one.created:
                self._budgets.forget_held(tenant, one)
                continue
            dedup = f"budget.{head.created}.{head.version}.{self._clock.now_ms()}"
            self._wake.now(key, head.created, "decision", head.version, dedup)
            woken += 1
        more = {"more": True} if len(held) > HELD_WOKEN else {}
        return {"woken": woken, **more}
