"""Tool calls on their way to the worker: room, answers, failures."""

from __future__ import annotations

from typing import Any

from everturn.session.commands import (
    AnswerDelivery,
    Deliveries,
    FailDelivery,
    LeftOpen,
    ToolAnswered,
    ToolRefused,
)
from everturn.session.decide.entry import decide
from everturn.session.decide.tool_result import NOT_STARTED, OUTCOME_UNKNOWN
from everturn.session.events.decisions import (
    DecisionDispatched,
    DecisionErrored,
    DecisionQueued,
    ErroredPrivate,
)
from everturn.session.events.messages import MessageNew, StateUpdated
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import ToolCallErrored
from everturn.session.evolve import fold
from everturn.session.propose import DeliverToWorker, propose
from everturn.session.slots import OVERLAPPING
from everturn.session.state import CallStatus
from unit.session.building import NOON_MS, Story, made, only, stamp, types


def asked(*calls: dict[str, Any], **more: Any) -> Story:
    """Return a session whose model asked for tools."""
    story = Story(**more)
    story.submit()
    story.answer("", *calls)
    return story


def test_a_result_is_recorded_and_the_model_asked_again() -> None:
    """Q-4, 8.5, M-4, O-6."""
    story = asked(made("c1"))

    events = story.worker("c1", "sunny")

    assert types(events) == [
        "decision.completed",
        "tool.call.completed",
        "decision.queued",
        "decision.completed",
        "message.new",
        "step.ended",
        "llm.call.requested",
        "llm.call.dispatched",
        "step.started",
    ]
    assert only(MessageNew, events)[0].message.get("content") is None
    result = {"role": "tool", "tool_call_id": "c1", "name": "get_weather", "content": "sunny"}
    assert {**story.messages()[-1], "id": None} == {**result, "id": None}


def test_only_the_last_of_parallel_results_asks_the_model() -> None:
    """Q-4, U-13: exactly one."""
    story = asked(made("a"), made("b", "send_email"), made("c", "send_email"))

    asked_again = [
        "llm.call.requested" in types(story.worker(call_id, "ok")) for call_id in ("b", "a", "c")
    ]

    assert asked_again == [False, False, True]


def test_results_reach_the_model_in_call_order() -> None:
    """U-14."""
    story = asked(made("a"), made("b"), made("c"))
    for call_id in ("c", "a", "b"):
        story.worker(call_id, call_id.upper())

    sent = [m["content"] for m in story.requests()[-1]["messages"] if m["role"] == "tool"]

    assert [m["content"] for m in story.messages()[2:]] == ["C", "A", "B"]
    assert sent == ["A", "B", "C"]


def test_an_error_is_what_the_model_reads() -> None:
    """G-2."""
    story = asked(made("c1"))

    events = story.worker("c1", ToolRefused("no such city", code="refused", detail={"n": 1}))

    errored = only(ToolCallErrored, events)[0]
    assert (errored.error, errored.code, errored.detail) == ("no such city", "refused", {"n": 1})
    assert story.messages()[-1]["content"] == "no such city"
    assert only(MessageNew, events)[0].private.is_error


def test_a_retryable_error_is_tried_again_while_attempts_remain() -> None:
    """R-2, R-3, R-4, R-6: a read has three attempts, a mail one."""
    story = asked(made("c1"), made("c2", "send_email"))

    first = story.worker("c1", ToolRefused("busy", retryable=True))
    mail = story.worker("c2", ToolRefused("busy", retryable=True))

    assert only(ToolCallErrored, first)[0].next_attempt_at_ms == NOON_MS + 2000
    assert only(ToolCallErrored, mail)[0].retryable is False
    story.proceed(2)
    story.worker("c1", ToolRefused("busy", retryable=True))
    story.proceed(4)
    last = story.worker("c1", ToolRefused("busy", retryable=True))
    assert only(ToolCallErrored, last)[0].retryable is False
    assert story.messages()[-1]["content"] == "busy"


def test_a_call_that_is_left_open_frees_the_slot_and_stays() -> None:
    """8.4: `{}`; U-11: it may wait for ever."""
    story = asked(made("a", "send_email"), made("b", "send_email"))

    events = story.worker("a", LeftOpen())

    assert types(events)[:2] == ["decision.completed", "tool.call.dispatched"]
    assert [call.status for call in story.session.calls] == [CallStatus.PENDING] * 2
    assert [one.call_id for one in story.session.decisions] == ["b"]


def delivered(story: Story) -> set[str]:
    """Return the calls that are being delivered."""
    effects = propose(story.session).effects
    return {one.call_id for one in effects if isinstance(one, DeliverToWorker)}


def test_only_ten_overlapping_tools_run_at_once_beside_the_slot() -> None:
    """O-5."""
    reads = [made(f"r{n}") for n in range(OVERLAPPING + 2)]
    story = asked(*reads, made("mail", "send_email"), made("alarm", "set_alarm"))

    running = delivered(story)
    story.worker("r3", "done")
    then = delivered(story)

    assert running == {*(f"r{n}" for n in range(OVERLAPPING)), "mail"}
    assert then == running - {"r3"} | {"r10"}


def test_overlap_follows_what_the_tool_says() -> None:
    """O-5: the effect is only the default."""
    config = {
        "model": "demo:echo",
        "tools": [
            {"name": "shy", "effect": "read", "overlap": False},
            {"name": "bold", "effect": "non_idempotent_write", "overlap": True},
        ],
    }

    story = asked(made("a", "shy"), made("b", "shy"), made("c", "bold"), config=config)

    assert [call.overlap for call in story.session.calls] == [False, False, True]
    assert {one.call_id for one in story.session.decisions} == {"a", "c"}


def test_the_first_delivery_notes_what_it_is_computed_from() -> None:
    """D-3: redeliveries do not."""
    story = asked(made("a", "send_email"))
    first = only(DecisionDispatched, story.log)[0]
    story.lose("a", started="no")

    again = only(DecisionDispatched, story.proceed(2))[0]

    assert first.private.as_of is not None
    assert first.private.as_of.head_id == story.messages()[-1]["id"]
    assert first.private.as_of.calls == ({"id": "a", "status": "pending", "attempt": 1},)
    assert (first.attempt, again.attempt) == (1, 2)
    assert again.private.as_of is None
    assert story.session.decisions[0].dispatched_seq == story.log.index(first) + 1


def test_a_delivery_ends_with_the_attempt_at_the_latest() -> None:
    """D-4, D-5."""
    config = {"model": "demo:echo", "tools": [{"name": "slow", "timeout_secs": 20}]}

    story = asked(made("a", "slow"), made("b", "undeclared"), config=config)
    short = only(DecisionDispatched, story.log)[0]
    long = only(DecisionDispatched, story.worker("a", "ok"))[0]

    assert short.deadline_ms == NOON_MS + 20_000
    assert long.deadline_ms == NOON_MS + 300_000


def test_the_answer_to_any_delivery_of_a_decision_counts_once() -> None:
    """D-11: also one that comes while the next delivery waits; the second changes nothing."""
    story = asked(made("a"))
    story.lose("a")
    late = story.delivery("a")

    events = story.worker("a", "sunny")

    assert late.status == "retry_scheduled"
    assert types(events)[:2] == ["decision.completed", "tool.call.completed"]
    assert story.last is not None
    assert story.decide(story.last).events == ()


def test_a_queued_decision_takes_no_answer() -> None:
    """D-12."""
    story = asked(made("a"))
    queued = DecisionQueued(id="d9", trigger_type="tool.execute", call_id="a")
    session = fold([queued], story.session)
    command = AnswerDelivery(stamp(), story.facts(), "d9", 1, ToolAnswered("x"))

    assert decide(session, command).events == ()


def test_a_new_state_is_recorded_before_the_call_is_settled() -> None:
    """Z-1, P-5: a cleared one is null."""
    story = asked(made("a", "send_email"))

    events = story.worker("a", "ok", state={"n": 1}, has_state=True)
    story.answer("", made("b", "send_email"))
    cleared = story.worker("b", "ok", state=None, has_state=True)

    assert types(events)[:3] == [
        "decision.completed",
        "worker.state.updated",
        "tool.call.completed",
    ]
    first = only(StateUpdated, events)[0]
    assert (first.state, first.anchor) == ({"n": 1}, Anchor(branch=0, depth=2))
    assert only(StateUpdated, cleared)[0].state is None
    assert story.log[story.session.state_seq - 1] == only(StateUpdated, cleared)[0]


def test_a_failed_delivery_is_repeated_with_backoff() -> None:
    """D-8, D-10, D-4."""
    story = asked(made("a"))

    events = story.lose("a", "HTTP 500", code="http_500")

    assert events == (
        DecisionErrored(
            turn_id="t1",
            id=story.session.decisions[0].id,
            attempt=1,
            error="HTTP 500",
            code="http_500",
            retryable=True,
            next_attempt_at_ms=NOON_MS + 2000,
            private=ErroredPrivate(may_have_started=True),
        ),
    )
    assert story.proceed(1.999) == ()
    assert types(story.proceed(0.001)) == ["decision.dispatched"]


def test_a_worker_that_says_when_is_asked_then() -> None:
    story = asked(made("a"))

    events = story.lose("a", retry_after_s=11)

    assert only(DecisionErrored, events)[0].next_attempt_at_ms == NOON_MS + 11_000


def test_three_invalid_answers_in_a_row_are_enough() -> None:
    """D-8, D-14: a connection failure between them begins the count again."""
    story = asked(made("a"))
    for invalid in (True, True, False, True, True):
        assert only(DecisionErrored, story.lose("a", invalid=invalid))[0].retryable
        story.proceed(60)

    events = story.lose("a", "no JSON", invalid=True)

    assert only(DecisionErrored, events)[0].retryable is False
    errored = only(ToolCallErrored, events)[0]
    assert (errored.error, errored.code) == ("no JSON", "provider_error")
    assert types(events)[-1] == "step.started"


def test_an_answer_over_its_limit_says_so_in_the_calls_own_error() -> None:
    """F18: deterministic, so it is final at once and typed."""
    story = asked(made("a"))

    events = story.lose("a", "too much", code="too_large", retryable=False, invalid=True)

    errored = only(ToolCallErrored, events)[0]
    assert (errored.retryable, errored.code) == (False, "provider_error")
    assert errored.detail == {"reason": "too_large"}


def test_deliveries_end_after_ten_attempts() -> None:
    """D-4, D-14: the call fails, the loop goes on."""
    story = asked(made("a"))
    for _ in range(9):
        story.lose("a")
        story.proceed(60)

    events = story.lose("a")

    assert only(DecisionErrored, events)[0].attempt == 10
    assert only(ToolCallErrored, events)[0].code == "provider_error"


def test_deliveries_end_after_their_total_time() -> None:
    """D-4: 1800 s from the first delivery."""
    story = asked(made("a"))
    story.now_ms += 1_798_000

    assert only(DecisionErrored, story.lose("a"))[0].retryable is False


def test_an_error_that_is_final_ends_the_delivery_at_once() -> None:
    """D-9."""
    story = asked(made("a"))

    events = story.lose("a", "gone", retryable=False)

    assert only(ToolCallErrored, events)[0].error == "gone"


def test_a_mail_that_may_have_been_sent_is_not_sent_again() -> None:
    """O-11."""
    story = asked(made("a", "send_email"))

    events = story.lose("a", "timeout")

    assert only(DecisionErrored, events)[0].retryable is False
    errored = only(ToolCallErrored, events)[0]
    assert (errored.error, errored.detail) == (OUTCOME_UNKNOWN, {"reason": "outcome_unknown"})
    assert story.messages()[-1]["content"] == OUTCOME_UNKNOWN


def test_a_mail_that_was_certainly_not_sent_is_tried_again_and_then_says_so() -> None:
    """O-11, agent-session 6."""
    story = asked(made("a", "send_email"), policy=Deliveries(max_attempts=2))
    assert only(DecisionErrored, story.lose("a", started="no"))[0].retryable
    story.proceed(2)

    events = story.lose("a", "connection refused", started="no")

    assert only(ToolCallErrored, events)[0].error == f"{NOT_STARTED}connection refused"


def test_a_call_that_may_have_run_earlier_is_not_said_to_be_unstarted() -> None:
    """Agent-session 6: the prefix is for calls that certainly never started."""
    story = asked(made("a", "set_alarm"), policy=Deliveries(max_attempts=2))
    story.lose("a", "cut off", started="unknown")
    story.proceed(2)
    later = story.lose("a", "connection refused", started="no")
    retried = asked(made("a", "set_alarm"))
    retried.worker("a", ToolRefused("busy", retryable=True))
    retried.proceed(2)

    again = retried.lose("a", "connection refused", started="no", retryable=False)

    assert only(ToolCallErrored, later)[0].error == "connection refused"
    assert only(ToolCallErrored, again)[0].error == "connection refused"


def test_the_failure_of_an_old_delivery_changes_nothing() -> None:
    """U-12."""
    story = asked(made("a"))
    story.lose("a")
    story.proceed(2)
    one = story.delivery("a")
    old = FailDelivery(stamp(), story.facts(), one.id, 1, "late", "x", True, "unknown")
    unknown = FailDelivery(stamp(), story.facts(), "d9", 1, "late", "x", True, "unknown")

    assert one.attempt == 2
    assert decide(story.session, old).events == ()
    assert decide(story.session, unknown).events == ()


def test_a_question_that_is_no_execution_fails_the_turn() -> None:
    """D-14."""
    story = asked(made("a"))
    story.worker("a", "ok")
    orphan: list[Event] = [
        DecisionQueued(id="d9", trigger_type="session.start"),
        DecisionDispatched(id="d9", attempt=1, deadline_ms=NOON_MS),
    ]
    session = fold(orphan, story.session)
    command = FailDelivery(stamp(), story.facts(), "d9", 1, "no", "x", False, "no")

    decided = decide(session, command)

    assert types(decided.events)[0] == "decision.errored"
    assert types(decided.events)[-1] == "turn.completed"
    assert decided.session.last_outcome == "failed"
