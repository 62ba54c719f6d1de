"""Loops, budgets of calls and last replies where the engine decides. Source: agent-runs 8."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.session.events.guards import GuardNoted, LoopDetected, ToolBudgetExceeded
from everturn.session.events.messages import MessageNew
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.tool_calls import ToolCallErrored, ToolCallRequested
from everturn.session.formats import format_of
from everturn.session.guard_texts import (
    FINAL_NOTE,
    NO_MORE_TOOLS,
    REPEATED_CALL,
    budget_text,
    nudge,
)
from unit.session.building import CONFIG, Story, made, only, said, types

QUICK = {"consecutive_threshold": 2, "hard_cutoff_threshold": 4}


def guarded(**guards: Any) -> Story:
    """Return a session whose turn is open and has guards."""
    story = Story(config={**CONFIG, "guards": guards})
    story.submit()
    return story


def asks(story: Story, *calls: dict[str, Any], text: str = "") -> Any:
    """Have the model ask for tools, and the worker run those that it is sent."""
    events = story.answer(text, *calls)
    for decision in story.session.decisions:
        story.worker(decision.call_id, f"result of {decision.call_id}")
    return events


def told(story: Story) -> list[tuple[str, Any]]:
    """Return roles and texts of the newest request, without the system's."""
    return [(m["role"], m.get("content")) for m in story.requests()[-1]["messages"]][1:]


def test_without_guards_nothing_is_noted() -> None:
    story = Story()
    story.submit()

    events = [*asks(story, made("a")), *asks(story, made("b")), *asks(story, made("c"))]

    assert "guard.noted" not in types(events)
    assert len(only(ToolCallRequested, events)) == 3


def test_a_reply_is_noted_right_behind_its_call() -> None:
    story = guarded(loop_detection={}, tool_budgets={"get_weather": {"max_calls": 5}})
    call = story.model_call

    events = asks(story, made("a"), made("b", "send_email"))

    assert types(events)[:2] == ["llm.call.completed", "guard.noted"]
    (noted,) = only(GuardNoted, events)
    assert (noted.id, noted.private.streak, noted.private.calls) == (call.id, 1, {"get_weather": 1})
    assert story.session.turn is not None
    assert story.session.turn.guard.calls == (("get_weather", 1),)


def test_a_batch_that_comes_again_is_not_run_and_the_model_is_nudged() -> None:
    story = guarded(loop_detection=QUICK)
    asks(story, made("a", "get_weather", '{"city":"Rome"}'), made("b", "send_email"))

    events = asks(story, made("c", "send_email"), made("d", "get_weather", '{ "city": "Rome" }'))

    errored = only(ToolCallErrored, events)
    assert [(one.id, one.error, one.retryable) for one in errored] == [
        ("c", REPEATED_CALL, False),
        ("d", REPEATED_CALL, False),
    ]
    assert {str(one.detail) for one in errored} == {"{'reason': 'repeated_call'}"}
    assert "tool.call.dispatched" not in types(events)
    (loop,) = only(LoopDetected, events)
    assert (loop.consecutive_count, loop.hard_cutoff) == (2, False)
    assert loop.tools == ("send_email", "get_weather")
    assert types(events)[-7:] == [
        "message.new",
        "guard.loop_detected",
        "message.new",
        "step.ended",
        "llm.call.requested",
        "llm.call.dispatched",
        "step.started",
    ]
    note = only(MessageNew, events)[-1]
    assert (note.private.source.kind, note.message["content"]) == ("engine", nudge(2))
    assert told(story)[-3:] == [
        ("tool", REPEATED_CALL),
        ("tool", REPEATED_CALL),
        ("user", nudge(2)),
    ]
    assert story.requests()[-1].get("tool_choice") is None


def test_between_nudge_and_cutoff_the_batch_is_skipped_without_a_word() -> None:
    story = guarded(loop_detection=QUICK)
    for call_id in "ab":
        asks(story, made(call_id))

    events = asks(story, made("c"))

    assert [one.id for one in only(ToolCallErrored, events)] == ["c"]
    assert only(LoopDetected, events) == []
    assert told(story)[-1] == ("tool", REPEATED_CALL)
    assert story.session.turn is not None
    assert not story.session.turn.is_final


def test_at_the_cutoff_the_model_has_its_last_word_without_tools() -> None:
    story = guarded(loop_detection=QUICK)
    for call_id in "abc":
        asks(story, made(call_id))

    events = asks(story, made("d"))
    ended = story.answer("I give up.")

    assert [one.hard_cutoff for one in only(LoopDetected, events)] == [True]
    assert told(story)[-2:] == [("tool", REPEATED_CALL), ("user", FINAL_NOTE)]
    assert story.requests()[-1]["tool_choice"] == "none"
    assert story.requests()[-1]["tools"] == story.requests()[0]["tools"]
    assert only(TurnCompleted, ended)[0].outcome == "done"


def test_another_strategy_ends_a_loop() -> None:
    story = guarded(loop_detection=QUICK)
    asks(story, made("a"))
    asks(story, made("b"))

    events = asks(story, made("c", "send_email"))
    again = asks(story, made("d"))

    assert only(ToolCallErrored, [*events, *again]) == []
    assert [one.private.streak for one in only(GuardNoted, story.log)] == [1, 2, 1, 1]


def test_the_next_turn_knows_nothing_of_the_last_ones_loop() -> None:
    story = guarded(loop_detection=QUICK)
    asks(story, made("a"))
    story.answer("Done.")
    story.submit("Again.")

    events = asks(story, made("b"))

    assert only(ToolCallErrored, events) == []


@pytest.mark.parametrize(("max_calls", "refused"), [(0, "abc"), (1, "bc"), (2, "c"), (3, "")])
def test_calls_over_a_budget_are_answered_and_the_others_run(max_calls: int, refused: str) -> None:
    story = guarded(tool_budgets={"get_weather": {"max_calls": max_calls}})

    events = [*asks(story, made("a"), made("x", "send_email")), *asks(story, made("b"), made("c"))]

    overruns = only(ToolBudgetExceeded, events)
    assert [one.call_id for one in overruns] == [*refused]
    assert [one.call_index for one in overruns] == [1 + "abc".index(one) for one in refused]
    assert {one.max_calls for one in overruns} <= {max_calls}
    results = {m["tool_call_id"]: m["content"] for m in story.messages() if m["role"] == "tool"}
    assert results == {
        name: budget_text("get_weather", max_calls) if name in refused else f"result of {name}"
        for name in "axbc"
    }
    assert all(
        one.detail == {"reason": "tool_budget_exceeded"} for one in only(ToolCallErrored, events)
    )


def test_a_budgets_event_stands_right_behind_the_result() -> None:
    story = guarded(tool_budgets={"get_weather": {"max_calls": 0}})

    events = asks(story, made("a"), made("b", "look_around"))

    at = types(events).index("guard.tool_budget_exceeded")
    assert types(events)[at - 4 : at] == [
        "tool.call.errored",
        "decision.queued",
        "decision.completed",
        "message.new",
    ]
    assert [call.id for call in story.session.calls] == ["b"]


def test_a_sub_agent_over_its_budget_is_not_started() -> None:
    config = {
        "model": "demo:echo",
        "sub_agents": [{"id": "poet"}],
        "guards": {"tool_budgets": {"poet": {"max_calls": 0}}},
    }
    story = Story(config=config)
    story.submit()

    events = story.answer("", made("a", "poet", '{"message":"Write."}'))

    assert "sub_agent.requested" not in types(events)
    assert told(story)[-1] == ("tool", budget_text("poet", 0))


def test_the_batch_that_reaches_the_limit_is_run_and_the_next_reply_is_the_last() -> None:
    story = guarded(max_tool_turns=2)
    asks(story, made("a"))

    events = asks(story, made("b"))

    assert only(ToolCallErrored, events) == []
    assert only(GuardNoted, events)[0].private.is_final
    assert told(story)[-2:] == [("tool", "result of b"), ("user", FINAL_NOTE)]
    assert [one.get("tool_choice") for one in story.requests()] == [None, None, "none"]


def test_a_limit_that_comes_with_a_nudge_leaves_the_nudge_out() -> None:
    story = guarded(max_tool_turns=2, loop_detection=QUICK)
    asks(story, made("a"))

    events = asks(story, made("b"))

    assert [one.hard_cutoff for one in only(LoopDetected, events)] == [False]
    assert told(story)[-2:] == [("tool", REPEATED_CALL), ("user", FINAL_NOTE)]


def test_tools_that_the_last_reply_asks_for_are_not_run() -> None:
    """Invariant 7: each has its result; the turn ends with the text."""
    story = guarded(max_tool_turns=1)
    asks(story, made("a"))

    events = asks(story, made("b"), made("c", "look_around"), text="That is all.")

    assert "guard.noted" not in types(events)
    assert "tool.call.dispatched" not in types(events)
    assert [one.error for one in only(ToolCallErrored, events)] == [NO_MORE_TOOLS, NO_MORE_TOOLS]
    assert [m["content"] for m in story.messages()[-3:]] == [
        "That is all.",
        NO_MORE_TOOLS,
        NO_MORE_TOOLS,
    ]
    ended = next(value for value in story.values if value["type"] == "turn.completed")
    assert (ended["outcome"], ended["data"]) == ("done", "That is all.")
    story.submit("And now?")
    assert story.requests()[-1].get("tool_choice") is None


def test_a_reply_that_is_cut_off_is_not_counted() -> None:
    story = guarded(max_tool_turns=1, loop_detection=QUICK)

    events = story.answer("Half", made("a"), finish="length")

    assert "guard.noted" not in types(events)


def test_the_last_call_is_rebuilt_and_told_once_whatever_fails() -> None:
    """Its attempts, and a pause that voids it."""
    story = guarded(max_tool_turns=1)
    asks(story, made("a"))
    story.fail_model()
    story.proceed(2)

    story.take_over()

    assert [text for _, text in told(story)].count(FINAL_NOTE) == 1
    assert len(story.requests()) == 2


def test_code_that_knows_no_guards_leaves_a_guarded_session_alone() -> None:
    story = guarded(max_tool_turns=9)
    plain = format_of(story.session, story.log)

    asks(story, made("a"))

    assert (plain, format_of(story.session)) == (1, 3)


def test_a_worker_that_runs_the_model_is_sent_the_same() -> None:
    story = Story(config={**CONFIG, "handler": "worker", "guards": {"max_tool_turns": 1}})
    story.submit()
    call = story.model_call
    story.proceed()

    story.worker(call.id, said("", made("a")))
    story.worker("a", "sunny")

    assert story.requests()[-1]["tool_choice"] == "none"
    assert told(story)[-1] == ("user", FINAL_NOTE)
