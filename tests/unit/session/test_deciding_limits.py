"""Sessions whose worker decides, where they end: limits, late answers, vanished drivers."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.limits import (
    MAX_ARGUMENTS_BYTES,
    MAX_LLM_CALLS_PER_TURN,
    MAX_OPEN_CALLS,
    MAX_RESULT_BYTES,
)
from everturn.rejections import CallNotOpen, ModelRequired, TooManyCalls
from everturn.session.commands import (
    DeferDecision,
    TakeOver,
)
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.propose import propose
from everturn.session.state import Decision, Session
from unit.session.building import CONFIG, made, only, said, types
from unit.session.deciding import Deciding, Worker, echo, running
from unit.session.steps import (
    AFAR,
    TWICE,
    acting,
    begun,
    silent,
    until,
    until_input,
)

# ---- limits


def test_a_tool_call_of_another_kind_of_arguments_is_text() -> None:
    """U-1."""
    call = {"type": "tool.call", "id": "c1", "name": "set_alarm", "arguments": {"at": 7}}
    story = Deciding(worker_=acting("client.messages", call, also=running("ok")))

    story.submit()

    asked = next(r for r in story.asked if r["trigger"]["type"] == "tool.execute")
    assert asked["trigger"]["arguments"] == '{"at":7}'
    assert asked["trigger"]["idempotency_key"]


def test_arguments_over_their_limit_are_never_run() -> None:
    """Section 23."""
    text = "x" * (MAX_ARGUMENTS_BYTES + 1)
    call = {"type": "tool.call", "id": "c1", "name": "send_email", "arguments": text}
    story = Deciding(worker_=acting("client.messages", call))

    events = story.submit()

    assert only(ToolCallErrored, events)[0].detail == {"reason": "too_large"}
    assert "tool.call.dispatched" not in types(events)


def test_a_result_over_its_limit_is_an_error() -> None:
    """O-16."""
    story = Deciding(worker_=running("x" * (MAX_RESULT_BYTES + 1)))
    story.replies = [said("", made("c1"))]

    events = story.submit()

    assert only(ToolCallErrored, events)[0].detail == {"reason": "too_large"}


def test_a_session_has_only_so_many_open_calls() -> None:
    """Section 23: `too_many_calls`; nothing of the answer is recorded."""
    story = begun()
    decision = until(story, "client.messages")
    call = {"type": "tool.call", "name": "send_email", "arguments": {}}
    story.respond(decision.id, {"actions": [call] * 128})
    story.worker_ = acting("tool.execute", *[call] * 128)
    story.act(propose(_proceeded(story)).effects[0])
    before = story.session
    live = next(one for one in story.session.decisions if one.status == "queued")
    story.proceed()

    assert len(before.calls) == MAX_OPEN_CALLS
    with pytest.raises(TooManyCalls):
        story.respond(_live(story, live), {"actions": [call]})
    assert story.session.calls == before.calls


def _proceeded(story: Deciding) -> Session:
    story.proceed()
    return story.session


def _live(story: Deciding, fallback: Decision) -> str:
    live = [one for one in story.session.decisions if one.status == "live"]
    return live[0].id if live else fallback.id


def test_a_turn_makes_only_so_many_model_calls() -> None:
    """Section 23: the call over the limit fails, and the worker hears of it."""
    again: Worker = lambda r: (  # noqa: E731  # one expression
        {"actions": [{"type": "llm.call"}]}
        if r["trigger"]["type"] == "llm.finished" and r["trigger"]["ok"]
        else echo(r)
    )
    story = Deciding(worker_=again)
    story.do(story.submitting(decides="worker"))
    for _ in range(5):
        try:
            story.run()
        except AssertionError as error:
            if "never comes to rest" not in str(error):
                raise

    assert len(only(ModelCallRequested, story.log)) == MAX_LLM_CALLS_PER_TURN + 1
    assert story.asked[-1]["trigger"]["code"] == "budget_exceeded"


def test_a_model_call_needs_a_model() -> None:
    """P-3: `model_required`, where `session.start` named no config."""
    story = begun(worker_=lambda _request: {})
    decision = until(story, "client.messages")

    with pytest.raises(ModelRequired):
        story.respond(decision.id, {"actions": [{"type": "llm.call"}]})
    assert story.question(decision.id)["proposed"] == {}


# ---- ids that are there already, and answers that come late


def test_a_call_that_the_session_has_had_is_not_opened_again() -> None:
    """X-6."""
    call = {"type": "tool.call", "id": "c1", "name": "get_weather", "arguments": {}}
    story = Deciding()
    story.submit()
    known = only(ModelCallRequested, story.log)[0].id
    live = until_input(story, "Again.")

    story.respond(live.id, {"actions": [call, call, {"type": "llm.call", "id": known}]})

    assert types(story.log).count("tool.call.requested") == 1
    assert types(story.log).count("llm.call.requested") == 1


def test_a_call_that_waits_for_its_next_attempt_is_not_open() -> None:
    """U-12."""
    flaky = {"name": "get_weather", "effect": "read", "retry": {**TWICE, "backoff_base_secs": 5}}
    refused = {"type": "tool.error", "error": "no", "retryable": True}
    story = Deciding(
        config={
            **CONFIG,
            "tools": [{**flaky, "retry": {**TWICE, "backoff_base_secs": 1, "backoff_max_secs": 9}}],
        },
        worker_=acting("tool.execute", refused),
    )
    story.replies = [said("", made("c1"))]
    story.submit()

    with pytest.raises(CallNotOpen):
        story.settle({"type": "tool.result", "id": "c1", "result": 1})


def test_only_a_live_delivery_is_deferred() -> None:
    """D-7."""
    story = begun()
    decision = until(story, "session.start")

    stale = story.do(lambda at, facts: DeferDecision(at, facts, decision.id, 7))
    never = story.do(lambda at, facts: DeferDecision(at, facts, "never", 1))

    assert (stale, never) == ((), ())


def test_an_execution_whose_call_was_settled_is_not_delivered_again() -> None:
    """O-25."""
    story = begun()
    story.replies = [said("", made("c1", "send_email"))]
    decision = until(story, "tool.execute")
    story.lose_question(decision.id, started="no")
    story.settle({"type": "tool.result", "id": "c1", "result": "by phone"})

    events = story.proceed(60)

    assert ("decision.dropped", decision.id) in [(e.type, getattr(e, "id", "")) for e in events]
    story.run()
    assert story.session.last_outcome == "done"


def test_a_delivery_whose_call_was_settled_fails_alone() -> None:
    story = begun()
    story.replies = [said("", made("c1", "send_email"))]
    decision = until(story, "tool.execute")
    story.settle({"type": "tool.result", "id": "c1", "result": "by phone"})

    events = story.lose_question(decision.id)

    assert types(events)[0] == "decision.errored"
    assert "turn.completed" not in types(events)


def test_a_worker_that_never_runs_its_model_call_fails_it() -> None:
    """D-14: `provider_error`."""
    story = begun(config=AFAR)
    decision = until(story, "llm.execute")

    events = story.lose_question(decision.id, retryable=False)

    assert "llm.call.errored" in types(events)
    assert "decision.queued" in types(events)


def test_a_model_call_of_the_workers_that_lapses_is_put_again() -> None:
    """D-13, R-5."""
    story = begun(config=AFAR, worker_=silent("llm.execute"))
    story.run()

    story.proceed(61)
    story.proceed(1)
    story.run()

    attempts = [r["trigger"]["attempt"] for r in story.asked if "request" in r["trigger"]]
    assert attempts == [1, 2]
    assert "decision.dropped" in types(story.log)


def test_a_model_answer_that_refuses_is_a_failure() -> None:
    """W-3, L-9."""
    refusal = {"model": "m", "content": "no", "finish_reason": "content_filter"}
    result = {"type": "llm.result", "response": refusal}
    story = Deciding(config=AFAR, worker_=acting("llm.execute", result))

    story.submit()

    assert story.asked[-1]["trigger"]["code"] == "refused"
    assert story.session.is_paused


def test_a_call_with_its_own_retry_stream_and_format() -> None:
    """L-1, W-1."""
    config = {**AFAR, "format": "anthropic"}
    call = {"type": "llm.call", "stream": True, "retry": TWICE}
    story = begun(config=config, worker_=acting("client.messages", call))

    decision = until(story, "llm.execute")

    trigger = story.question(decision.id)["trigger"]
    assert (trigger["format"], trigger["stream"]) == ("anthropic", True)
    assert trigger["request"]["max_tokens"] == 8192
    assert trigger["deadline"]


# ---- drivers that vanish


@pytest.mark.parametrize(
    ("tool", "kinds"),
    [
        ({"effect": "read"}, ["decision.dropped", "tool.call.errored", "tool.call.dispatched"]),
        ({"effect": "non_idempotent_write"}, ["decision.dropped", "tool.call.errored"]),
        ({}, ["decision.errored", "decision.dispatched"]),
    ],
    ids=["a read", "a write", "without effect"],
)
def test_an_orphaned_tool_follows_its_effect_and_without_one_the_protocol(
    tool: dict[str, Any], kinds: list[str]
) -> None:
    """O-8, O-11, N-2."""
    story = begun(
        config={**CONFIG, "tools": [{"name": "go", "retry": {**TWICE, "max_retries": 1}, **tool}]}
    )
    story.replies = [said("", made("c1", "go"))]
    until(story, "tool.execute")

    events = story.do(lambda at, facts: TakeOver(at, facts, story.policy))

    found = [one for one in types(events) if one in kinds]
    assert found[: len(kinds)] == (kinds if tool.get("effect") != "read" else kinds[:2])


def test_an_orphaned_read_is_run_again_at_once() -> None:
    story = begun(config={**CONFIG, "tools": [{"name": "go", "effect": "read"}]})
    story.replies = [said("", made("c1", "go"))]
    until(story, "tool.execute")

    events = story.do(lambda at, facts: TakeOver(at, facts, story.policy))

    assert types(events)[-3:] == ["tool.call.dispatched", "decision.queued", "decision.dispatched"]


def test_a_question_that_is_out_of_deliveries_when_its_driver_vanishes_fails_the_turn() -> None:
    """D-14, N-2."""
    story = begun()
    story.policy = type(story.policy)(max_attempts=1)
    until(story, "client.messages")

    events = story.do(lambda at, facts: TakeOver(at, facts, story.policy))

    assert types(events)[-1] == "turn.completed"
    assert story.session.last_outcome == "failed"
