"""A driver vanished; another one deals with what it was running."""

from __future__ import annotations

from everturn.session.commands import LeftOpen, TakeOver
from everturn.session.decide.entry import decide
from everturn.session.decide.proceed import VANISHED
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.model_calls import ModelCallErrored, ModelCallRequested
from everturn.session.events.shape import Retry
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.propose import CallModel, propose
from everturn.session.state import Call, CallStatus, Session
from unit.session.building import Story, made, only, stamp, types


def test_a_model_call_is_made_again_at_once_with_the_next_attempt() -> None:
    """N-2, L-7: the same request."""
    story = Story()
    story.submit()
    call = story.model_call

    events = story.take_over()

    assert types(events) == [
        "llm.call.errored",
        "step.ended",
        "llm.call.dispatched",
        "step.started",
    ]
    assert only(ModelCallErrored, events)[0].error == VANISHED
    assert propose(story.session).effects == (CallModel(call.id, 2),)
    assert len(only(ModelCallRequested, story.log)) == 1


def test_crashes_are_attempts_and_run_out() -> None:
    """N-2: they go through their policy."""
    story = Story()
    story.submit()
    for _ in range(4):
        story.take_over()

    events = story.take_over()

    assert types(events) == ["llm.call.errored", "step.ended", "turn.completed"]
    assert story.session.last_outcome == "failed"


def test_reads_run_again_and_mails_do_not() -> None:
    """O-8, F2: the dead driver's write may have happened."""
    story = Story()
    story.submit()
    story.answer("", made("a", "get_weather"), made("b", "send_email"))

    events = story.take_over()

    read, mail = only(ToolCallErrored, events)
    assert (read.error, read.retryable) == (VANISHED, True)
    assert (mail.error, mail.retryable) == (OUTCOME_UNKNOWN, False)
    assert [one.reason for one in only(DecisionDropped, events)] == ["driver_vanished"] * 2
    assert [(c.id, c.attempt, c.status) for c in story.session.calls] == [
        ("a", 2, CallStatus.PENDING)
    ]


def test_the_last_mail_of_a_reply_hands_back_to_the_model() -> None:
    story = Story()
    story.submit()
    story.answer("", made("b", "send_email"))

    events = story.take_over()

    assert types(events)[-1] == "step.started"


def test_what_nobody_was_running_is_left_alone() -> None:
    """F3: calls that legitimately wait are not repaired."""
    story = Story()
    story.submit()
    story.answer("", made("a", "send_email"), made("b", "send_email"), made("c", "look_around"))
    story.worker("a", LeftOpen())
    story.lose("b", started="no")
    before = story.session.calls

    assert story.take_over() == ()
    assert story.take_over() == ()
    assert story.session.calls == before


def test_a_model_call_that_waits_for_its_next_attempt_is_left_alone() -> None:
    story = Story()
    story.submit()
    story.fail_model()

    assert story.take_over() == ()


def test_a_session_without_a_turn_is_left_alone() -> None:
    story = Story()
    story.submit()
    story.answer("Hi.")

    assert story.take_over() == ()


def test_a_workers_model_call_is_not_the_drivers_to_repeat() -> None:
    """W-1: it is a delivery."""
    call = Call("m1", "llm_call", 3, Retry(), CallStatus.PENDING, 1, handler="worker")

    decided = decide(Session(calls=(call,)), TakeOver(stamp(), Story().facts()))

    assert decided.events == ()
