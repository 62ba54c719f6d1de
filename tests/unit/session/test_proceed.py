"""What happens by itself when time passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everturn.session.commands import LeftOpen, Proceed, ToolRefused
from everturn.session.decide.entry import decide
from everturn.session.decide.tool_result import CLIENT_LAPSED, NOT_STARTED, OUTCOME_UNKNOWN
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.model_calls import ModelCallErrored
from everturn.session.events.shape import Retry
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.propose import propose
from everturn.session.state import Call, CallStatus, Session
from unit.session.building import NOON_MS, Story, made, only, stamp, types

CONFIG: dict[str, Any] = {
    "model": "demo:echo",
    "tools": [
        {"name": "look_up", "effect": "read", "timeout_secs": 10},
        {"name": "send_email", "timeout_secs": 10},
        {"name": "look_around", "handler": "client", "timeout_secs": 10},
    ],
}


def asked(*calls: dict[str, Any]) -> Story:
    """Return a session whose model asked for tools that have ten seconds."""
    story = Story(config=CONFIG)
    story.submit()
    story.answer("", *calls)
    return story


def test_a_model_call_over_its_deadline_fails_and_is_tried_again() -> None:
    """R-5, R-3: timeouts are retryable."""
    story = Story()
    story.submit()
    assert story.proceed(179.999) == ()

    events = story.proceed(0.001)

    errored = only(ModelCallErrored, events)[0]
    assert (errored.error, errored.code, errored.retryable) == (
        "attempt 1 passed its deadline",
        "deadline_exceeded",
        True,
    )
    assert types(events) == ["llm.call.errored", "step.ended"]
    assert types(story.proceed(2)) == ["llm.call.dispatched", "step.started"]


def test_the_last_attempts_deadline_ends_the_turn() -> None:
    """R-2, O-4."""
    story = Story()
    story.submit()
    for _ in range(4):
        story.proceed(180)
        story.proceed(60)

    events = story.proceed(180)

    assert types(events) == ["llm.call.errored", "step.ended", "turn.completed"]


def test_a_read_over_its_deadline_gets_a_new_delivery() -> None:
    """R-5, R-7, D-13: the live delivery is dropped with the attempt."""
    story = asked(made("a", "look_up"))

    events = story.proceed(10)

    dropped = only(DecisionDropped, events)[0]
    errored = only(ToolCallErrored, events)[0]
    assert dropped.reason == "attempt_lapsed"
    assert (errored.code, errored.retryable) == ("deadline_exceeded", True)
    assert types(story.proceed(2)) == [
        "tool.call.dispatched",
        "decision.queued",
        "decision.dispatched",
    ]
    assert story.session.calls[0].attempt == 2


def test_a_mail_over_its_deadline_has_an_unknown_outcome() -> None:
    """O-11: R-3 never repeats a call whose effect forbids it."""
    story = asked(made("a", "send_email"))

    events = story.proceed(10)

    errored = only(ToolCallErrored, events)[0]
    assert (errored.error, errored.retryable) == (OUTCOME_UNKNOWN, False)
    assert types(events)[-1] == "step.started"


def test_a_mail_that_was_never_handed_over_says_so_at_its_deadline() -> None:
    """Agent-session 6; and nothing is sent that has no time left."""
    story = asked(made("a", "send_email"))
    story.lose("a", started="no", retry_after_s=9)

    events = story.proceed(10)

    assert "decision.dispatched" not in types(events)
    errored = only(ToolCallErrored, events)[0]
    assert errored.error == f"{NOT_STARTED}attempt 1 passed its deadline"
    assert errored.code == "deadline_exceeded"


def test_a_clients_tool_over_its_deadline_is_the_models_to_read() -> None:
    """Vocabulary, "Failures": no repetition."""
    story = asked(made("a", "look_around"))

    events = story.proceed(10)

    errored = only(ToolCallErrored, events)[0]
    assert (errored.code, errored.retryable) == ("deadline_exceeded", False)
    assert story.messages()[-1]["content"] == CLIENT_LAPSED


def test_a_call_that_was_left_open_keeps_its_deadline() -> None:
    """R-7."""
    story = asked(made("a", "look_up"))
    story.worker("a", LeftOpen())

    events = story.proceed(10)

    assert types(events) == ["tool.call.errored"]
    assert story.session.calls[0].status is CallStatus.RETRY_SCHEDULED


def test_a_retry_waits_for_room() -> None:
    """D-1: the slot is taken."""
    story = Story()
    story.submit()
    story.answer("", made("a", "set_alarm"), made("b", "set_alarm"))
    story.worker("a", ToolRefused("busy", retryable=True))

    assert story.proceed(2) == ()
    assert story.session.calls[0].status is CallStatus.RETRY_SCHEDULED
    assert types(story.worker("b", "ok"))[-1] == "decision.dispatched"


def test_nothing_is_due_before_its_time_nor_twice() -> None:
    story = Story()
    story.submit()
    story.fail_model()

    assert story.proceed(1.999) == ()
    assert story.proceed(0.001) != ()
    assert story.proceed() == ()


@pytest.mark.parametrize("after_s", [0, 10_000])
def test_an_idle_session_has_nothing_to_do(after_s: int) -> None:
    story = Story()
    story.submit()
    story.answer("Hi.")

    assert story.proceed(after_s) == ()
    assert propose(story.session).next_due_ms is None


def test_a_lapse_leaves_the_other_calls_deliveries_alone() -> None:
    story = asked(made("a", "look_up"), made("b", "undeclared"))

    events = story.proceed(10)

    assert types(events) == ["decision.dropped", "tool.call.errored"]
    assert [one.call_id for one in story.session.decisions] == ["b"]


def test_a_turn_that_ended_under_way_takes_the_rest_with_it() -> None:
    """Two calls are over their deadline at once, and the first ends the turn."""
    story = Story()
    story.submit()
    call = replace(story.model_call, deadline_ms=NOON_MS, retry=Retry())
    twins = replace(story.session, calls=(call, replace(call, id="twin")))

    decided = decide(twins, Proceed(stamp(), story.facts()))

    assert types(decided.events) == [
        "llm.call.errored",
        "step.ended",
        "call.voided",
        "turn.completed",
    ]
    assert decided.session.calls == ()


def test_an_attempt_outside_a_turn_is_no_step() -> None:
    """TS-3 counts steps in turns; T-10 lets a call outlive its own."""
    call = Call("m1", "llm_call", 3, Retry(), CallStatus.RETRY_SCHEDULED, 1, next_attempt_at_ms=1)

    decided = decide(Session(calls=(call,)), Proceed(stamp(), Story().facts()))

    assert types(decided.events) == ["llm.call.dispatched"]
