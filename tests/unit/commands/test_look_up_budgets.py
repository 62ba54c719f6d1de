"""Tenants without budgets pay nothing for those that others have. Y-4, ADR 0035."""

from __future__ import annotations

from everturn.commands.shared_budgets import LookUpBudgets
from everturn.ports.budgets import SharedBudget, Wanted
from everturn.session.budget import Budget
from everturn.session.state import Spent
from everturn.store.memory_budgets import InMemoryBudgets
from unit.drive.doubles import NOON_MS, FrozenClock


class Asked(InMemoryBudgets):
    """Budgets that note each look at them."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[str] = []

    def of(self, tenant: str, owner_id: str) -> tuple[SharedBudget, ...]:
        self.looks.append(f"{tenant}/{owner_id}")
        return super().of(tenant, owner_id)


def test_a_tenant_that_is_known_to_have_none_is_not_asked_about() -> None:
    budgets = Asked()
    budgets.put("acme", Wanted(None, None, 100, "fail", "lifetime"), NOON_MS)
    look_up = LookUpBudgets(budgets, budgets.has_any, FrozenClock())

    found = [look_up("acme", "ada"), look_up("rival", "ada")]

    assert found == [(Budget("tenant", "fail", None, 100, Spent()),), ()]
    assert budgets.looks == ["acme/ada"]
