"""What goes wrong in the field, as far as the core alone shows it. Source: field cases."""

from __future__ import annotations

from collections import Counter

import pytest

from everturn.rejections import TurnAlreadyActive
from everturn.session.commands import LeftOpen, ToolRefused
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.decide.turn_end import FAILED_BEFORE_RESULT
from everturn.session.events.tool_calls import ToolCallDispatched
from unit.session.building import Story, made, only, types


def results(story: Story) -> dict[str, str]:
    """Return what the newest request says about each tool call."""
    sent = story.requests()[-1]["messages"]
    return {m["tool_call_id"]: m["content"] for m in sent if m["role"] == "tool"}


def test_f1_a_refused_sibling_leaves_no_unanswered_id() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"), made("c2"))
    story.worker("c2", "sunny")

    story.worker("c1", ToolRefused("rejected"))

    assert results(story) == {"c1": "rejected", "c2": "sunny"}


def test_f2_a_process_that_dies_in_a_tool_call_does_not_end_the_session() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"))
    story.take_over()
    story.answer("I do not know whether it was sent.")

    story.submit("Check.")

    assert results(story) == {"c1": OUTCOME_UNKNOWN}
    assert story.session.turn is not None


def test_f3_calls_that_legitimately_wait_are_not_repaired() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"))
    story.worker("c1", LeftOpen())

    repairs = [story.take_over(), story.take_over(), story.proceed(3600)]

    assert repairs == [(), (), ()]
    assert [call.id for call in story.session.calls] == ["c1"]


def test_f5_a_finished_sibling_does_not_run_again() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1"), made("c2", "send_email"))
    story.worker("c2", "sent")
    for _ in range(2):
        story.take_over()
    story.worker("c1", "sunny")

    starts = Counter(event.id for event in only(ToolCallDispatched, story.log))

    assert starts == {"c1": 3, "c2": 1}
    assert results(story) == {"c1": "sunny", "c2": "sent"}


def test_f9_waiting_for_a_person_is_not_staleness() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1", "look_around"))

    assert story.proceed(3600) == ()
    assert story.session.turn is not None


def test_f10_a_half_answered_batch_is_closed_before_the_next_message() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"), made("c2"), made("c3", "send_email"))
    story.worker("c1", "sent")
    with pytest.raises(TurnAlreadyActive):
        story.submit("And?")
    story.fail_turn()

    story.submit("And?")

    assert results(story) == {
        "c1": "sent",
        "c2": FAILED_BEFORE_RESULT,
        "c3": FAILED_BEFORE_RESULT,
    }


def test_f10_a_late_result_for_a_closed_call_changes_nothing() -> None:
    story = Story()
    story.submit()
    story.answer("", made("c1"))
    story.worker("c1", LeftOpen())
    late = story.last
    story.fail_turn()

    assert late is not None
    assert story.decide(late).events == ()
    assert types(story.submit("Next."))[0] == "turn.started"
