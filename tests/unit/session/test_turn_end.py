"""How a turn ends from outside, and what it leaves."""

from __future__ import annotations

from everturn.session.commands import Proceed
from everturn.session.decide.turn_end import FAILED_BEFORE_RESULT, complete_turn
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.messages import MessageNew
from everturn.session.events.sessions import TurnCompleted, TurnFailure
from everturn.session.events.tool_calls import CallVoided
from everturn.session.journal import Journal
from everturn.session.state import Session, status_of
from unit.session.building import Story, made, only, stamp, types, usage


def test_a_failed_turn_leaves_nothing_in_flight_and_a_valid_transcript() -> None:
    """T-16, D-13, V-1, O-20: the answered call keeps its result, in call order."""
    story = Story()
    story.submit()
    story.answer(
        "",
        made("a", "get_weather"),
        made("b", "send_email"),
        made("c", "send_email"),
        made("d", "set_alarm"),
        usage=usage(1),
    )
    story.worker("a", "sunny")

    events = story.fail_turn("given up", "engine_failure")

    assert types(events) == [
        "decision.dropped",
        *["call.voided"] * 3,
        *["message.new"] * 3,
        "step.ended",
        "turn.completed",
    ]
    assert [one.reason for one in only(DecisionDropped, events)] == ["turn_failed"]
    assert [(one.id, one.private.outcome_unknown) for one in only(CallVoided, events)] == [
        ("b", True),
        ("c", False),
        ("d", False),
    ]
    closed = [m for m in story.messages() if m.get("content") == FAILED_BEFORE_RESULT]
    assert [m["tool_call_id"] for m in closed] == ["b", "c", "d"]
    assert all(one.private.is_error for one in only(MessageNew, events))
    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.usage) == ("failed", usage(1))
    assert ended.error == TurnFailure(message="given up", code="engine_failure")
    assert status_of(story.session) == "idle"


def test_the_next_turn_of_a_failed_one_is_well_formed() -> None:
    """F2, F10: a dead tool call does not make every later turn fail."""
    story = Story()
    story.submit()
    story.answer("", made("c1", "send_email"))
    story.fail_turn()

    story.submit("Go on.")

    assert [m["role"] for m in story.requests()[-1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert story.answer("Yes.")[-1].type == "session.done"


def test_a_running_model_call_is_voided_with_its_turn() -> None:
    story = Story()
    story.submit()

    events = story.fail_turn()

    assert types(events) == ["call.voided", "step.ended", "turn.completed"]
    assert only(CallVoided, events)[0].private.outcome_unknown is False


def test_a_turn_ends_once() -> None:
    """T-7."""
    story = Story()
    story.submit()
    story.fail_turn()

    assert story.fail_turn() == ()


def test_without_a_turn_nothing_is_completed() -> None:
    facts = Story().facts()
    journal = Journal(Session(), stamp(), facts)

    complete_turn(journal, "done")

    assert journal.events == []
    assert Proceed(stamp(), facts).deliveries.max_attempts == 10
