"""Model calls that the worker runs for a session which the engine decides."""

from __future__ import annotations

from typing import Any

from everturn.session.commands import DeferDecision, LeftOpen, ModelFailure, SettleCall
from everturn.session.events.decisions import DecisionDropped, DecisionQueued
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import (
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
)
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import SettleIgnored
from everturn.session.formats import format_of
from everturn.session.propose import DeliverToWorker, propose
from everturn.session.state import status_of
from unit.session.building import CONFIG, Story, made, only, said, types

QUICK = {"timeout_secs": 60, "max_retries": 2, "backoff_base_secs": 2, "backoff_max_secs": 60}
WORKERS: dict[str, Any] = {**CONFIG, "model": "m-large", "handler": "worker", "retry": QUICK}


def asked(content: str = "Hello.", **config: Any) -> Story:
    """Return a session whose worker was asked to run its first model call."""
    story = Story(config={**WORKERS, **config})
    story.submit(content)
    story.proceed()
    return story


def settle(story: Story, action: dict[str, Any], reading: Any = None) -> tuple[Event, ...]:
    """End a call from outside, as an API key does."""
    given = {"id": story.model_call.id, **action}
    return story.do(lambda at, facts: SettleCall(at, facts, given, ("worker", "client"), reading))


def test_an_input_asks_for_the_call_and_a_driver_delivers_it() -> None:
    """O-10, W-1: worker deliveries are dispatched by drivers only."""
    story = Story(config={**WORKERS, "format": "openai"})

    by_api = types(story.submit())
    waiting = propose(story.session)
    by_driver = types(story.proceed())

    assert by_api[-4:] == [
        "llm.call.requested",
        "llm.call.dispatched",
        "step.started",
        "decision.queued",
    ]
    assert (waiting.effects, waiting.is_ready) == ((), True)
    assert by_driver == ["decision.dispatched"]
    (decision,) = story.session.decisions
    call = story.model_call
    assert decision.trigger == "llm.execute"
    assert propose(story.session).effects == (DeliverToWorker(decision.id, 1, call.id),)
    (request,) = only(ModelCallRequested, story.log)
    assert (request.handler, request.format, request.model) == ("worker", "openai", "m-large")
    assert status_of(story.session) == "active"


def test_older_code_is_kept_away_from_a_model_that_it_would_call_itself() -> None:
    """storage-and-commits: format 2 from the first request on, as long as the session lives."""
    story, plain = asked(), Story()
    plain.submit()

    story.worker(story.model_call.id, said("Hi."))

    formats = [format_of(one.session, one.log) for one in (story, plain)]
    assert formats == [2, 1]


def test_a_reply_ends_the_turn() -> None:
    """8.7: the engine decides what it means."""
    story = asked()

    events = types(story.worker(story.model_call.id, said("Hi.")))

    assert events[:2] == ["decision.completed", "llm.call.completed"]
    assert events[-2:] == ["turn.completed", "session.done"]
    assert story.messages()[-1]["content"] == "Hi."
    assert (story.session.calls, story.session.decisions) == ((), ())


def test_tools_of_a_reply_run_and_the_worker_is_asked_again() -> None:
    """Q-4, W-1."""
    story = asked()

    story.worker(story.model_call.id, said("", made("c1")))
    again = types(story.worker("c1", "sunny"))

    assert again[-3:] == ["step.started", "decision.queued", "decision.dispatched"]
    assert story.delivery(story.model_call.id).status == "live"
    assert [role["role"] for role in story.requests()[-1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]


def test_a_failure_is_tried_again_by_a_new_order() -> None:
    """R-3, R-4, 8.6: one `llm.execute` an attempt."""
    story = asked()
    call_id = story.model_call.id

    story.worker(call_id, ModelFailure("busy", "rate_limited", retryable=True))
    early = story.proceed(1.9)
    again = types(story.proceed(0.1))

    assert early == ()
    assert again == [
        "llm.call.dispatched",
        "step.started",
        "decision.queued",
        "decision.dispatched",
    ]
    assert [one.attempt for one in only(ModelCallDispatched, story.log)] == [1, 2]
    assert len([one for one in only(DecisionQueued, story.log) if one.call_id == call_id]) == 2


def test_the_last_failure_fails_the_turn() -> None:
    """O-4: the engine's default."""
    story = asked(retry={**QUICK, "max_retries": 1})

    story.worker(story.model_call.id, ModelFailure("busy", "rate_limited", retryable=True))

    assert story.session.last_outcome == "failed"
    assert (story.session.calls, story.session.decisions) == ((), ())


def test_an_attempt_that_lapses_takes_its_order_along() -> None:
    """R-5, R-7, D-13."""
    story = asked()

    story.proceed(60)

    (dropped,) = only(DecisionDropped, story.log)
    (errored,) = only(ModelCallErrored, story.log)
    assert dropped.reason == "attempt_lapsed"
    assert (errored.code, errored.retryable) == ("deadline_exceeded", True)
    story.proceed(2)
    assert story.delivery(story.model_call.id).status == "live"


def test_a_call_that_was_left_open_is_settled_from_outside() -> None:
    """8.6, U-6: the reply goes on as any other; its tools wait for a driver."""
    story = asked()
    story.worker(story.model_call.id, LeftOpen())
    idle = propose(story.session)

    events = types(settle(story, {"type": "llm.result"}, said("", made("c1"))))

    assert idle.effects == ()
    assert events[-1] == "tool.call.requested"
    assert propose(story.session).is_ready
    story.proceed()
    assert story.delivery("c1").status == "live"


def test_an_order_that_nobody_has_seen_goes_with_its_call() -> None:
    """D-13, O-25: settled between the input and the driver."""
    story = Story(config=WORKERS)
    story.submit()

    settle(story, {"type": "llm.result"}, said("Hi."))

    (dropped,) = only(DecisionDropped, story.log)
    assert dropped.reason == "call_settled"
    assert (story.session.last_outcome, story.session.decisions) == ("done", ())


def test_an_answer_to_an_attempt_that_was_failed_meanwhile_is_noted() -> None:
    """P-4."""
    story = asked()
    call_id = story.model_call.id
    settle(story, {"type": "llm.error", "error": "busy", "retryable": True})

    story.worker(call_id, said("Hi."))

    (ignored,) = only(SettleIgnored, story.log)
    assert (ignored.id, ignored.reason) == (call_id, "call_not_open")
    assert story.session.turn is not None
    story.proceed(2)
    story.worker(call_id, said("Hi again."))
    assert story.messages()[-1]["content"] == "Hi again."


def test_nothing_to_be_done_is_not_too_late() -> None:
    """8.6: `{}` says nothing about an attempt."""
    story = asked()
    call_id = story.model_call.id
    settle(story, {"type": "llm.error", "error": "busy", "retryable": True})

    story.worker(call_id, LeftOpen())

    assert only(SettleIgnored, story.log) == []


def test_an_answer_that_came_later_leaves_the_deliveries_to_a_driver() -> None:
    """D-7: storage-and-commits, "Who does what first"."""
    story = asked()
    one = story.delivery(story.model_call.id)
    story.do(lambda at, facts: DeferDecision(at, facts, one.id, one.attempt))

    events = types(story.worker(story.model_call.id, said("", made("c1")), deliveries=None))

    assert events[-1] == "tool.call.requested"
    assert propose(story.session).is_ready


def test_a_worker_that_is_never_reached_fails_the_call() -> None:
    """D-14: `provider_error`, terminal."""
    story = asked()

    story.lose(story.model_call.id, retryable=False)

    (errored,) = only(ModelCallErrored, story.log)
    assert (errored.code, errored.retryable) == ("provider_error", False)
    assert story.session.last_outcome == "failed"


def test_a_driver_that_vanished_leaves_an_order_that_is_delivered_again() -> None:
    """N-2: the same order, not a new attempt of the call."""
    story = asked()

    story.take_over()

    one = story.delivery(story.model_call.id)
    assert (one.status, one.attempt, story.model_call.attempt) == ("live", 2, 1)


def test_the_worker_is_named_as_the_maker_of_its_replies() -> None:
    """session-log MB-3."""
    story = asked()

    story.worker(story.model_call.id, said("Hi."))

    source = only(MessageNew, story.log)[-1].private.source
    assert (source.kind, source.provider, source.model) == ("model", "worker", "m-large")
