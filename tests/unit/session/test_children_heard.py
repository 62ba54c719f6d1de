"""Sub-agent calls in the core: what children say, and giving them up. Source: section 15."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.rejections import WrongHandler
from everturn.session.commands import SettleCall
from everturn.session.decide.client_answers import CANCELLED_BEFORE_RESULT
from everturn.session.events.children import (
    SubAgentErrored,
    SubAgentInterrupted,
    SubAgentStarted,
    SubAgentTurnCompleted,
)
from everturn.session.events.sessions import (
    TurnCompleted,
)
from everturn.session.events.shape import Usage
from everturn.session.evolve import fold
from everturn.session.mail_commands import (
    ChildDone,
    ChildFailed,
    ChildPaused,
)
from unit.session.building import only, said
from unit.session.children import (
    DONE,
    RAIN,
    SPAWN,
    WITH_POET,
    calling,
    first_then_echo,
    hear,
    hears_late,
    start,
)
from unit.session.deciding import Deciding, echo

# ---- hearing of it


def test_what_a_child_says_is_the_result_that_the_model_reads() -> None:
    """B-7, B-8, Y-3."""
    story = calling()
    start(story)

    hear(story, DONE)

    assert story.messages()[-1]["content"] == "Soft rain"
    assert story.messages()[-1]["name"] == "poet"
    assert [call.kind for call in story.session.calls] == ["llm_call"]
    story.answer("It says soft rain.", cost="0.25", usage=Usage(input_tokens=10))
    (ended,) = only(TurnCompleted, story.log)
    assert (ended.cost, ended.sub_agent_cost) == ("0.75", "0.5")
    assert (ended.usage.input_tokens, ended.usage.output_tokens) == (13, 4)


def test_a_child_that_says_nothing_has_an_empty_result() -> None:
    story = calling()

    hear(story, ChildDone("", "0", Usage()))

    assert only(SubAgentTurnCompleted, story.log)[0].result == ""
    assert story.messages()[-1]["role"] == "tool"


def test_a_report_before_the_start_was_noted_counts_as_its_start() -> None:
    story = calling()

    hear(story, DONE)

    assert len(only(SubAgentStarted, story.log)) == 1


def test_a_child_is_charged_to_the_turn_that_asked_for_it() -> None:
    """B-8: to no other, and to the session where that has a budget."""
    story = calling(config={**WITH_POET, "budgets": {"session": {"tokens": 10**6}}})
    before = story.session
    done = SubAgentTurnCompleted(
        turn_id="another", id="c1", session_id="s", agent_id="poet", cost="0.5"
    )

    after = fold([done], before)

    assert before.turn is not None
    assert (after.turn, after.calls) == (before.turn, ())
    assert after.spent is not None
    assert after.spent.cost == "0.5"


def test_a_second_report_changes_nothing() -> None:
    story = calling()
    (child,) = [call.session_id for call in story.session.calls]
    hear(story, DONE)

    assert hears_late(story, DONE, child) == ()
    assert hears_late(story, ChildFailed("no"), child) == ()


def test_a_report_of_another_session_changes_nothing() -> None:
    story = calling()

    assert hear(story, DONE, child="another") == ()


def test_a_failed_child_is_an_error_and_its_cost_counts() -> None:
    """B-9."""
    story = calling()
    start(story)

    hear(story, ChildFailed("it broke", "refused", {"reason": "x"}, "0.1", Usage(input_tokens=1)))

    (errored,) = only(SubAgentErrored, story.log)
    assert (errored.error, errored.code, errored.detail) == ("it broke", "refused", {"reason": "x"})
    assert story.session.turn is not None
    assert story.session.turn.sub_agent_cost == "0.1"


def test_a_paused_child_is_noted_once_and_keeps_its_call() -> None:
    """B-9."""
    story = calling()
    start(story)

    hear(story, ChildPaused("i1", "confirm"))
    hear(story, ChildPaused("i1", "confirm"))
    hear(story, ChildPaused("i2", "again"))

    assert [one.interrupt_id for one in only(SubAgentInterrupted, story.log)] == ["i1", "i2"]
    assert story.session.call("c1") is not None


def test_nobody_else_ends_a_sub_agent_call() -> None:
    """U-6."""
    story = calling()
    action = {"type": "tool.result", "id": "c1", "result": "mine"}

    with pytest.raises(WrongHandler):
        story.do(lambda at, facts: SettleCall(at, facts, action, ("worker", "client")))


def test_a_worker_that_decides_is_asked_what_the_end_of_a_child_means() -> None:
    """8.8; G-3: what led to it set is gone on with."""
    story = Deciding(config=WITH_POET, replies=[said("", RAIN), said("It says soft rain.")])
    story.submit("Write.")

    hear(story, DONE)
    story.run()

    assert story.triggers()[-2:] == ["sub_agent.finished", "llm.finished"]
    assert story.messages()[-2]["content"] == "Soft rain"
    assert story.session.last_outcome == "done"


def test_a_question_shows_the_children_that_are_waited_for() -> None:
    """Q-3, Q-5: the open one, and one whose end is not reported yet."""
    story = Deciding(config=WITH_POET)
    second = {**SPAWN, "session_id": "other", "tool_call_id": "c2"}
    third = {**SPAWN, "session_id": "third", "tool_call_id": "c3"}
    story.worker_ = first_then_echo([SPAWN, second, third])
    story.submit("Write.")
    hear(story, DONE)
    hear(story, ChildFailed("no"), "c2")

    story.run()

    told = [one for one in story.asked if one["trigger"]["type"] == "sub_agent.finished"]
    assert [(one["trigger"]["id"], one["trigger"]["ok"]) for one in told] == [
        ("c1", True),
        ("c2", False),
    ]
    shown = {call["id"]: call for call in told[0]["calls"]}
    assert shown["c2"]["status"] == "failed"
    assert (shown["c3"]["kind"], shown["c3"]["session_id"]) == ("sub_agent", "third")
    assert [one["pending_calls"] for one in told] == [2, 1]


def test_a_worker_may_word_the_result_of_a_child_its_own_way() -> None:
    story = Deciding(config=WITH_POET)
    story.worker_ = first_then_echo([SPAWN])
    story.submit("Write.")

    def rewriting(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] != "sub_agent.finished":
            return echo(request)
        message = {**request["proposed"]["messages"][0], "content": "Something about rain."}
        return {**request["proposed"], "messages": [message]}

    story.worker_ = rewriting
    hear(story, ChildFailed("no"))
    story.run()

    assert story.messages()[1]["content"] == "Something about rain."


# ---- giving it up


def test_a_cancelled_turn_cancels_its_children() -> None:
    """B-10, O-20."""
    story = calling()
    start(story)
    (child,) = [call.session_id for call in story.session.calls]

    story.cancel()

    assert story.messages()[-1]["content"] == CANCELLED_BEFORE_RESULT
    assert [(one.kind, one.target, one.agent_id) for one in story.session.outbox][-1] == (
        "cancel",
        child,
        "poet",
    )


def test_what_children_answered_before_a_cancel_stays_the_result() -> None:
    """O-20, of a worker that was not told yet."""
    story = Deciding(config=WITH_POET, replies=[said("", RAIN, {**RAIN, "id": "c2"})])
    story.submit("Write.")
    hear(story, DONE)
    hear(story, ChildFailed("it broke"), "c2")

    story.cancel()

    contents = [one["content"] for one in story.messages() if one["role"] == "tool"]
    assert contents == ["Soft rain", "it broke"]


def test_a_child_that_nobody_was_told_to_start_needs_no_cancel() -> None:
    pause = {"type": "interrupt", "interrupt_id": "i1", "reason": "wait"}
    story = Deciding(config=WITH_POET)
    story.worker_ = first_then_echo([SPAWN, pause])
    story.submit("Write.")

    story.cancel()

    assert story.session.outbox == ()


def test_a_report_that_comes_after_the_cancel_changes_nothing() -> None:
    """B-10: the parent hears nothing more about it."""
    story = calling()
    (child,) = [call.session_id for call in story.session.calls]
    story.cancel()

    assert hears_late(story, DONE, child) == ()


def test_a_branch_that_is_left_takes_its_children_along() -> None:
    """V-1, B-10: also what one of them said and nobody was told yet."""
    story = Deciding(config=WITH_POET)
    second = {**SPAWN, "session_id": "other", "tool_call_id": "c2"}
    third = {**SPAWN, "session_id": "third", "tool_call_id": "c3"}
    story.worker_ = first_then_echo([SPAWN, second, third])
    story.submit("Write.")
    hear(story, DONE)
    hear(story, DONE, "c2")
    (written,) = story.messages()
    anew = [{"role": "user", "content": "Something else."}, written]
    story.worker_ = lambda request: (
        {"messages": anew} if request["trigger"]["type"] == "sub_agent.finished" else echo(request)
    )

    story.run()

    assert story.session.calls == ()
    dropped = [value["reason"] for value in story.values if value["type"] == "decision.dropped"]
    assert dropped == ["branch_left"]
    assert [value["id"] for value in story.values if value["type"] == "call.voided"] == ["c3"]
