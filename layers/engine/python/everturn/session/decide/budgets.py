"""Holds model calls that no budget has room for: fails them, or pauses the path once.

It must not start a call. Source: decision-protocol Y-4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from everturn.session.budget import Budget, budgets_of, used_up
from everturn.session.commands import ModelFailure
from everturn.session.decide.model_failure import OVER_BUDGET, fail_attempt
from everturn.session.events.interrupts import InterruptResumed, SessionInterrupted
from everturn.session.journal import Journal
from everturn.session.state import Call, Spent

REASON: Final = OVER_BUDGET
"""Reason of the pause and code of the failure."""


def may_start(journal: Journal, call: Call) -> bool:
    """Return whether the next attempt of a model call may start; where not, do what follows.

    A call that may not start because of a pause stays as it is. Source: P-6, Y-4.
    """
    if journal.session.is_paused:
        return False
    budget = _used_up(journal)
    if budget is None:
        return True
    if budget.mode == "fail":
        error = f"the budget of the {budget.scope} is used up"
        failure = ModelFailure(error, REASON, retryable=False, detail=budget.shown)
        fail_attempt(journal, call, failure, attempt=call.attempt + 1)
    else:
        _pause(journal, budget)
    return False


def _used_up(journal: Journal) -> Budget | None:
    """Return the budget that stops a call; what this turn used counts for ancestors as well."""
    facts, turn = journal.facts, journal.session.turn
    own = budgets_of(journal.session, facts.agent.config)
    used = Spent(turn.cost, turn.usage.tokens) if turn else Spent()
    others = [replace(one, spent=one.spent.add(used)) if one.of else one for one in facts.budgets]
    return used_up((*own, *others))


def _pause(journal: Journal, budget: Budget) -> None:
    """Pause every branch, for the system to resume; no call is given up. Source: I-1, I-10."""
    journal.add(
        SessionInterrupted(
            turn_id=journal.turn_id,
            interrupt_id=journal.mint(),
            origin="system",
            reason=REASON,
            payload=budget.shown,
        )
    )


def lift_pause(journal: Journal) -> bool:
    """Clear the pause of a budget that has room again, or fails calls now; returns whether it did.

    The system pauses for budgets alone.
    """
    if not journal.session.is_held:
        return False
    budget = _used_up(journal)
    if budget is not None and budget.mode == "pause":
        return False
    for one in journal.session.interrupts:
        if one.origin == "system":
            journal.add(InterruptResumed(turn_id=one.turn_id or None, interrupt_id=one.id))
    return True
