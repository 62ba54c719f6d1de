"""Sub-agent calls in the core: asked for and started. Source: section 15."""

from __future__ import annotations

import pytest

from everturn.protocol.limits import MAX_SPAWN_DEPTH
from everturn.session.decide.children import TOO_DEEP
from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentRequested,
)
from everturn.session.formats import format_of
from everturn.session.mail_commands import (
    NoteStart,
    StartFailed,
)
from everturn.session.propose import CROSSINGS, SendOut, StartSubAgent, propose
from everturn.session.state import CallStatus, status_of
from unit.session.building import made, only, said, types
from unit.session.children import (
    RAIN,
    SPAWN,
    WITH_POET,
    beginning,
    calling,
    child_session,
    first_then_echo,
    start,
    take,
)
from unit.session.deciding import Deciding

# ---- asking for a child


def test_a_call_of_a_sub_agent_asks_for_a_child_and_sends_it_the_task() -> None:
    """B-1, B-2, B-6."""
    story = calling()

    (asked,) = only(SubAgentRequested, story.log)
    call = story.session.call("c1")
    assert call is not None
    assert (call.kind, call.name, call.session_id) == ("sub_agent", "poet", asked.session_id)
    assert (call.status, call.attempt) == (CallStatus.PENDING, 1)
    assert status_of(story.session) == "active"
    assert propose(story.session).effects == (StartSubAgent("c1", 1),)
    assert format_of(story.session) == 2


def test_the_task_goes_out_once_the_child_is_there() -> None:
    """B-6."""
    story = calling()

    start(story)

    (out,) = story.session.outbox
    assert propose(story.session).effects == (SendOut(out.seq),)


def test_a_start_that_is_noted_twice_or_late_changes_nothing() -> None:
    story = calling()
    start(story)

    assert start(story) == ()
    assert story.do(lambda at, facts: NoteStart(at, facts, "c1", 2)) == ()
    assert story.do(lambda at, facts: NoteStart(at, facts, "none", 1)) == ()


def test_an_attempt_that_waits_for_the_next_one_takes_no_word() -> None:
    story = calling()
    start(story, StartFailed("busy", "provider_error", retryable=True))

    assert start(story) == ()


def test_other_calls_of_the_reply_run_beside_the_child() -> None:
    """8.7: in the order of the reply, the tasks behind them."""
    story = calling(made("c0"), RAIN)

    asked = [
        event.type
        for event in story.log
        if event.type in {"tool.call.requested", "sub_agent.requested", "session.message_requested"}
    ]

    assert asked == ["tool.call.requested", "sub_agent.requested", "session.message_requested"]


@pytest.mark.parametrize(
    "arguments", ["", "[]", "{}", '{"message": ""}', '{"message": 1}', "{", "9"]
)
def test_a_call_without_a_message_is_an_error_at_once(arguments: str) -> None:
    story = calling(made("c1", "poet", arguments))

    assert only(SubAgentRequested, story.log) == []
    assert story.messages()[-1]["role"] == "tool"
    assert "message" in story.messages()[-1]["content"]
    assert story.session.calls[0].kind == "llm_call"


def test_ten_children_are_started_at_once_and_others_as_these_are_there() -> None:
    story = calling(*(made(f"c{n}", "poet", '{"message": "rain"}') for n in range(12)))

    first = propose(story.session).effects
    story.do(lambda at, facts: NoteStart(at, facts, "c0", 1))
    then = propose(story.session).effects

    assert first == tuple(StartSubAgent(f"c{n}", 1) for n in range(CROSSINGS))
    assert then[:CROSSINGS] == tuple(StartSubAgent(f"c{n}", 1) for n in range(1, CROSSINGS + 1))
    assert [type(one) for one in then[CROSSINGS:]] == [SendOut]


# ---- starting


def test_a_start_that_fails_is_repeated_by_its_policy() -> None:
    """R-6, B-11: 60 s an attempt, three attempts, 2 and 4 s between them."""
    story = calling()
    waits = []

    for _ in range(2):
        start(story, StartFailed("busy", "provider_error", retryable=True))
        due_ms = propose(story.session).next_due_ms
        assert due_ms is not None
        waits.append(due_ms - story.now_ms)
        story.now_ms = due_ms
        story.proceed()
    start(story, StartFailed("busy", "provider_error", retryable=True))

    assert waits == [2_000, 4_000]
    attempts = [(one.attempt, one.retryable) for one in only(SubAgentErrored, story.log)]
    assert attempts == [(1, True), (2, True), (3, False)]
    dispatched = only(SubAgentDispatched, story.log)
    assert [one.attempt for one in dispatched] == [1, 2, 3]
    assert dispatched[0].deadline_ms == only(SubAgentDispatched, story.log)[0].deadline_ms
    assert story.messages()[-1]["content"] == "busy"


def test_an_attempt_that_is_over_its_time_is_repeated() -> None:
    """R-5."""
    story = calling()
    story.now_ms += 60_000

    story.proceed()

    (errored,) = only(SubAgentErrored, story.log)
    assert (errored.code, errored.retryable) == ("deadline_exceeded", True)


def test_a_child_that_runs_for_too_long_is_given_up() -> None:
    """B-11."""
    story = calling()
    start(story, max_run_s=5)
    (child,) = [call.session_id for call in story.session.calls]
    story.now_ms += 5_000

    story.proceed()

    (errored,) = only(SubAgentErrored, story.log)
    assert (errored.code, errored.retryable) == ("deadline_exceeded", False)
    assert [(one.kind, one.target) for one in story.session.outbox][-1] == ("cancel", child)


def test_a_start_without_a_time_limit_has_no_deadline() -> None:
    story = Deciding(config=WITH_POET)
    retry = {"timeout_secs": None, "max_retries": 1, "backoff_base_secs": 0, "backoff_max_secs": 0}
    story.worker_ = first_then_echo([{**SPAWN, "retry": retry}])

    story.submit("Write.")

    assert only(SubAgentDispatched, story.log)[0].deadline_ms is None


def test_an_id_that_was_asked_for_before_starts_nothing() -> None:
    """X-6."""
    story = Deciding(config=WITH_POET)
    story.worker_ = first_then_echo([SPAWN, {**SPAWN, "session_id": "second"}])

    story.submit("Write.")

    assert [one.session_id for one in only(SubAgentRequested, story.log)] == ["child"]


def test_a_session_that_is_too_deep_starts_nothing_and_sends_nothing() -> None:
    """B-4."""
    story = child_session(depth=MAX_SPAWN_DEPTH, config=WITH_POET)
    take(story, "Write.")
    story.proceed()

    story.answer("", RAIN)

    (errored,) = only(SubAgentErrored, story.log)
    assert errored.error == TOO_DEEP
    assert only(SubAgentDispatched, story.log) == []
    assert story.session.outbox == ()
    assert "tools" not in story.requests()[0] or "poet" not in str(story.requests()[0]["tools"])


def test_a_paused_path_starts_no_child() -> None:
    """P-6."""
    pause = {"type": "interrupt", "interrupt_id": "i1", "reason": "wait"}
    story = Deciding(config=WITH_POET)
    story.worker_ = first_then_echo([SPAWN, pause])

    story.submit("Write.")

    assert only(SubAgentDispatched, story.log) == []
    assert [call.status for call in story.session.calls] == [CallStatus.QUEUED]


def test_a_worker_that_decides_is_asked_first_how_its_child_session_starts() -> None:
    """S-5, B-5; at the limit its own spawn is refused and what it sends there is left out."""
    story = Deciding(config=WITH_POET)
    story.do(beginning(MAX_SPAWN_DEPTH))
    task = {
        "type": "message.send",
        "session_id": "child-of-child",
        "message": {"role": "user", "content": "x"},
    }
    spawns = {**SPAWN, "session_id": "child-of-child"}
    story.worker_ = first_then_echo([spawns, task])

    take(story, "Write.")
    story.run()

    assert story.triggers()[:2] == ["session.start", "client.messages"]
    assert [len(one["ancestry"]) for one in story.asked[:2]] == [MAX_SPAWN_DEPTH] * 2
    assert [one.error for one in only(SubAgentErrored, story.log)] == [TOO_DEEP]
    assert "session.message_requested" not in types(story.log)


def test_a_worker_is_asked_to_run_a_sub_agent_that_was_called_without_a_message() -> None:
    """8.7, 8.4: and what is proposed tells the model."""
    story = Deciding(config=WITH_POET)
    empty = made("c1", "poet", '{"message": ""}')
    story.replies = [said("", empty, made("c2", "poet", "{}"))]

    story.submit("Write.")

    executed = [one for one in story.asked if one["trigger"]["type"] == "tool.execute"]
    assert [one["trigger"]["input"]["status"] for one in executed] == ["valid", "invalid"]
    errors = [one["proposed"]["actions"][0]["error"] for one in executed]
    assert "not empty" in errors[0]
    assert errors[1].startswith("Arguments for poet do not fit its schema")
