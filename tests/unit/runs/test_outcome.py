"""Vocabulary: a run's status, its end, and why it failed."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.runs.failures import failure_of
from everturn.runs.outcome import RunOutcome, outcome_of, shown_model, tokens_of
from everturn.session.events.mail import InboxDiscarded, InboxEnqueued
from everturn.session.events.sessions import SessionCancelled, TurnFailure
from everturn.session.events.shape import Usage
from everturn.session.events.stored import Event
from unit.runs.logs import (
    HEADER,
    RUN,
    asked,
    dispatched,
    done,
    header,
    logged,
    replied,
    started,
)

USAGE = Usage(
    input_tokens=5, cache_read_tokens=3, cache_write_tokens=2, output_tokens=7, reasoning_tokens=4
)
TOKENS = {"inputTokens": 10, "cachedTokens": 3, "reasoningTokens": 4, "outputTokens": 7}
MODEL = {
    "id": "demo:large",
    "provider": "demo",
    "vendorModelId": "large",
    "reasoningEffort": "high",
}
SPENT = {"tokens": TOKENS, "turns": 2, "model": MODEL}


def ended(*rest: Event, **how: Any) -> RunOutcome:
    """Return the outcome of a run of two model calls that ended so."""
    end = done(usage=USAGE, **how)
    called = (asked("m1"), *dispatched("m1", 1), replied("m1", "First"))
    again = (asked("m2"), *dispatched("m2", 2), replied("m2", "Last"))
    return outcome_of(RUN, logged([header(), started(), *called], [*again, end, *rest]))


def failed(code: str | None, reason: str | None = None, **detail: Any) -> TurnFailure:
    said = {"reason": reason, **detail} if reason else None
    return TurnFailure(message="No.", code=code, detail=said)


def test_a_run_that_is_done_is_a_result() -> None:
    outcome = ended()

    assert outcome.told() == (
        "result",
        {"subtype": "success", "ok": True, "text": "Hi", **SPENT},
    )
    assert outcome.shown() == {
        "status": "succeeded",
        "finalText": "Hi",
        "error": None,
        "failureReason": None,
        **SPENT,
    }


@pytest.mark.parametrize(
    ("data", "text"), [(None, ""), ({"a": [1]}, '{"a":[1]}'), (7, "7"), ("x", "x")]
)
def test_a_worker_may_end_a_run_with_any_value(data: Any, text: str) -> None:
    assert ended(data=data).final_text == text


def test_a_run_that_came_to_rest_by_itself_ends_with_what_was_said_last() -> None:
    outcome = ended(outcome="quiescent", data=None)

    assert (outcome.status, outcome.final_text) == ("succeeded", "Last")


def test_a_run_that_was_cut_off_failed_and_keeps_what_it_said() -> None:
    outcome = ended(data="The beg", truncated=True)

    kind, data = outcome.told()
    assert kind == "error"
    assert {name: data[name] for name in data if name not in {"error", *SPENT}} == {
        "code": "truncation",
        "errorClass": "truncation",
        "finishReason": "max_tokens",
        "partialText": "The beg",
        "retryable": False,
    }
    shown = outcome.shown()
    assert (shown["status"], shown["finalText"]) == ("failed", "The beg")
    assert shown["failureReason"] == {
        "errorClass": "truncation",
        "finishReason": "max_tokens",
    }


@pytest.mark.parametrize(
    ("code", "reason", "error_class", "shown_code", "retryable"),
    [
        ("rate_limited", "rate_limit", "rate_limit", "rate_limit", True),
        ("provider_error", "overloaded", "overloaded", "overloaded", True),
        ("provider_error", "stream_ended", "server", "server", True),
        ("provider_error", "context_window_exceeded", "context_window", "context_window", False),
        ("provider_error", "invalid_request", "invalid_request", "invalid_request", False),
        ("provider_error", "unsupported_content", "invalid_request", "invalid_request", None),
        ("provider_error", "auth", "auth", "auth", False),
        ("provider_error", None, "server", "server", None),
        ("provider_error", "output_invalid", "unknown", "output_invalid", None),
        ("deadline_exceeded", "timeout", "timeout", "timeout", True),
        ("deadline_exceeded", None, "timeout", "timeout", True),
        ("deadline_exceeded", "local_timeout", "local_timeout", "local_timeout", False),
        ("refused", "refused", "unknown", "refused", False),
        ("budget_exceeded", None, "unknown", "budget_exceeded", False),
        ("worker_rejected", None, "unknown", "worker_rejected", None),
        (None, None, "unknown", "error", None),
    ],
)
def test_a_failure_has_the_class_of_its_cause(
    code: str, reason: str | None, error_class: str, shown_code: str, retryable: bool | None
) -> None:
    failure = failure_of(failed(code, reason), "")

    assert failure.error == "No."
    assert (failure.error_class, failure.code) == (error_class, shown_code)
    assert failure.retryable is retryable
    assert failure.finish_reason == ("refusal" if code == "refused" else None)


def test_a_failed_run_keeps_what_it_said_where_that_is_of_use() -> None:
    invalid = ended(
        outcome="failed", error=failed("provider_error", "output_invalid", last_attempt="{")
    )
    broke = ended(outcome="failed", error=failed("budget_exceeded"))
    other = ended(outcome="failed", error=failed("provider_error", "server"))

    assert (invalid.final_text, invalid.told()[1]["partialText"]) == ("{", "{")
    assert (broke.final_text, broke.told()[1]["partialText"]) == ("Last", "Last")
    assert (other.final_text, "partialText" in other.told()[1]) == (None, False)
    assert other.shown()["error"] == "No."


def test_a_run_that_failed_without_a_reason_failed_all_the_same() -> None:
    outcome = ended(outcome="blocked")

    assert (outcome.status, outcome.told()[1]["code"]) == ("failed", "error")


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("cancelled", "user"),
        ("steered", "steered"),
        ("abandoned", "abandoned"),
        ("interrupted", "interrupted"),
    ],
)
def test_a_run_that_was_given_up_is_cancelled_and_says_why(outcome: str, reason: str) -> None:
    given_up = ended(outcome=outcome, data=None)

    assert given_up.told() == ("cancelled", {"reason": reason})
    assert given_up.shown()["status"] == "cancelled"
    assert given_up.shown()["turns"] == 2


@pytest.mark.parametrize("outcome", ["cancelled", "abandoned"])
def test_a_run_whose_session_ended_says_that(outcome: str) -> None:
    given_up = ended(SessionCancelled(), outcome=outcome, data=None)

    assert given_up.told() == ("cancelled", {"reason": "session_ended"})


def test_a_run_that_never_left_the_inbox_used_nothing() -> None:
    waits = InboxEnqueued(turn_id=RUN, item_id="i1")
    discarded = InboxDiscarded(turn_id=RUN, item_id="i1", reason="turn_cancelled")

    waiting = outcome_of(RUN, logged([waits]))
    gone = outcome_of(RUN, logged([waits, discarded]))

    assert (waiting.status, waiting.is_over, waiting.shown()["tokens"]) == ("queued", False, None)
    assert (gone.status, gone.told()) == ("cancelled", ("cancelled", {"reason": "user"}))
    assert gone.turns == 0
    assert gone.model == {"id": "", "provider": "", "vendorModelId": ""}


def test_a_run_that_goes_on_is_running_and_costs_nothing_yet() -> None:
    outcome = outcome_of(RUN, logged([started(), *dispatched("m1", 1)]))

    assert outcome == RunOutcome("running", turns=0)
    assert outcome.shown()["model"] is None


def test_the_first_end_counts() -> None:
    outcome = ended(done(outcome="cancelled"))

    assert outcome.status == "succeeded"


def test_counts_and_models_are_shown_as_the_runs_view_has_them() -> None:
    off = {"config": {"reasoning": {"enabled": False, "effort": "high"}}}
    plain = {"config": {"provider": "demo", "model": "small", "reasoning": {"max_tokens": 9}}}

    assert tokens_of(USAGE) == TOKENS
    assert shown_model("demo:large", HEADER) == MODEL
    assert shown_model("x", off)["reasoningEffort"] == "off"
    assert "reasoningEffort" not in shown_model("x", plain)
