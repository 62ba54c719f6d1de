"""What follows a model call's attempt."""

from __future__ import annotations

import pytest

from everturn.protocol.limits import MAX_ARGUMENTS_BYTES, MAX_LLM_CALLS_PER_TURN, MAX_OPEN_CALLS
from everturn.session.commands import SettleModelCall
from everturn.session.decide.deliveries import NO_WORKER
from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
)
from everturn.session.events.sessions import StepEnded, StepStarted, TurnCompleted, TurnFailure
from everturn.session.events.shape import Usage
from everturn.session.events.tool_calls import ToolCallErrored, ToolCallRequested
from everturn.session.proposal import CUT_OFF
from everturn.session.refs import same_as
from everturn.session.state import CallStatus, status_of
from unit.session.building import NOON_MS, Story, made, only, said, types, usage


def test_a_reply_without_tools_ends_the_turn_done() -> None:
    """T-6, T-14, L-1: the call's id is the message's."""
    story = Story()
    story.submit()
    call = story.model_call

    events = story.answer("Hi.", usage=usage(2), cost="0.25")

    assert types(events) == [
        "llm.call.completed",
        "decision.queued",
        "decision.completed",
        "message.new",
        "step.ended",
        "turn.completed",
        "session.done",
    ]
    assert story.messages()[-1] == {"id": call.id, "role": "assistant", "content": "Hi."}
    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.usage, ended.cost) == ("done", usage(2), "0.25")
    assert story.values[-2]["data"] == "Hi."
    assert status_of(story.session) == "done"


def test_what_a_turn_cost_is_a_plain_decimal() -> None:
    """M-8: no exponent, however small."""
    story = Story()
    story.submit()
    story.answer("", made("c1"), cost="0.0000001")
    story.worker("c1", "sunny")

    events = story.answer("Sunny.", cost="0.00000002")

    assert only(TurnCompleted, events)[0].cost == "0.00000012"


def test_an_empty_reply_is_recorded_on_the_call_alone() -> None:
    """MB-4, ST-7."""
    story = Story()
    story.submit()

    events = story.answer("", finish="length")

    assert "message.new" not in types(events)
    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.data, ended.truncated) == ("done", "", True)


def test_reasoning_stays_private() -> None:
    story = Story()
    story.submit()

    kept = {"provider": "demo", "model": "echo", "blocks": [{"type": "reasoning"}]}
    events = story.answer("Hi.", kept=kept)

    assert only(ModelCallCompleted, events)[0].private == kept
    assert "blocks" not in story.messages()[-1]


def test_parallel_tools_are_asked_for_together_and_delivered_one_after_another() -> None:
    """U-13: the slot takes one; a tool that may overlap runs beside it. U-2, Z-6."""
    story = Story()
    story.submit()

    events = story.answer(
        "", made("a", "send_email"), made("b", "send_email"), made("c", "get_weather")
    )

    calls = {call.id: call for call in story.session.calls}
    assert [one.id for one in only(ToolCallRequested, events)] == ["a", "b", "c"]
    assert {name: call.status for name, call in calls.items()} == {
        "a": CallStatus.PENDING,
        "b": CallStatus.QUEUED,
        "c": CallStatus.PENDING,
    }
    assert (calls["a"].effect, calls["a"].overlap) == ("non_idempotent_write", False)
    assert (calls["c"].effect, calls["c"].overlap) == ("read", True)


def test_arguments_stay_the_models_raw_text() -> None:
    """U-1, ST-3; an undeclared tool goes to the worker (U-2)."""
    story = Story()
    story.submit()

    events = story.answer("", made("c1", "undeclared", '{ "a" :1'))

    asked = only(ToolCallRequested, events)[0]
    assert asked.refs == {
        "arguments": same_as(len(story.log) - len(events) + 1, _place_of_arguments)
    }
    assert story.values[story.session.calls[0].seq - 1]["arguments"] == '{ "a" :1'
    assert (asked.handler, asked.private.effect) == ("worker", "unclassified")


_place_of_arguments = "message.tool_calls.0.function.arguments"


@pytest.mark.parametrize("bad", ["", "no id", "c" * 201])
def test_call_ids_that_are_no_ids_are_replaced(bad: str) -> None:
    """X-7, O-9."""
    story = Story()
    story.submit()

    story.answer("", made(bad))

    own = story.session.calls[0].id
    assert own.startswith("call_")
    assert story.messages()[-1]["tool_calls"][0]["id"] == own


def test_a_provider_that_reuses_one_call_id_loses_no_result() -> None:
    """F23, X-7: `call_0` in three successive turns, and twice within one."""
    story = Story()
    for _ in range(3):
        story.submit()
        story.answer("", made("call_0"), made("call_0"))
        for call in story.session.calls:
            story.worker(call.id, f"result of {call.id}")
        story.answer("Done.")

    results = [m for m in story.messages() if m["role"] == "tool"]

    assert len({m["tool_call_id"] for m in results}) == 6
    assert all(m["content"] == f"result of {m['tool_call_id']}" for m in results)


def test_a_truncated_call_is_never_run() -> None:
    """F20: arguments cut by the output limit, on a tool whose fields all have defaults."""
    story = Story()
    story.submit()

    events = story.answer(
        "I write.", made("c1", "send_email", '{"path":"a","content":"abc'), finish="length"
    )

    assert "tool.call.requested" not in types(events)
    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.truncated) == ("done", True)
    assert story.messages()[-1]["content"] == CUT_OFF
    story.submit("Go on.")
    assert [m["role"] for m in story.requests()[-1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]


def test_arguments_that_are_too_large_are_refused_before_anything_starts() -> None:
    """Section 23."""
    story = Story()
    story.submit()
    large = '{"a":"' + "x" * MAX_ARGUMENTS_BYTES + '"}'

    events = story.answer("", made("c1", "send_email", large))

    errored = only(ToolCallErrored, events)[0]
    assert (errored.detail, errored.retryable) == ({"reason": "too_large"}, False)
    assert "tool.call.dispatched" not in types(events)
    assert types(events)[-1] == "step.started"


def test_a_reply_may_ask_for_only_so_many_tools() -> None:
    """Section 23: nothing of it is run, and it is not asked for again."""
    most, more = Story(), Story()
    most.submit()
    more.submit()

    most.answer("", *(made(f"c{n}") for n in range(MAX_OPEN_CALLS)))
    events = more.answer("", *(made(f"c{n}") for n in range(MAX_OPEN_CALLS + 1)), usage=usage(1))

    assert len(most.session.calls) == MAX_OPEN_CALLS
    assert types(events) == ["llm.call.errored", "step.ended", "turn.completed"]
    assert only(ModelCallErrored, events)[0].detail == {"reason": "too_many_calls"}
    assert only(TurnCompleted, events)[0].usage == usage(1)


def test_without_a_worker_the_model_reads_that_nobody_runs_tools() -> None:
    """D-15, O-10."""
    story = Story(has_worker=False)
    story.submit()

    events = story.answer("", made("c1"), made("c2", "send_email"))

    assert [one.error for one in only(ToolCallErrored, events)] == [NO_WORKER, NO_WORKER]
    assert "decision.dispatched" not in types(events)
    results = [m["content"] for m in story.requests()[-1]["messages"] if m["role"] == "tool"]
    assert results == [NO_WORKER, NO_WORKER]


@pytest.mark.parametrize("has_worker", [True, False])
def test_a_clients_tool_starts_at_once_and_leaves_the_session_idle(has_worker: bool) -> None:
    """S-6: everything it waits for is a client tool. U-2."""
    story = Story(has_worker=has_worker)
    story.submit()

    events = story.answer("", made("c1", "look_around"))

    assert types(events)[-1] == "tool.call.dispatched"
    assert story.session.calls[0].status is CallStatus.PENDING
    assert status_of(story.session) == "idle"


def test_a_failure_is_repeated_after_two_four_eight_seconds_then_ends_the_turn() -> None:
    """L-6, L-7, R-2, R-3, R-4, O-4: five attempts, the same request."""
    story = Story()
    story.submit()
    waits = []
    for _ in range(4):
        errored = only(ModelCallErrored, story.fail_model())[0]
        assert errored.retryable
        waits.append((errored.next_attempt_at_ms or 0) - story.now_ms)
        assert story.proceed(waits[-1] / 1000 - 0.001) == ()
        story.proceed(0.001)

    events = story.fail_model("still overloaded", detail={"reason": "overloaded"})

    assert waits == [2000, 4000, 8000, 16000]
    assert only(ModelCallErrored, events)[0].retryable is False
    assert "decision.queued" not in types(events)
    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.error) == (
        "failed",
        TurnFailure(
            message="still overloaded", code="provider_error", detail={"reason": "overloaded"}
        ),
    )
    assert len(only(ModelCallRequested, story.log)) == 1
    assert status_of(story.session) == "idle"


def test_a_terminal_failure_is_not_repeated() -> None:
    """L-9: code never decides, the flag does."""
    story = Story()
    story.submit()

    events = story.fail_model("refused", code="refused", retryable=False)

    assert types(events) == ["llm.call.errored", "step.ended", "turn.completed"]


@pytest.mark.parametrize(("asked_s", "wait_ms"), [(7, 7000), (0, 0), (61, 2000), (None, 2000)])
def test_a_providers_wish_counts_up_to_the_cap(asked_s: float | None, wait_ms: int) -> None:
    """L-9."""
    story = Story()
    story.submit()

    events = story.fail_model(retry_after_s=asked_s)

    assert only(ModelCallErrored, events)[0].next_attempt_at_ms == NOON_MS + wait_ms


def test_each_attempt_is_a_step_of_its_own() -> None:
    """TS-2, TS-3."""
    story = Story()
    story.submit()
    story.fail_model(usage=usage(1))
    story.proceed(2)
    story.answer("", made("c1"), usage=usage(2))
    story.worker("c1", "sunny")

    events = story.answer("Sunny.", usage=usage(4))

    started, ended = only(StepStarted, story.log), only(StepEnded, story.log)
    assert [(one.step, one.attempt) for one in started] == [(1, 1), (2, 2), (3, 1)]
    assert [one.step for one in ended] == [1, 2, 3]
    assert only(TurnCompleted, events)[0].usage == usage(7)


def test_an_attempt_that_is_not_running_changes_nothing() -> None:
    """U-12, architecture invariant 6: a replaced attempt's answer is refused."""
    story = Story()
    story.submit()
    stale = story.model_call
    story.fail_model()

    def late(at: object, facts: object) -> SettleModelCall:
        return SettleModelCall(at, facts, stale.id, 1, said("Late."))  # type: ignore[arg-type]  # as handed in

    assert story.do(late) == ()
    story.proceed(2)
    assert story.do(late) == ()
    story.answer("Hi.")
    assert story.do(late) == ()


def test_the_clock_of_an_attempt_starts_at_its_dispatch() -> None:
    """L-6, L-8."""
    story = Story()

    events = story.submit()

    assert only(ModelCallDispatched, events)[0].deadline_ms == NOON_MS + 180_000


def test_an_attempt_may_have_no_deadline() -> None:
    policy = {
        "timeout_secs": None,
        "max_retries": 1,
        "backoff_base_secs": 0,
        "backoff_max_secs": 0,
    }
    story = Story(config={"model": "demo:echo", "retry": policy})

    events = story.submit()

    assert only(ModelCallDispatched, events)[0].deadline_ms is None


def test_a_turn_makes_only_so_many_model_calls() -> None:
    """Section 23."""
    story = Story(has_worker=False)
    story.submit()
    for _ in range(MAX_LLM_CALLS_PER_TURN - 1):
        story.answer("", made("c"))

    events = story.answer("", made("c"))

    ended = only(TurnCompleted, events)[0]
    assert (ended.outcome, ended.error and ended.error.code) == ("failed", "budget_exceeded")


def test_the_messages_source_is_the_model_that_made_it() -> None:
    """MB-3."""
    story = Story()
    story.submit()

    events = story.answer("Hi.")

    source = only(MessageNew, events)[0].private.source
    assert (source.kind, source.provider, source.model) == ("model", "demo", "echo")


def test_usage_adds_up_field_by_field() -> None:
    assert usage(1).plus(usage(2)) == usage(3)
    assert Usage().plus(usage(5)) == usage(5)
