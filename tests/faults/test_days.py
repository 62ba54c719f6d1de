"""Client tools that wait for days, in simulated time: nothing is held, nothing wakes, nobody asks.

What dies meanwhile is `test_crash_anywhere`'s; here a session is left alone for a month.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.session.state import status_of
from faults.cluster import Cluster
from faults.scenario import Scenario

DAY_MS: Final = 86_400_000
SWEEPS_A_MONTH: Final = 10_000
ROUND_MS: Final = 600_000
"""How soon all is said that is said at once."""


def waiting(name: str, days: float, call: str) -> Cluster:
    """Return a session that waited for its owner's answer to a tool of the client's."""
    scenario = Scenario(
        name,
        (f"[[call:{call} {{}}]][[turn]][[say:heard {{{{result}}}}]]",),
        answers_after_ms=round(days * DAY_MS),
    )
    return Cluster(scenario, max_steps=SWEEPS_A_MONTH).to_quiescence()


def events(run: Cluster, kind: str) -> list[Any]:
    """Return the events of one type."""
    return [e for commit in run.world.log() for e in commit.events if e.type == kind]


def drivers_within(run: Cluster, after_ms: int, before_ms: int) -> list[tuple[str, int]]:
    """Return which functions other than the sweep ran in that time, counted from the input."""
    start = run.world.log()[0].at_ms
    return [
        (role, at)
        for role, at in run.invoked
        if role != "recovery" and after_ms < at - start < before_ms
    ]


def test_a_tool_without_a_timeout_is_answered_after_a_month() -> None:
    """U-11, K-4: it may wait for ever; the sweep looks past it all the time."""
    run = waiting("a month", 30, "ask")

    sweeps = sum(role == "recovery" for role, _ in run.invoked)
    assert run.world.texts()[-1] == ("assistant", "heard yes")
    assert sweeps > 8_600
    assert run.woken_by_sweep == 0
    assert drivers_within(run, ROUND_MS, 30 * DAY_MS) == []
    assert [status for _, status in run.owner.said] == [202]
    assert [one.attempt for one in events(run, "tool.call.dispatched")] == [1]


def test_while_it_waits_nothing_is_due_and_the_session_is_idle() -> None:
    """S-6; storage-and-commits, "Commits" 6: no `due` where only people are awaited."""
    run = Cluster(
        Scenario("open", ("[[call:ask {}]][[turn]][[say:heard]]",), answers_after_ms=99 * DAY_MS)
    )
    while run.step():
        pass

    head = run.world.head()
    assert status_of(head.session) == "idle"
    assert head.due_epoch_s is None
    assert [sent for sent in run.world.wake.sent if sent.due_ms is not None] == []


def test_a_tool_with_a_timeout_lapses_once_and_the_model_sees_it() -> None:
    """R-5, R-7, R-8; vocabulary: a client's tool is not tried again, whatever its policy says."""
    run = waiting("three days", 4, "ask_soon")

    (dispatched,) = events(run, "tool.call.dispatched")
    (errored,) = events(run, "tool.call.errored")
    (ended,) = events(run, "turn.completed")
    assert (errored.attempt, errored.code, errored.retryable) == (1, "deadline_exceeded", False)
    assert errored.error == "Timed out waiting for the client's tool result"
    assert run.world.texts()[-1] == (
        "assistant",
        "heard ERROR: Timed out waiting for the client's tool result",
    )
    assert (dispatched.attempt, ended.outcome) == (1, "done")


def test_its_deadline_is_three_days_after_its_dispatch_and_no_function_runs_before() -> None:
    """R-5, T-8: the step machine waits, no Lambda does; the sweep has nothing to wake."""
    run = waiting("three days", 4, "ask_soon")

    (dispatched,) = events(run, "tool.call.dispatched")
    at_ms = next(
        commit.at_ms for commit in run.world.log() if events_of(commit, "tool.call.errored")
    )
    assert dispatched.deadline_ms <= at_ms < dispatched.deadline_ms + ROUND_MS
    assert drivers_within(run, ROUND_MS, 3 * DAY_MS) == []
    assert run.woken_by_sweep == 0


def events_of(commit: Any, kind: str) -> list[Any]:
    """Return a commit's events of one type."""
    return [event for event in commit.events if event.type == kind]


def test_an_answer_that_comes_after_the_timeout_is_told_so() -> None:
    """U-12: the call has ended, and nothing of it is tried again."""
    run = waiting("three days", 4, "ask_soon")

    assert [status for _, status in run.owner.said] == [409]
    assert run.wrong == []


def test_an_answer_within_the_timeout_is_heard_and_its_timer_changes_nothing() -> None:
    """Invariant 5: the timer that fires a day later finds nothing to do."""
    run = waiting("two days", 2, "ask_soon")

    assert run.world.texts()[-1] == ("assistant", "heard yes")
    assert events(run, "tool.call.errored") == []
    assert run.ended_seq == run.world.head().session.seq
    assert run.clock.now - run.world.log()[0].at_ms >= 3 * DAY_MS
