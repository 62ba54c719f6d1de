"""`InMemoryBudgets`: what owners and tenants may spend, for tests.

It must not be kinder than the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from everturn.ports.budgets import Held, SharedBudget, Spending, Wanted, window_of
from everturn.session.state import Spent


class InMemoryBudgets:
    """`BudgetStore`."""

    def __init__(self, held: Callable[[str], Iterable[Held]] = lambda _tenant: ()) -> None:
        """Take what tells a tenant's sessions that a budget pauses."""
        self._held = held
        self._budgets: dict[tuple[str, str | None], SharedBudget] = {}
        self._counted: set[str] = set()
        self._forgotten: set[Held] = set()

    def has_any(self, tenant: str) -> bool:
        """Return whether there is a budget."""
        return any(of == tenant for of, _ in self._budgets)

    def of(self, tenant: str, owner_id: str) -> tuple[SharedBudget, ...]:
        """Return the owner's budget and the tenant's."""
        found = [self.one(tenant, owner_id), self.one(tenant, None)]
        return tuple(one for one in found if one is not None)

    def one(self, tenant: str, owner_id: str | None) -> SharedBudget | None:
        """Return a budget."""
        return self._budgets.get((tenant, owner_id))

    def put(self, tenant: str, wanted: Wanted, now_ms: int) -> SharedBudget:
        """Set a budget."""
        before = self.one(tenant, wanted.owner_id)
        is_same = before is not None and before.period == wanted.period
        after = SharedBudget(
            owner_id=wanted.owner_id,
            cost=wanted.cost,
            tokens=wanted.tokens,
            mode=wanted.mode,
            period=wanted.period,
            since_ms=before.since_ms if before and is_same else now_ms,
            window=before.window if before and is_same else window_of(wanted.period, now_ms),
            spent=before.spent if before and is_same else Spent(),
        )
        self._budgets[tenant, wanted.owner_id] = after
        return after

    def delete(self, tenant: str, owner_id: str | None) -> bool:
        """Take a budget away."""
        return self._budgets.pop((tenant, owner_id), None) is not None

    def held(self, tenant: str, limit: int) -> tuple[Held, ...]:
        """Return paused sessions."""
        known = (one for one in self._held(tenant) if one not in self._forgotten)
        return tuple(sorted(known, key=lambda one: one.session))[:limit]

    def forget_held(self, tenant: str, held: Held) -> None:
        """Forget a deleted session."""
        del tenant
        self._forgotten.add(held)

    def count(self, spending: Spending) -> None:
        """Add what a commit spent, once."""
        if spending.commit_id in self._counted:
            return
        for one in self.of(spending.tenant, spending.owner_id):
            window = window_of(one.period, spending.at_ms)
            if spending.at_ms < one.since_ms or window < one.window:
                continue
            before = one.spent if window == one.window else Spent()
            added = before.add(spending.spent)
            after = replace(one, window=window, spent=added)
            self._budgets[spending.tenant, one.owner_id] = after
            self._counted.add(spending.commit_id)
