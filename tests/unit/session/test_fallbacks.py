"""Models that fail for good, and those that the turn goes on with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everturn.session.budget import Budget
from everturn.session.events.guards import ModelFellBack
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import ModelCallRequested, RequestContext
from everturn.session.events.sessions import TurnCompleted
from everturn.session.facts import Route
from everturn.session.state import Spent
from unit.session.building import CONFIG, Story, made, only, types

ONCE = {"timeout_secs": 60, "max_retries": 1, "backoff_base_secs": 0, "backoff_max_secs": 0}
ROUTES = {
    "other:b": Route("other", "b", context_window=100_000),
    "third:c": Route("third", "c", context_window=50_000),
}


def story_of(**config: Any) -> Story:
    """Return a session with an open turn and two models to fall back to."""
    given = {**CONFIG, "retry": ONCE, "fallback_models": [*ROUTES], **config}
    story = Story(config=given, routes=ROUTES)
    story.submit()
    return story


def test_a_model_that_failed_for_good_is_followed_by_the_next_one() -> None:
    story = story_of()
    failed = story.model_call

    events = story.fail_model()
    answered = story.answer("Hi from b.")

    assert types(events) == [
        "llm.call.errored",
        "model.fell_back",
        "step.ended",
        "request.header",
        "request.context",
        "llm.call.requested",
        "llm.call.dispatched",
        "step.started",
    ]
    (fell,) = only(ModelFellBack, events)
    assert (fell.id, fell.from_model, fell.to_model) == (failed.id, "demo:echo", "other:b")
    (context,) = only(RequestContext, events)
    assert (context.provider, context.model, context.context_window) == ("other", "b", 100_000)
    assert only(ModelCallRequested, events)[0].model == "other:b"
    assert [body["model"] for body in story.requests()] == ["echo", "b"]
    source = only(MessageNew, answered)[0].private.source
    assert (source.provider, source.model) == ("other", "b")
    assert only(TurnCompleted, answered)[0].outcome == "done"


def test_attempts_come_before_a_fallback() -> None:
    story = story_of(retry={**ONCE, "max_retries": 2})

    events = story.fail_model()
    story.proceed()
    again = story.fail_model()

    assert "model.fell_back" not in types(events)
    assert only(ModelFellBack, again)[0].to_model == "other:b"


def test_the_rest_of_the_turn_stays_there_and_the_next_turn_begins_anew() -> None:
    story = story_of()
    story.fail_model()
    story.answer("", made("a"))
    story.worker("a", "sunny")
    story.answer("Sunny.")

    story.submit("And now?")

    assert [body["model"] for body in story.requests()] == ["echo", "b", "b", "echo"]


def test_when_no_model_is_left_the_turn_fails_as_the_last_one_did() -> None:
    story = story_of()
    story.fail_model("first")
    story.fail_model("second")

    events = story.fail_model("third", code="refused", detail={"reason": "safety"})

    assert "model.fell_back" not in types(events)
    error = only(TurnCompleted, events)[0].error
    assert (error.message, error.code, error.detail) == ("third", "refused", {"reason": "safety"})
    assert [one.to_model for one in only(ModelFellBack, story.log)] == ["other:b", "third:c"]


@pytest.mark.parametrize("code", ["refused", "deadline_exceeded", "rate_limited", None])
def test_whatever_failed_the_next_model_may_do_better(code: str | None) -> None:
    story = story_of()

    events = story.fail_model(code=code, retryable=False)

    assert "model.fell_back" in types(events)


def test_a_budget_that_is_used_up_is_so_for_every_model() -> None:
    story = story_of()
    story.answer("", made("a"), cost="2")
    story.budgets = (Budget("tenant", "fail", "1", None, Spent("2")),)

    events = story.worker("a", "sunny")

    assert "model.fell_back" not in types(events)
    assert only(TurnCompleted, events)[0].error.code == "budget_exceeded"


def test_an_attempt_that_lapses_falls_back_in_the_same_commit() -> None:
    story = story_of()

    events = story.proceed(61)

    assert types(events)[:2] == ["llm.call.errored", "model.fell_back"]
    assert story.model_call.attempt == 1


def test_an_attempt_whose_driver_vanished_falls_back_once_none_is_left() -> None:
    story = story_of()

    events = story.take_over()

    assert "model.fell_back" in types(events)
    assert only(ModelCallRequested, events)[0].model == "other:b"


def test_a_model_that_the_facts_do_not_know_is_not_fallen_back_to() -> None:
    story = story_of()
    story.routes = {}

    events = story.fail_model()

    assert types(events)[-1] == "turn.completed"


def test_a_call_that_the_worker_runs_has_no_fallback() -> None:
    story = story_of(handler="worker")
    call = story.model_call
    story.proceed()

    events = story.lose(call.id, retryable=False)

    assert "model.fell_back" not in types(events)
    assert only(TurnCompleted, events)[0].outcome == "failed"


def test_a_smaller_window_shows_fewer_turns() -> None:
    small = replace(ROUTES["other:b"], context_window=200)
    story = Story(config={**CONFIG, "retry": ONCE, "fallback_models": ["other:b"]})
    story.routes = {"other:b": small}
    story.submit("x" * 2000)
    story.answer("y" * 2000)
    story.submit("Short.")

    story.fail_model()

    sent = [m["content"] for m in story.requests()[-1]["messages"] if m["role"] == "user"]
    assert sent == ["Short."]


def test_a_pause_on_failure_comes_after_the_last_model() -> None:
    story = story_of(on_failure="interrupt", fallback_models=["other:b"])
    story.fail_model()

    events = story.fail_model()

    assert "session.interrupted" in types(events)
