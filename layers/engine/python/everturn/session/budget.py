"""Budgets as values: what may be spent, what was, which one is used up; nothing follows here.

It must not know where a budget is kept. Source: decision-protocol Y-4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from everturn.session.events.model_calls import (
    ModelCallAborted,
    ModelCallCompleted,
    ModelCallErrored,
)
from everturn.session.events.stored import Event
from everturn.session.state import Session, Spent

Mode = Literal["pause", "fail"]
"""What becomes of a model call that the budget has no room for."""

DEFAULT_MODE: Final[Mode] = "pause"
"""Source: decision-protocol Y-4."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in dollars, in tokens, or in both, and how far it is used."""

    scope: Literal["turn", "session", "owner", "tenant"]
    mode: Mode
    cost: str | None
    """US dollars, a decimal string."""

    tokens: int | None
    spent: Spent
    of: str = ""
    """The ancestor whose turn or session it limits; without one its own, or a shared one."""

    @property
    def is_used_up(self) -> bool:
        """Return whether one of its limits is reached; a limit of 0 allows nothing."""
        over_cost = self.cost is not None and Decimal(self.spent.cost) >= Decimal(self.cost)
        return over_cost or (self.tokens is not None and self.spent.tokens >= self.tokens)

    @property
    def shown(self) -> dict[str, Any]:
        """Return the budget as an interrupt's payload and an error's detail have it."""
        limits = {"cost": self.cost, "tokens": self.tokens}
        limit = {name: value for name, value in limits.items() if value is not None}
        spent = {"cost": self.spent.cost, "tokens": self.spent.tokens}
        whose = {"session_id": self.of} if self.of else {}
        return {"scope": self.scope, **whose, "limit": limit, "spent": spent}


def budgets_of(session: Session, config: Mapping[str, Any]) -> list[Budget]:
    """Return the budgets of the open turn and of the session that an agent config sets."""
    given = config.get("budgets") or {}
    mode = given.get("mode") or DEFAULT_MODE
    turn = session.turn
    found = []
    if turn is not None and given.get("turn"):
        limit, spent = given["turn"], Spent(turn.cost, turn.usage.tokens)
        found.append(Budget("turn", mode, limit.get("cost"), limit.get("tokens"), spent))
    if given.get("session"):
        limit, spent = given["session"], session.spent or Spent()
        found.append(Budget("session", mode, limit.get("cost"), limit.get("tokens"), spent))
    return found


def used_up(budgets: Iterable[Budget]) -> Budget | None:
    """Return the budget that stops the next model call; one that fails it goes first."""
    stopping = [budget for budget in budgets if budget.is_used_up]
    failing = [budget for budget in stopping if budget.mode == "fail"]
    return next(iter((*failing, *stopping)), None)


def spent_in(events: Iterable[Event]) -> Spent:
    """Return what model calls used as far as these events report it. Source: Y-1."""
    total = Spent()
    for event in events:
        match event:
            case (
                ModelCallCompleted(usage=usage, cost=cost)
                | ModelCallErrored(usage=usage, cost=cost)
            ):
                total = total.plus(usage, cost)
            case ModelCallAborted(usage=usage):
                total = total.plus(usage, None)
            case _:
                pass
    return total


def sets_session_budget(config: Mapping[str, Any]) -> bool | None:
    """Return `True` where `config` limits the session's spending, else `None`: left out."""
    return bool((config.get("budgets") or {}).get("session")) or None
