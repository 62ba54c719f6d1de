"""Budgets where a worker decides: it hears of the failure, or the call waits. Y-4, Y-5."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.session.budget import Budget
from everturn.session.commands import ModelFailure, RaiseInterrupt, ResumeInterrupt, SetBudgets
from everturn.session.events.interrupts import SessionInterrupted as Interrupted
from everturn.session.events.model_calls import (
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
)
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.stored import Event
from everturn.session.state import Spent, status_of
from unit.session.building import CONFIG, only, said, types, usage
from unit.session.deciding import Deciding, Worker, echo
from unit.session.test_deciding import told

NOTHING_LEFT = {"turn": {"tokens": 0}}


def deciding(budgets: dict[str, Any] | None, worker: Worker = echo, **more: Any) -> Deciding:
    """Return a session of a worker-decided agent with budgets."""
    given = {"budgets": budgets} if budgets else {}
    return Deciding(config={**CONFIG, **given, **more}, worker_=worker)


def raise_budgets(story: Deciding, budgets: dict[str, Any] | None = None) -> tuple[Event, ...]:
    """Set the session's budgets, and let everything happen that follows."""
    events = story.do(lambda at, facts: SetBudgets(at, facts, budgets))
    return (*events, *story.run())


def giving_up(request: dict[str, Any]) -> dict[str, Any]:
    """End the turn where a model call failed."""
    trigger = request["trigger"]
    if trigger["type"] == "llm.finished" and not trigger["ok"]:
        return {"actions": [{"type": "done", "data": trigger["code"]}]}
    return echo(request)


@pytest.mark.parametrize("handler", ["server", "worker"])
def test_in_mode_fail_the_worker_hears_it_and_decides(handler: str) -> None:
    """Conformance 37: Y-4, Y-5; also where the worker runs the model call."""
    story = deciding({**NOTHING_LEFT, "mode": "fail"}, giving_up, handler=handler)

    story.submit()

    finished = [one["trigger"] for one in story.asked][-1]
    assert (finished["type"], finished["ok"], finished["code"]) == (
        "llm.finished",
        False,
        "budget_exceeded",
    )
    assert only(ModelCallDispatched, story.log) == []
    ended = only(TurnCompleted, story.log)[0]
    assert (ended.outcome, ended.data) == ("done", "budget_exceeded")


def test_with_on_failure_fail_the_turn_fails() -> None:
    """Conformance 37: Y-4, O-4; what waited behind the call is given up with the turn."""

    def two(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] != "client.messages":
            return echo(request)
        calls = [{"type": "llm.call", "id": name} for name in ("a", "b")]
        return {**echo(request), "actions": calls}

    story = deciding({**NOTHING_LEFT, "mode": "fail"}, two, on_failure="fail")

    story.submit()

    assert [one.id for one in only(ModelCallErrored, story.log)] == ["a"]
    assert only(TurnCompleted, story.log)[0].error.code == "budget_exceeded"
    assert story.session.calls == ()


@pytest.mark.parametrize("handler", ["server", "worker"])
def test_in_mode_pause_the_call_waits_and_goes_on_once(handler: str) -> None:
    """Conformance 37: Y-4; the worker is not asked about the pause."""

    def running(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] != "llm.execute":
            return echo(request)
        answer = {"content": "All is well.", "model": "m", "finish_reason": "stop"}
        return {"actions": [{"type": "llm.result", "response": answer}]}

    story = deciding(NOTHING_LEFT, running, handler=handler)
    story.submit()
    held = (types(story.log).count("llm.call.dispatched"), status_of(story.session))

    raise_budgets(story)
    raise_budgets(story)

    assert held == (0, "interrupted")
    assert len(only(ModelCallRequested, story.log)) == len(only(Interrupted, story.log)) == 1
    assert len(only(ModelCallDispatched, story.log)) == 1
    assert "interrupt.resumed" not in story.triggers()
    assert told(story)[-1] == ("assistant", "All is well.")
    assert story.session.last_outcome == "done"


def test_calls_behind_the_one_that_is_held_wait_with_it() -> None:
    """P-6: a tool that the same answer asks for starts once the budget is raised."""

    def both(request: dict[str, Any]) -> dict[str, Any]:
        match request["trigger"]["type"]:
            case "tool.execute":
                return {"actions": [{"type": "tool.result", "result": "sunny"}]}
            case "client.messages":
                tool = {"type": "tool.call", "name": "get_weather", "arguments": {}}
                return {**echo(request), "actions": [{"type": "llm.call"}, tool]}
        return echo(request) if request["trigger"]["type"] == "session.start" else {}

    story = deciding(NOTHING_LEFT, both)
    story.submit()
    before = types(story.log).count("tool.call.dispatched")

    raise_budgets(story)

    assert before == 0
    assert types(story.log).count("tool.call.dispatched") == 1


def test_a_worker_that_answers_late_may_raise_the_budget_itself() -> None:
    """Y-4: an answer to a question that was live when the path was paused brings a config."""

    def both(request: dict[str, Any]) -> dict[str, Any] | None:
        match request["trigger"]["type"]:
            case "tool.execute":
                return None
            case "client.messages":
                tool = {"type": "tool.call", "name": "set_alarm", "arguments": {}}
                return {**echo(request), "actions": [{"type": "llm.call"}, tool]}
        return echo(request)

    story = deciding({"turn": {"tokens": 100}}, both)
    story.replies = [ModelFailure("overloaded", "provider_error", True, usage=usage(10))]
    story.submit()
    story.proceed(after_s=2)
    paused = status_of(story.session)

    events = story.respond(story.session.decisions[0].id, {"agent": CONFIG})
    started = story.proceed()

    assert paused == "interrupted"
    assert types(events) == ["decision.completed", "agent.updated", "session.interrupt_resumed"]
    assert [one.attempt for one in only(ModelCallDispatched, started)] == [2]


def test_a_pause_that_lost_its_call_leaves_nothing_behind() -> None:
    """I-4, T-9: the worker hears of the other interrupt only; what follows is up to it."""
    story = deciding(NOTHING_LEFT, lambda r: {} if _is_resume(r) else echo(r))
    story.submit()
    story.do(lambda at, facts: RaiseInterrupt(at, facts, "int-1", "machine", "stop"))
    story.do(lambda at, facts: ResumeInterrupt(at, facts, "int-1", "machine"))
    story.run()

    raise_budgets(story)

    assert story.triggers()[-1] == "interrupt.resumed"
    assert story.session.turn is not None
    assert story.session.turn.stalled


def test_a_call_of_no_turn_counts_for_the_session() -> None:
    """T-10, Y-4: `done` leaves a model call running; what it costs is the session's."""

    def leaving(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] != "client.messages":
            return echo(request) if request["trigger"]["type"] == "session.start" else {}
        return {**echo(request), "actions": [{"type": "llm.call"}, {"type": "done"}]}

    story = deciding({"session": {"tokens": 1000}}, leaving)
    story.replies = [said("Late.", usage=usage(10), cost="0.02")]

    story.submit()

    assert story.session.spent == Spent("0.02", 100)
    assert only(TurnCompleted, story.log)[0].cost == "0"


def test_a_tenants_budget_stops_a_session_whose_config_has_none() -> None:
    """Y-4."""
    story = deciding(None, giving_up)
    story.budgets = (Budget("tenant", "fail", "1", None, Spent("1.00")),)

    story.submit()

    assert only(ModelCallErrored, story.log)[0].detail["scope"] == "tenant"


def _is_resume(request: dict[str, Any]) -> bool:
    return bool(request["trigger"]["type"] == "interrupt.resumed")
