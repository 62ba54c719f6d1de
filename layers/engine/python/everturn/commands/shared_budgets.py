"""Budgets of owners and tenants: who may set them, who looks at them.

It must not decide what a budget that is used up means. Source: decision-protocol Y-4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everturn.commands.wake_held import WakeHeld
from everturn.ports.budgets import BudgetStore, SharedBudget, Wanted
from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.protocol.budgets import SHARED_BUDGET
from everturn.protocol.events import to_rfc3339
from everturn.protocol.wire import parse
from everturn.rejections import NotYetSupported, UnknownBudget
from everturn.session.budget import DEFAULT_MODE, Budget

HasAny = Callable[[str], bool]
"""Whether a tenant has budgets; may be a minute old."""


class SharedBudgets:
    """The use cases behind `/v1/budgets/…`."""

    def __init__(
        self,
        budgets: BudgetStore,
        held: WakeHeld,
        clock: Clock,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the adapters; `forget` makes the next look for budgets fresh, in this process."""
        self._budgets = budgets
        self._held = held
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
        return {**_shown(written, now_ms), **self._held(caller.tenant)}

    def delete(self, caller: Caller, owner_id: str | None) -> dict[str, Any]:
        """Take a budget away, and wake as `put` does. Raises `UnknownBudget`."""
        was_there = self._budgets.delete(caller.tenant, owner_id)
        woken = self._held(caller.tenant)
        if not was_there:
            raise UnknownBudget("There is no such budget.")
        self._forget()
        return {"ok": True, **woken}


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
