"""Budgets of turns and sessions, and those that are handed in: what stops, what fails. Y-4, Y-1."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from everturn.rejections import ModelRequired
from everturn.session.budget import budgets_of, spent_in, used_up
from everturn.session.commands import SetBudgets, SubmitInput
from everturn.session.decide.entry import decide
from everturn.session.events.messages import AgentUpdated
from everturn.session.events.model_calls import (
    ModelCallAborted,
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
)
from everturn.session.events.sessions import Owner, TurnCompleted, TurnStalled
from everturn.session.events.stored import Event
from everturn.session.evolve import fold
from everturn.session.facts import Facts, Pinned
from everturn.session.formats import format_of
from everturn.session.state import Session, Spent
from examples import per_cent
from unit.session.building import Story, only, stamp, types
from unit.session.moves import play
from unit.session.spending import USED, ask_tool, limited, of_tenant, set_budgets


@pytest.mark.parametrize(
    ("limit", "starts"),
    [
        ({"tokens": 99}, False),
        ({"tokens": 100}, False),
        ({"tokens": 101}, True),
        ({"cost": "0.019"}, False),
        ({"cost": "0.020"}, False),
        ({"cost": "0.021"}, True),
        ({"cost": "0.021", "tokens": 100}, False),
    ],
)
def test_a_call_starts_below_the_turns_limit(limit: dict[str, Any], starts: bool) -> None:
    """Y-4: all disjoint counts together, reasoning inside the output."""
    story = limited("fail", turn=limit)
    story.submit()

    events = ask_tool(story, usage=USED, cost="0.02")

    assert bool(only(ModelCallDispatched, events)) == starts
    assert (story.session.turn is not None) == starts


def test_in_mode_fail_the_call_and_the_turn_fail_with_the_budgets_code() -> None:
    """Conformance 37: Y-4, O-4."""
    story = limited("fail", turn={"tokens": 100})
    story.submit()

    events = ask_tool(story, usage=USED, cost="0.02")

    shown = {
        "scope": "turn",
        "limit": {"tokens": 100},
        "spent": {"cost": "0.02", "tokens": 100},
    }
    assert types(events)[-3:] == ["llm.call.requested", "llm.call.errored", "turn.completed"]
    failed = only(ModelCallErrored, events)[0]
    assert (failed.attempt, failed.code, failed.retryable) == (1, "budget_exceeded", False)
    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.cost, ended.usage) == ("failed", "0.02", USED)
    assert (ended.error.code, ended.error.detail) == ("budget_exceeded", shown)
    assert story.session.calls == ()


def test_the_next_turn_has_its_own_budget() -> None:
    """Y-4."""
    story = limited("fail", turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)

    events = story.submit("Again.")

    assert len(only(ModelCallDispatched, events)) == 1


def test_a_sessions_budget_counts_every_turn() -> None:
    """Y-4: a failed attempt counts where it reported usage (Y-1)."""
    story = limited("fail", session={"cost": "0.03"})
    story.submit()
    story.fail_model(usage=USED, cost="0.01", retry_after_s=0)
    story.proceed()
    story.answer("Hi.", usage=USED, cost="0.02")

    events = story.submit("Again.")

    assert story.session.spent == Spent("0.03", 200)
    assert only(TurnCompleted, story.log)[0].cost == "0.03"
    ended = only(TurnCompleted, events)[0]
    assert (ended.error.code, ended.error.detail["scope"]) == ("budget_exceeded", "session")


def test_only_sessions_with_a_budget_add_up_and_only_they_need_the_newer_format() -> None:
    """A head without the figures loads as it always did."""
    plain, counted = Story(), limited(session={"tokens": 1000})
    for story in (plain, counted):
        story.submit()
        story.answer("Hi.", usage=USED, cost="0.02")

    assert (plain.session.spent, format_of(plain.session)) == (None, 1)
    assert (counted.session.spent, format_of(counted.session)) == (Spent("0.02", 100), 2)


def test_a_budget_that_leaves_the_config_keeps_counting() -> None:
    story = limited(session={"tokens": 1000})
    story.submit()
    set_budgets(story, None)

    story.answer("Hi.", usage=USED)

    assert "budgets" not in only(AgentUpdated, story.log)[-1].agent
    assert story.session.spent == Spent("0", 100)


def test_the_budgets_of_owner_and_tenant_come_as_facts() -> None:
    """Y-4: one that fails the call goes before one that pauses it."""
    story = limited(turn={"tokens": 0})
    story.budgets = of_tenant(100)

    events = story.submit()

    ended = only(TurnCompleted, events)[0]
    assert ended.error.detail == {
        "scope": "tenant",
        "limit": {"tokens": 100},
        "spent": {"cost": "0.5", "tokens": 100},
    }


def test_a_session_without_a_config_takes_no_budgets() -> None:
    facts = Facts(Pinned({}, "", True), Story().route)
    opened = decide(
        Session(),
        SubmitInput(
            stamp=stamp(),
            facts=facts,
            session_id="s1",
            agent_id="helper",
            owner=Owner(id="default"),
            turn_id="t1",
            input_type="client.message",
            view=({"role": "user", "content": "Hello."},),
            decides="worker",
        ),
    )

    with pytest.raises(ModelRequired):
        decide(opened.session, SetBudgets(stamp(1), facts, {"turn": {"tokens": 1}}))


@settings(deadline=None, max_examples=per_cent(60))
@given(
    moves=st.lists(st.integers(0, 59), min_size=1, max_size=25),
    tokens=st.integers(0, 600),
    mode=st.sampled_from(["pause", "fail"]),
    raised=st.booleans(),
)
def test_no_attempt_starts_once_a_budget_is_used_up(
    moves: list[int], tokens: int, mode: str, raised: bool
) -> None:
    """Y-4: whatever happens in a session, and the system pauses it once at a time."""
    story = limited(mode, turn={"tokens": tokens}, session={"tokens": 2 * tokens})
    play(story, moves)
    if raised and story.session.turn:
        set_budgets(story, {"session": {"tokens": 3 * tokens}})
        play(story, moves)

    config: dict[str, Any] = {}
    session = Session()
    for event in story.log:
        if isinstance(event, ModelCallDispatched):
            assert used_up(budgets_of(session, config)) is None
        if isinstance(event, AgentUpdated):
            config = event.agent
        session = fold([event], session)
        assert sum(one.origin == "system" for one in session.interrupts) <= 1


def test_what_was_spent_is_what_completed_failed_and_aborted_attempts_report() -> None:
    """Y-1: a failed attempt counts where the provider reported usage."""
    events: list[Event] = [
        ModelCallCompleted(id="a", attempt=1, usage=USED, cost="0.02"),
        ModelCallErrored(id="a", attempt=1, error="e", retryable=True, usage=USED, cost="0.01"),
        ModelCallErrored(id="a", attempt=2, error="e", retryable=False),
        ModelCallAborted(id="a", attempt=3, partial_text="", usage=USED),
        TurnStalled(turn_id="t1"),
    ]

    assert spent_in(events) == Spent("0.03", 300)
    assert spent_in(()) == Spent()
