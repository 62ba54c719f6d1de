"""What guards propose to a worker that decides, and what holds when it answers otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everturn.session.events.guards import (
    GuardNoted,
    LoopDetected,
    OutputRejected,
    ToolBudgetExceeded,
)
from everturn.session.events.interrupts import SessionInterrupted
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.ground import Ground
from everturn.session.guard_texts import (
    FINAL_NOTE,
    NO_MORE_TOOLS,
    REPEATED_CALL,
    budget_text,
    nudge,
    repair_note,
)
from everturn.session.proposal import proposal
from unit.session.building import CONFIG, made, only, said, types
from unit.session.deciding import Deciding, echo, running
from unit.session.steps import acting, begun, until

SCHEMA = {"type": "object", "required": ["city"]}
PROBLEM = "/city: required"
QUICK = {"consecutive_threshold": 2, "hard_cutoff_threshold": 3}


def guarded(*replies: Any, worker: Any = None, **guards: Any) -> Deciding:
    """Return a session of a worker that decides, with guards, and the model's replies."""
    runs = running(*(f"result {n}" for n in range(9)))
    return Deciding(
        config={**CONFIG, "output_schema": SCHEMA, "guards": guards},
        worker_=worker or runs,
        replies=[*replies],
    )


def proposals(story: Deciding, trigger: str = "llm.finished") -> list[dict[str, Any]]:
    """Return what was proposed about the questions of a kind."""
    return [one["proposed"] for one in story.asked if one["trigger"]["type"] == trigger]


def texts(proposed: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return roles and texts of proposed messages."""
    return [(message["role"], message.get("content")) for message in proposed["messages"]]


def test_a_loop_is_proposed_away_and_told_of_when_it_is_detected() -> None:
    story = guarded(*(said("", made(one)) for one in "abc"), loop_detection=QUICK)

    story.submit()

    first, second, third, last = proposals(story)
    assert [one["type"] for one in first["actions"]] == ["tool.call"]
    assert texts(second)[1:] == [("tool", REPEATED_CALL), ("user", nudge(2))]
    assert second["actions"] == [{"type": "llm.call"}]
    assert texts(third)[1:] == [("tool", REPEATED_CALL), ("user", FINAL_NOTE)]
    assert third["actions"] == [{"type": "llm.call", "tools": []}]
    assert last["actions"] == [{"type": "done", "data": "All is well."}]
    assert [one.hard_cutoff for one in only(LoopDetected, story.log)] == [False, True]
    assert "tools" not in story.requests()[-1]
    assert only(TurnCompleted, story.log)[0].outcome == "done"


def test_what_is_detected_stands_between_the_reply_and_the_question() -> None:
    budgets = {"get_weather": {"max_calls": 0}}
    story = guarded(
        said("", made("a")), said("", made("b")), loop_detection=QUICK, tool_budgets=budgets
    )

    story.submit()

    at = [n for n, one in enumerate(story.log) if isinstance(one, GuardNoted)]
    assert types(story.log[at[0] - 1 : at[0] + 3]) == [
        "llm.call.completed",
        "guard.noted",
        "guard.tool_budget_exceeded",
        "decision.queued",
    ]
    assert types(story.log[at[1] : at[1] + 3]) == [
        "guard.noted",
        "guard.loop_detected",
        "decision.queued",
    ]


def test_calls_over_a_budget_are_proposed_as_answered_and_the_others_run() -> None:
    budgets = {"get_weather": {"max_calls": 1}}
    batch = [made("a"), made("b"), made("c", "set_alarm")]
    story = guarded(said("", *batch), said("", made("d")), tool_budgets=budgets)

    story.submit()

    first, second, _ = proposals(story)
    assert texts(first)[1:] == [("tool", budget_text("get_weather", 1))]
    assert [one["id"] for one in first["actions"]] == ["a", "c"]
    assert (texts(second)[1:], second["actions"]) == (
        [("tool", budget_text("get_weather", 1))],
        [{"type": "llm.call"}],
    )
    assert [one.call_id for one in only(ToolBudgetExceeded, story.log)] == ["b", "d"]
    assert [one.id for one in only(ToolCallRequested, story.log)] == ["a", "c"]


def test_after_the_last_batch_the_model_call_is_proposed_without_tools() -> None:
    story = guarded(said("", made("a"), made("b", "set_alarm")), max_tool_turns=1)

    story.submit()

    first, second = proposals(story, "tool.finished")
    assert [role for role, _ in texts(first)] == ["tool"]
    assert "actions" not in first
    assert texts(second)[1:] == [("user", FINAL_NOTE)]
    assert second["actions"] == [{"type": "llm.call", "tools": []}]


def test_tools_of_the_last_reply_are_proposed_as_answered() -> None:
    story = guarded(
        said("", made("a")), said("That is all.", made("b"), made("c")), max_tool_turns=1
    )

    story.submit()

    last = proposals(story)[-1]
    assert texts(last)[1:] == [("tool", NO_MORE_TOOLS), ("tool", NO_MORE_TOOLS)]
    assert last["actions"] == [{"type": "done", "data": "That is all."}]
    assert len(only(GuardNoted, story.log)) == 1


def test_an_answer_that_does_not_fit_is_proposed_to_be_asked_for_again_then_to_pause() -> None:
    wrong = said("{}", output_problem=PROBLEM)
    story = guarded(wrong, wrong, output_repairs=1)

    story.submit()

    first, second = proposals(story)
    assert texts(first) == [("assistant", "{}"), ("user", repair_note(PROBLEM, SCHEMA))]
    assert first["actions"] == [{"type": "llm.call"}]
    (pause,) = second["actions"]
    call_id = story.asked[-1]["trigger"]["id"]
    assert (pause["type"], pause["reason"]) == ("interrupt", "output_invalid")
    assert pause["payload"] == {
        "call_id": call_id,
        "problem": PROBLEM,
        "message": {"id": call_id, "role": "assistant", "content": "{}"},
    }
    assert [one.attempt for one in only(OutputRejected, story.log)] == [1, 2]
    assert len(only(SessionInterrupted, story.log)) == 1


def test_a_last_reply_with_tools_is_held_to_the_schema() -> None:
    wrong = said("", made("b"), output_problem=PROBLEM)
    story = guarded(said("", made("a")), wrong, said('{"city":"Rome"}'), max_tool_turns=1)

    story.submit()

    again = proposals(story)[1]
    assert texts(again)[1:] == [("tool", NO_MORE_TOOLS), ("user", repair_note(PROBLEM, SCHEMA))]
    assert again["actions"] == [{"type": "llm.call", "tools": []}]


def test_an_answer_with_nothing_in_it_is_not_proposed() -> None:
    story = guarded(said("", output_problem="/: the answer is empty"))

    story.submit()

    assert [role for role, _ in texts(proposals(story)[0])] == ["user"]


def test_a_worker_may_run_what_a_guard_would_not() -> None:
    """Its answer holds."""
    run = {"type": "tool.call", "id": "b", "name": "get_weather", "arguments": "{}"}

    def stubborn(request: dict[str, Any]) -> dict[str, Any] | None:
        message = request["trigger"].get("message") or {}
        if [one["id"] for one in message.get("tool_calls") or ()] == ["b"]:
            return {"messages": [message], "actions": [run]}
        return run_tools(request)

    run_tools = running("sunny", "sunny")
    story = guarded(said("", made("a")), said("", made("b")), worker=stubborn, loop_detection=QUICK)

    story.submit()

    assert [one.id for one in only(ToolCallRequested, story.log)] == ["a", "b"]
    assert [m["content"] for m in story.messages() if m["role"] == "tool"] == ["sunny", "sunny"]


def test_a_redelivery_proposes_the_same() -> None:
    story = begun(
        config={**CONFIG, "guards": {"loop_detection": QUICK}},
        replies=[said("", made("a")), said("", made("b"))],
        worker_=running("sunny"),
    )
    first = until(story, "llm.finished")
    proposed = story.question(first.id)["proposed"]
    story.respond(first.id, proposed, attempt=first.attempt)
    decision = until(story, "llm.finished")
    before = story.question(decision.id)

    story.lose_question(decision.id)
    story.proceed(10)

    again = story.question(decision.id)
    assert again["proposed"] == before["proposed"]
    assert texts(again["proposed"])[1:] == [("tool", REPEATED_CALL), ("user", nudge(2))]


def test_a_call_with_messages_of_its_own_goes_on_with_them() -> None:
    """G-3: repairs, too."""
    own = [{"id": "m1", "role": "user", "content": "Only this."}]
    call = {"type": "llm.call", "messages": own, "temperature": 1}
    story = guarded(
        said("{}", output_problem=PROBLEM),
        said('{"city":"Rome"}'),
        worker=acting("client.messages", call),
    )

    story.submit()

    (again,) = proposals(story)[0]["actions"]
    assert [m["content"] for m in again["messages"]] == [
        "Only this.",
        "{}",
        repair_note(PROBLEM, SCHEMA),
    ]
    assert again["temperature"] == 1


def test_a_reply_that_comes_after_its_turn_is_not_noted() -> None:
    """T-10."""
    both = ({"type": "llm.call"}, {"type": "done", "data": "enough"})
    story = guarded(
        said("{}", made("a"), output_problem=PROBLEM),
        worker=acting("client.messages", *both),
        loop_detection=QUICK,
    )

    story.submit()

    assert "llm.call.completed" in types(story.log)
    assert only(GuardNoted, story.log) == only(OutputRejected, story.log) == []


@pytest.mark.parametrize("pending", [0, 1])
def test_a_last_call_is_proposed_once_nothing_is_open_any_more(pending: int) -> None:
    ground = Ground("s1", "d1", {"model": "m"}, pending_calls=pending, is_final=True)
    trigger = {"type": "tool.finished", "id": "a", "name": "t", "ok": True, "result": "r"}

    proposed = proposal(trigger, ground)
    over = proposal(trigger, replace(ground, has_turn=False))

    assert [role for role, _ in texts(proposed)] == (["tool"] if pending else ["tool", "user"])
    assert ("actions" in proposed) is not bool(pending)
    assert [role for role, _ in texts(over)] == ["tool"]
    assert proposal({"type": "interrupt.resumed"}, replace(ground, pending_calls=0)) == {
        "actions": [{"type": "llm.call", "tools": []}]
    }


def test_without_guards_a_worker_is_proposed_what_it_always_was() -> None:
    story = Deciding(worker_=echo, replies=[said("Hi.")])

    story.submit()

    assert proposals(story)[0]["actions"] == [{"type": "done", "data": "Hi."}]
