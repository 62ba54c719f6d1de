"""Budgets of ancestors: what a child uses counts for all of them while it runs. Y-4, B-8."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.cancel import Cancels
from everturn.commands.session_budgets import SessionBudgets
from everturn.session.events.interrupts import SessionInterrupted
from everturn.session.events.sessions import TurnCompleted
from unit.drive.doubles import result
from unit.drive.family import children, events, family, response, settle
from unit.drive.world import MACHINE, World
from unit.session.building import only

ASKS = '[[usage:in=10,out=0]][[call:poet {"message": "[[usage:in=50,out=0]][[call:look]]"}]]'
LOOK = {"tools": [{"name": "look", "effect": "read"}], "worker": "https://worker.example/hook"}


def told(budgets: dict[str, Any], **poet: Any) -> World:
    """Return a family whose parent has budgets and has asked a child that calls the model twice."""
    starts = {"sub_agents": [{"id": "poet"}]}
    world = family(helper={**starts, "budgets": budgets}, poet={**LOOK, **poet})
    world.decider.answer = lambda _request: result("a cloud")
    world.submit(ASKS)
    settle(world)
    return world


@pytest.mark.parametrize(("tokens", "outcome"), [(60, "failed"), (61, "done")])
@pytest.mark.parametrize("scope", ["turn", "session"])
def test_a_child_stops_where_the_budget_above_it_is_used_up(
    scope: str, tokens: int, outcome: str
) -> None:
    """10 of the parent and 50 of the child's first call: the second one needs room for one more."""
    world = told({scope: {"tokens": tokens}, "mode": "fail"})

    (child,) = children(world)
    (ended,) = only(TurnCompleted, events(world, child))
    assert ended.outcome == outcome
    if outcome == "failed":
        assert ended.error.detail["session_id"] == "s1"
        assert ended.error.detail["spent"]["tokens"] == 60


def test_a_child_that_pauses_for_a_budget_above_goes_on_once_that_is_raised() -> None:
    world = told({"session": {"tokens": 60}})
    (child,) = children(world)
    (paused,) = only(SessionInterrupted, events(world, child))
    assert (paused.origin, paused.payload["session_id"]) == ("system", "s1")
    assert world.kinds().count("sub_agent.interrupted") == 1

    SessionBudgets(world.changer(), world.wake_held()).put(
        MACHINE, "s1", {"session": {"tokens": 10_000}}
    )
    settle(world)

    assert only(TurnCompleted, events(world, child))[0].outcome == "done"
    assert only(TurnCompleted, events(world))[0].outcome == "done"


def test_turns_that_nobody_waits_for_are_not_charged_above() -> None:
    """B-13."""
    world = told({"session": {"tokens": 100}, "mode": "fail"})
    (child,) = children(world)

    world.submit("[[usage:in=90,out=0]]", turn="t2", session=child, agent="poet")
    settle(world)
    world.submit("[[say:more]]", turn="t3", session=child, agent="poet")
    settle(world)

    outcomes = [one.outcome for one in only(TurnCompleted, events(world, child))]
    assert outcomes == ["done", "done", "done"]


def test_a_parent_without_budget_does_not_go_on_when_its_child_has_answered() -> None:
    """Y-4: whoever brings the answer looks at the budgets of owner and tenant."""
    world = family(poet={"worker": "https://worker.example/hook", "decides": "worker"})
    world.decider.answer = lambda _request: response({})
    world.submit(ASKS)
    settle(world)
    (child,) = children(world)
    turn = world.head(child).session.turn
    assert turn is not None
    world.allow(0)

    Cancels(world.changer()).turn(MACHINE, child, turn.id, {})
    settle(world)

    (ended,) = only(TurnCompleted, events(world))
    assert (ended.outcome, ended.error.code) == ("failed", "budget_exceeded")
