"""Sessions with budgets, for tests, and moves that spend them. No test."""

from __future__ import annotations

from typing import Any

from everturn.session.budget import Budget
from everturn.session.commands import SetBudgets
from everturn.session.events.stored import Event
from everturn.session.state import Spent
from unit.session.building import CONFIG, Story, made, usage

USED = usage(10)
"""100 tokens: 10 in, 20 out, 30 read, 40 written; 10 of reasoning are inside the output."""


def limited(mode: str = "", **limits: Any) -> Story:
    """Return a session of an engine-decided agent with budgets."""
    budgets = {**limits, **({"mode": mode} if mode else {})}
    return Story(config={**CONFIG, "budgets": budgets})


def set_budgets(story: Story, budgets: dict[str, Any] | None) -> tuple[Event, ...]:
    """Set the session's budgets, as an operator does."""
    return story.do(lambda at, facts: SetBudgets(at, facts, budgets))


def of_tenant(spent: int, mode: Any = "fail", tokens: int = 100) -> tuple[Budget, ...]:
    """Return a tenant's budget of which that many tokens are used."""
    return (Budget("tenant", mode, None, tokens, Spent("0.5", spent)),)


def ask_tool(story: Story, **more: Any) -> tuple[Event, ...]:
    """Have the model ask for a tool and the worker run it: the next model call is due."""
    story.answer("", made("c1"), **more)
    return story.worker("c1", "sunny")
