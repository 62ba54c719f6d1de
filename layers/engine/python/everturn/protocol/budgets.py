"""Budgets as they are written: of a config, of a session, of an owner, of a tenant.

It must not know what was spent. Source: decision-protocol Y-4, M-8.
"""

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from everturn.protocol.limits import MAX_BUDGET_TOKENS, MAX_BUDGET_USD
from everturn.protocol.wire import Maybe, WireModel


def _below_limit(amount: str) -> str:
    if Decimal(amount) > MAX_BUDGET_USD:
        raise PydanticCustomError("budget", "should be at most {most}", {"most": MAX_BUDGET_USD})
    return amount


Dollars = Annotated[
    str, Field(pattern=r"^[0-9]{1,10}(\.[0-9]{1,12})?$"), AfterValidator(_below_limit)
]
"""US dollars as a decimal string that is not negative."""

Mode = Literal["pause", "fail"]

Period = Literal["lifetime", "day", "month"]
"""How long spending counts; days and months are those of UTC."""


class Limit(WireModel):
    """What may be spent: dollars, tokens, or both, whichever is reached first."""

    cost: Maybe[Dollars] = None
    tokens: Maybe[Annotated[int, Field(ge=0, le=MAX_BUDGET_TOKENS)]] = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.cost is None and self.tokens is None:
            raise PydanticCustomError("budget", "needs cost or tokens")
        return self


class Budgets(WireModel):
    """What a turn and a session may spend. Source: decision-protocol Y-4."""

    turn: Maybe[Limit] = None
    session: Maybe[Limit] = None
    mode: Maybe[Mode] = None
    """What becomes of the model call over it; default `pause`."""

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if self.turn is None and self.session is None:
            raise PydanticCustomError("budget", "needs turn or session")
        return self


class SharedBudget(Limit):
    """What an owner, or a tenant, may spend in all sessions together."""

    mode: Maybe[Mode] = None
    period: Maybe[Period] = None
    """Default `lifetime`: from the moment it is set, for ever."""


BUDGETS = TypeAdapter(Budgets)
SHARED_BUDGET = TypeAdapter(SharedBudget)


class Spent(WireModel):
    """What model calls have used: all disjoint counts of tokens together."""

    cost: str
    """US dollars, a decimal string."""

    tokens: int


class BudgetState(WireModel):
    """A budget, and how far it is used."""

    limit: Limit
    spent: Spent


class SessionBudgetsView(WireModel):
    """What a session and its open turn may spend, and have spent."""

    session_id: str
    mode: Mode
    turn: Maybe[BudgetState] = None
    session: Maybe[BudgetState] = None


class SharedBudgetView(WireModel):
    """What an owner or a tenant may spend, and has spent."""

    scope: Literal["owner", "tenant"]
    owner_id: Maybe[str] = None
    limit: Limit
    spent: Spent
    """In the period that is under way."""

    mode: Mode
    period: Period
    since: str
    """When it was set first; what was spent before does not count."""

    woken: Maybe[int] = None
    """After a change: sessions that a budget pauses and that look again now."""

    more: Maybe[Literal[True]] = None
    """There are more of them: repeat the request."""


class BudgetGone(WireModel):
    """A budget was taken away."""

    ok: Literal[True]
    woken: int
    more: Maybe[Literal[True]] = None
