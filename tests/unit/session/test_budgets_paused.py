"""A budget that is used up pauses the path: once, for the system to resume. Y-4, I-10."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import InsufficientPrivilege, SessionInterrupted
from everturn.session.commands import RaiseInterrupt, ResumeInterrupt
from everturn.session.events.interrupts import InterruptResumed
from everturn.session.events.interrupts import SessionInterrupted as Interrupted
from everturn.session.events.model_calls import ModelCallDispatched
from everturn.session.events.sessions import TurnCompleted
from everturn.session.propose import due_epoch_s, propose
from everturn.session.state import CallStatus, status_of
from unit.session.building import NOON_MS, Story, only, types
from unit.session.spending import USED, ask_tool, limited, of_tenant, set_budgets


def test_in_mode_pause_the_call_waits_behind_one_interrupt_of_the_system() -> None:
    """Conformance 37: Y-4, I-1, I-10."""
    story = limited(turn={"tokens": 100})
    story.submit()

    events = ask_tool(story, usage=USED)
    again = (*story.proceed(), *story.take_over())

    raised = only(Interrupted, events)
    assert [(one.origin, one.reason, one.anchor) for one in raised] == [
        ("system", "budget_exceeded", None)
    ]
    assert raised[0].payload["scope"] == "turn"
    assert [call.status for call in story.session.calls] == [CallStatus.QUEUED]
    assert status_of(story.session) == "interrupted"
    assert again == ()


def test_a_paused_session_costs_nothing_until_somebody_comes() -> None:
    """Nothing is due: no driver and no sweep looks after it."""
    story = limited(turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)

    proposals = propose(story.session)

    assert (proposals.effects, proposals.next_due_ms, proposals.is_ready) == ((), None, False)
    assert due_epoch_s(story.session, NOON_MS, 1200, None) is None


@pytest.mark.parametrize("origin", ["frontend", "machine"])
def test_nobody_but_the_system_resumes_a_budgets_pause(origin: Any) -> None:
    """Conformance 28, 37: I-10."""
    story = limited(turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)
    held = story.session.interrupts[0].id

    with pytest.raises(InsufficientPrivilege):
        story.do(lambda at, facts: ResumeInterrupt(at, facts, held, origin))
    with pytest.raises(SessionInterrupted):
        story.submit("Again.", "t2")


@pytest.mark.parametrize("budgets", [None, {"turn": {"tokens": 101}}])
def test_a_raised_budget_lets_the_same_call_go_on_once(budgets: Any) -> None:
    """Conformance 37: Y-4."""
    story = limited(turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)
    held = story.session.calls[0].id

    events = set_budgets(story, budgets)
    again = (*set_budgets(story, budgets), *story.proceed())

    assert types(events) == [
        "agent.updated",
        "session.interrupt_resumed",
        "llm.call.dispatched",
        "step.started",
    ]
    assert only(ModelCallDispatched, events)[0].id == held
    assert again == ()
    story.answer("Sunny.")
    assert story.session.last_outcome == "done"


def test_a_budget_that_is_not_raised_enough_keeps_the_pause() -> None:
    """Y-4: the pause is raised once."""
    story = limited(turn={"tokens": 50})
    story.submit()
    ask_tool(story, usage=USED)

    events = set_budgets(story, {"turn": {"tokens": 100}})

    assert types(events) == ["agent.updated"]
    assert len(only(Interrupted, story.log)) == 1


def test_a_pause_that_becomes_a_failure_fails_the_call() -> None:
    """Y-4."""
    story = limited(turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)

    events = set_budgets(story, {"turn": {"tokens": 100}, "mode": "fail"})

    assert only(TurnCompleted, events)[0].error.code == "budget_exceeded"
    assert story.session.interrupts == ()


def test_a_call_that_waits_for_its_next_attempt_waits_on_while_it_is_paused() -> None:
    """Y-4: each attempt is checked."""
    story = limited(turn={"tokens": 100})
    story.submit()
    story.fail_model(usage=USED)

    events = story.proceed(after_s=2)
    later = story.proceed(after_s=60)
    due = propose(story.session).next_due_ms
    resumed = set_budgets(story, None)
    started = story.proceed()

    assert types(events) == ["session.interrupted"]
    assert (later, due) == ((), None)
    assert types(resumed) == ["agent.updated", "session.interrupt_resumed"]
    assert [one.attempt for one in only(ModelCallDispatched, started)] == [2]


def test_an_orphaned_attempt_is_not_repeated_over_the_budget() -> None:
    """Y-4, N-2."""
    story = limited(session={"tokens": 1000})
    story.submit()
    story.budgets = of_tenant(100, "pause")

    events = story.take_over()

    assert types(events) == ["llm.call.errored", "step.ended", "session.interrupted"]
    assert story.session.calls[0].status is CallStatus.RETRY_SCHEDULED


def test_a_tenants_pause_ends_once_its_budget_is_raised() -> None:
    """Conformance 37: Y-4; whoever looks after the session next lets it go on."""
    story = Story()
    story.budgets = of_tenant(100, "pause")
    story.submit()
    held = story.proceed()
    story.budgets = of_tenant(100, "pause", tokens=101)

    events = story.proceed()

    assert held == ()
    assert types(events) == ["session.interrupt_resumed", "llm.call.dispatched", "step.started"]


def test_a_call_that_was_given_up_during_the_pause_is_made_anew() -> None:
    """I-4: another interrupt gives up the call, and is cleared before the budget is raised."""
    story = limited(turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)
    story.do(lambda at, facts: RaiseInterrupt(at, facts, "int-1", "machine", "stop"))
    story.do(lambda at, facts: ResumeInterrupt(at, facts, "int-1", "machine"))

    events = set_budgets(story, None)

    assert types(events)[:2] == ["agent.updated", "session.interrupt_resumed"]
    assert len(only(ModelCallDispatched, events)) == 1


def test_a_raised_budget_does_not_clear_somebody_elses_pause() -> None:
    """I-9."""
    story = limited(turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)
    story.do(lambda at, facts: RaiseInterrupt(at, facts, "int-1", "machine", "stop"))

    events = set_budgets(story, None)

    assert len(only(InterruptResumed, events)) == 1
    assert only(ModelCallDispatched, events) == []
    assert [one.id for one in story.session.interrupts] == ["int-1"]


def test_a_turn_that_ends_takes_its_pause_along() -> None:
    story = limited(turn={"tokens": 100})
    story.submit()
    ask_tool(story, usage=USED)

    story.fail_turn()

    assert story.session.interrupts == ()
