"""Answers that break the output schema: asked for again, then a typed error. Field case F26."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.json_text import compact
from everturn.protocol.limits import MAX_SHOWN_SCHEMA_BYTES
from everturn.session.events.guards import OutputRejected
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.sessions import TurnCompleted
from everturn.session.guard_texts import FINAL_NOTE, NO_MORE_TOOLS, repair_note
from everturn.session.refs import same_as
from unit.session.building import CONFIG, Story, made, only, types
from unit.session.transcript import assert_well_formed

SCHEMA = {"type": "object", "required": ["city"]}
PROBLEM = "/city: required"


def structured(**guards: Any) -> Story:
    """Return a session whose turn is open and wants JSON."""
    story = Story(config={**CONFIG, "output_schema": SCHEMA, "guards": guards})
    story.submit()
    return story


def ended(story: Story) -> dict[str, Any]:
    """Return how the turn ended, bodies in place."""
    (found,) = [value for value in story.values if value["type"] == "turn.completed"]
    return found


def test_f26_the_same_invalid_object_ten_times_is_two_repairs_then_an_error_with_the_last() -> None:
    story = structured()

    attempts = 0
    while story.session.turn is not None and attempts < 10:
        story.answer('{"town":"Rome"}', output_problem=PROBLEM)
        attempts += 1

    assert attempts == 3
    assert len(only(ModelCallRequested, story.log)) == 3
    assert [one.attempt for one in only(OutputRejected, story.log)] == [1, 2, 3]
    assert ended(story)["outcome"] == "failed"
    assert ended(story)["error"] == {
        "message": f"the answer does not fit the output schema: {PROBLEM}",
        "code": "output_invalid",
        "detail": {
            "reason": "output_invalid",
            "problem": PROBLEM,
            "attempts": 3,
            "last_attempt": '{"town":"Rome"}',
        },
    }
    story.submit("Try once more.")
    assert_well_formed(story.requests()[-1])


def test_an_answer_that_does_not_fit_is_kept_and_another_one_asked_for() -> None:
    story = structured()

    events = story.answer("{}", output_problem=PROBLEM)
    fits = story.answer('{"city":"Rome"}')

    assert types(events) == [
        "llm.call.completed",
        "output.rejected",
        "decision.queued",
        "decision.completed",
        "message.new",
        "message.new",
        "step.ended",
        "llm.call.requested",
        "llm.call.dispatched",
        "step.started",
    ]
    note = only(MessageNew, events)[-1]
    assert note.message["content"] == repair_note(PROBLEM, SCHEMA)
    assert note.private.source.kind == "engine"
    sent = story.requests()[-1]["messages"]
    assert [(m["role"], m["content"]) for m in sent[-2:]] == [
        ("assistant", "{}"),
        ("user", repair_note(PROBLEM, SCHEMA)),
    ]
    assert only(TurnCompleted, fits)[0].outcome == "done"


@pytest.mark.parametrize("repairs", [0, 1, 2])
def test_an_agent_says_how_often_it_is_asked_again(repairs: int) -> None:
    story = structured(output_repairs=repairs)

    for _ in range(repairs):
        story.answer("{}", output_problem=PROBLEM)
        assert story.session.turn is not None
    story.answer("{}", output_problem=PROBLEM)

    assert ended(story)["error"]["detail"]["attempts"] == repairs + 1


def test_every_turn_has_its_own_repairs() -> None:
    story = structured(output_repairs=1)
    story.answer("{}", output_problem=PROBLEM)
    story.answer('{"city":"Rome"}')
    story.submit("And now?")

    events = story.answer("{}", output_problem=PROBLEM)

    assert only(OutputRejected, events)[0].attempt == 1
    assert story.session.turn is not None


def test_text_beside_tool_calls_is_no_answer() -> None:
    story = structured()

    events = story.answer("Let me see.", made("a"), output_problem=PROBLEM)

    assert "output.rejected" not in types(events)
    assert [call.id for call in story.session.calls] == ["a"]


def test_a_last_reply_that_asks_for_tools_is_held_to_the_schema() -> None:
    story = structured(max_tool_turns=1)
    story.answer("", made("a"))
    story.worker("a", "sunny")

    story.answer("", made("b"), output_problem=PROBLEM)
    story.answer('{"city":"Rome"}')

    contents = [m.get("content") for m in story.messages()]
    assert contents[-4:] == [None, NO_MORE_TOOLS, repair_note(PROBLEM, SCHEMA), '{"city":"Rome"}']
    assert contents.count(FINAL_NOTE) == 1
    assert ended(story)["outcome"] == "done"


def test_an_answer_with_nothing_in_it_is_not_written_and_asked_for_again() -> None:
    story = structured()

    events = story.answer("", output_problem="/: the answer is empty")

    assert [m["role"] for m in story.messages()] == ["user", "user"]
    assert len(only(MessageNew, events)) == 1


def test_the_last_attempt_is_stored_once() -> None:
    """LG-9: the failure refers to the reply."""
    story = structured(output_repairs=0)
    seq = len(story.log) + 1

    events = story.answer("{}", output_problem=PROBLEM)

    failed = only(TurnCompleted, events)[0]
    assert failed.refs == {"error.detail.last_attempt": same_as(seq, "message.content")}
    assert "message.new" not in types(events)


@pytest.mark.parametrize(
    ("content", "text"),
    [("", ""), ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab")],
)
def test_a_last_attempt_in_parts_is_their_text(content: Any, text: str) -> None:
    story = structured(output_repairs=0)

    story.answer(content, output_problem=PROBLEM)

    assert ended(story)["error"]["detail"]["last_attempt"] == text


def test_a_small_schema_is_quoted_and_a_large_one_is_not() -> None:
    empty = len(compact({"title": ""}).encode())
    fits = {"title": "x" * (MAX_SHOWN_SCHEMA_BYTES - empty)}

    assert compact(fits) in repair_note(PROBLEM, fits)
    assert "xx" not in repair_note(PROBLEM, {"title": fits["title"] + "x"})
