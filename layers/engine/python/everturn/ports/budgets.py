"""The role that keeps what owners and tenants may spend, and adds up what they did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol

from everturn.session.budget import Budget, Mode
from everturn.session.state import Spent

Period = Literal["lifetime", "day", "month"]

_WINDOWS: dict[Period, str] = {"lifetime": "", "day": "%Y-%m-%d", "month": "%Y-%m"}


def window_of(period: Period, at_ms: int) -> str:
    """Return what spending at that moment counts for: a day or a month of UTC, or all time."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime(_WINDOWS[period])


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """A budget of an owner or a tenant, as it stands in the table."""

    owner_id: str | None
    """`None` for the tenant's."""

    cost: str | None
    tokens: int | None
    mode: Mode
    period: Period
    since_ms: int
    """When it was set first; what was spent before does not count."""

    window: str
    """What `spent` was added up for; see `window_of`."""

    spent: Spent

    def as_of(self, now_ms: int) -> Budget:
        """Return the budget for the core: in a new period nothing is spent."""
        is_current = self.window == window_of(self.period, now_ms)
        scope: Literal["owner", "tenant"] = "tenant" if self.owner_id is None else "owner"
        spent = self.spent if is_current else Spent()
        return Budget(scope, self.mode, self.cost, self.tokens, spent)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants an owner or a tenant to be able to spend."""

    owner_id: str | None
    cost: str | None
    tokens: int | None
    mode: Mode
    period: Period


@dataclass(frozen=True, slots=True)
class Spending:
    """What one commit recorded as spent."""

    tenant: str
    owner_id: str
    commit_id: str
    at_ms: int
    spent: Spent


@dataclass(frozen=True, slots=True)
class Held:
    """A session that a budget pauses."""

    session: str
    created: str
    """The incarnation that it is about."""


class BudgetStore(Protocol):
    """Keeps the budgets of owners and tenants."""

    def has_any(self, tenant: str) -> bool:
        """Return whether the tenant, or an owner of it, has a budget."""
        ...

    def of(self, tenant: str, owner_id: str) -> tuple[SharedBudget, ...]:
        """Return the owner's budget and the tenant's, as far as there are any."""
        ...

    def one(self, tenant: str, owner_id: str | None) -> SharedBudget | None:
        """Return the budget of an owner, or the tenant's own."""
        ...

    def put(self, tenant: str, wanted: Wanted, now_ms: int) -> SharedBudget:
        """Set a budget; what was spent stays, unless the period is another one."""
        ...

    def delete(self, tenant: str, owner_id: str | None) -> bool:
        """Take a budget away, and its figures; returns whether there was one."""
        ...

    def held(self, tenant: str, limit: int) -> tuple[Held, ...]:
        """Return sessions of the tenant that a budget pauses, of whatever scope."""
        ...

    def forget_held(self, tenant: str, held: Held) -> None:
        """Forget a session that was deleted; one that has its id now stays noted."""
        ...

    def count(self, spending: Spending) -> None:
        """Add a commit's spending to the budgets that are there; once, however often it is told.

        Raises `StoreUnavailable`: it is not counted, or may not be.
        """
        ...
