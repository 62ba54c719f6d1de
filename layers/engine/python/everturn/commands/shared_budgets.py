"""Budgets of owners and tenants: who may set them, who looks at them.

It must not decide what a budget that is used up means. Source: decision-protocol Y-4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from everturn.ports.budgets import BudgetStore, SharedBudget, Wanted
from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import Wake
from everturn.protocol.budgets import SHARED_BUDGET
from everturn.protocol.events import to_rfc3339
from everturn.protocol.wire import parse
from everturn.rejections import NotYetSupported, UnknownBudget
from everturn.session.budget import DEFAULT_MODE, Budget

HELD_WOKEN: Final = 500
"""Paused sessions that one request wakes; it can be repeated for the rest."""

HasAny = Callable[[str], bool]
"""Whether a tenant has budgets; may be a minute old."""


class SharedBudgets:
    """The use cases behind `/v1/budgets/…`."""

    def __init__(
        self,
        budgets: BudgetStore,
        sessions: SessionStore,
        wake: Wake,
        clock: Clock,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the adapters; `forget` makes the next look for budgets fresh, in this process."""
        self._budgets = budgets
        self._sessions = sessions
        self._wake = wake
        self._clock = clock
        self._forget = forget

    def get(self, caller: Caller, owner_id: str | None) -> dict[str, Any]:
        """Return a budget with what was spent. Raises `UnknownBudget`."""
        found = self._budgets.one(caller.tenant, owner_id)
        if found is None:
            raise UnknownBudget("There is no such budget.")
        return _shown(found, self._clock.now_ms())

    def put(self, caller: Caller, owner_id: str | None, body: Any) -> dict[str, Any]:
        """Set a budget, and wake the sessions that wait for one; `woken` says how many.

        Raises `SchemaViolation`, `NotYetSupported`.
        """
        given = parse(SHARED_BUDGET, body)
        mode, period = given.mode or DEFAULT_MODE, given.period or "lifetime"
        if mode == "pause" and period != "lifetime":
            raise NotYetSupported(
                "/mode: a pause does not end with its period yet; use fail with a period."
            )
        now_ms = self._clock.now_ms()
        wanted = Wanted(owner_id, given.cost, given.tokens, mode, period)
        written = self._budgets.put(caller.tenant, wanted, now_ms)
        self._forget()
        return {**_shown(written, now_ms), **self._wake_held(caller.tenant)}

    def delete(self, caller: Caller, owner_id: str | None) -> dict[str, Any]:
        """Take a budget away, and wake as `put` does. Raises `UnknownBudget`."""
        was_there = self._budgets.delete(caller.tenant, owner_id)
        woken = self._wake_held(caller.tenant)
        if not was_there:
            raise UnknownBudget("There is no such budget.")
        self._forget()
        return {"ok": True, **woken}

    def _wake_held(self, tenant: str) -> dict[str, Any]:
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


def _shown(budget: SharedBudget, now_ms: int) -> dict[str, Any]:
    """Return `SharedBudgetView` as JSON."""
    shown = budget.as_of(now_ms).shown
    owner = {} if budget.owner_id is None else {"owner_id": budget.owner_id}
    return {
        **shown,
        **owner,
        "mode": budget.mode,
        "period": budget.period,
        "since": to_rfc3339(budget.since_ms),
    }


class LookUpBudgets:
    """What the deciders of sessions ask: no request for tenants without budgets."""

    def __init__(self, budgets: BudgetStore, has_any: HasAny, clock: Clock) -> None:
        self._budgets = budgets
        self._has_any = has_any
        self._clock = clock

    def __call__(self, tenant: str, owner_id: str) -> tuple[Budget, ...]:
        """Return the budgets of owner and tenant as they stand. Raises `StoreUnavailable`."""
        if not self._has_any(tenant):
            return ()
        now_ms = self._clock.now_ms()
        return tuple(one.as_of(now_ms) for one in self._budgets.of(tenant, owner_id))
