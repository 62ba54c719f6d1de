"""Architecture, section 2: slow tools of a Lambda worker are the step machine's to run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everturn.drive.machine import FIRST_WAIT_S, PATIENCE_S, patiently
from everturn.errors import QueueUnavailable
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import FunctionRun
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from everturn.session.events.decisions import DecisionDispatched, DecisionErrored
from everturn.session.events.tool_calls import ToolCallDispatched, ToolCallErrored
from everturn.store.memory_directory import InMemoryWake
from unit.drive.slow import ARN, GOLD, events, tool_results, world_of


def test_a_slow_tool_is_handed_over_and_the_driver_leaves() -> None:
    world = world_of("[[call:dig {}]]")

    world.advance()

    (run,) = world.wake.runs
    (dispatched,) = events(world, DecisionDispatched)
    assert world.decider.requests == []
    assert run.of.function == ARN
    assert (run.of.decision_id, run.of.attempt) == (dispatched.id, 1)
    assert run.of.deadline_ms == world.clock.now + 600_000
    assert run.of.request["trigger"]["name"] == "dig"
    assert run.of.request["deadline"] == "2026-01-01T12:10:00.000Z"
    assert dispatched.private.by_machine


def test_its_deadline_is_a_timer_in_case_the_machine_vanishes() -> None:
    world = world_of("[[call:ship {}]][[turn]][[say:ok]]")
    world.advance()
    timer = world.last_wake()

    world.advance(timer, request_id="r2")

    assert timer.step == "timer"
    assert tool_results(world) == [OUTCOME_UNKNOWN]
    assert world.texts()[-1] == ("assistant", "ok")


def test_what_it_brings_is_applied_and_the_turn_goes_on() -> None:
    world = world_of("[[call:dig {}]][[turn]][[say:{{result}}]]")
    world.advance()
    world.wake.settle(world.wake.runs[0], answer=GOLD | {"state": None})

    world.advance(request_id="r2")

    assert tool_results(world) == ["gold"]
    assert world.texts()[-1] == ("assistant", "gold")
    assert len(world.wake.runs) == 1


def test_the_next_driver_takes_nothing_over_that_only_the_machine_runs() -> None:
    world = world_of("[[call:ship {}]][[turn]][[say:{{result}}]]")
    world.advance()
    world.wake.settle(world.wake.runs[0], answer=GOLD)

    world.advance(request_id="r2", received=2)

    assert [one.attempt for one in events(world, ToolCallDispatched)] == [1]
    assert tool_results(world) == ["gold"]


def test_an_outcome_that_comes_twice_changes_nothing_the_second_time() -> None:
    world = world_of("[[call:dig {}]][[turn]][[say:ok]]")
    world.advance()
    world.wake.settle(world.wake.runs[0], answer=GOLD)
    message = world.last_wake()
    world.advance(message, request_id="r2")
    before = world.head()

    world.advance(message, request_id="r3", received=2)

    assert world.head() == before


def test_an_outcome_of_a_replaced_attempt_changes_nothing() -> None:
    world = world_of("[[call:dig {}]]")
    world.advance()
    first = world.wake.runs[0]
    world.advance(world.last_wake(), request_id="r2")  # the deadline: the next attempt waits
    world.wake.settle(first, answer=GOLD)
    before = world.head().session

    world.advance(request_id="r3")

    assert tool_results(world) == []
    assert [one.name for one in world.head().session.calls] == [one.name for one in before.calls]


@pytest.mark.parametrize("attempt", [2, 7])
def test_an_outcome_of_an_attempt_that_never_was_changes_nothing(attempt: int) -> None:
    world = world_of("[[call:dig {}]]")
    world.advance()
    run = world.wake.runs[0]
    world.wake.settle(replace(run, of=replace(run.of, attempt=attempt)), answer=GOLD)
    before = world.head()

    world.advance(request_id="r2")

    assert world.head() == before


def test_an_outcome_for_a_decision_that_is_not_there_changes_nothing() -> None:
    world = world_of("[[call:dig {}]]")
    world.advance()
    run = world.wake.runs[0]
    world.wake.settle(replace(run, of=replace(run.of, decision_id="nobody")), error="KeyError")
    before = world.head()

    world.advance(request_id="r2")

    assert world.head() == before


# ---- failures


def test_a_function_that_failed_runs_again_if_it_may() -> None:
    world = world_of("[[call:dig {}]]")
    world.advance()
    world.wake.settle(world.wake.runs[0], error="KeyError")

    world.advance(request_id="r2")

    (errored,) = events(world, DecisionErrored)
    assert (errored.error, errored.code) == ("the function failed: KeyError", "function_error")
    assert errored.retryable is True


def test_a_function_that_failed_does_not_run_again_if_it_may_not() -> None:
    world = world_of("[[call:ship {}]][[turn]][[say:ok]]")
    world.advance()
    world.wake.settle(world.wake.runs[0], error="KeyError")

    world.advance(request_id="r2")

    assert tool_results(world) == [OUTCOME_UNKNOWN]
    assert len(world.wake.runs) == 1


def test_a_throttled_function_is_handed_over_again_as_the_next_delivery() -> None:
    world = world_of("[[call:ship {}]][[turn]][[say:{{result}}]]")
    world.advance()
    world.wake.settle(world.wake.runs[0], error="Lambda.TooManyRequestsException")

    world.advance(request_id="r2")
    world.advance(world.last_wake(), request_id="r3")
    world.wake.settle(world.wake.runs[1], answer=GOLD)
    world.advance(request_id="r4")

    assert [run.of.attempt for run in world.wake.runs] == [1, 2]
    assert [one.attempt for one in events(world, ToolCallDispatched)] == [1]
    assert tool_results(world) == ["gold"]


@pytest.mark.parametrize(
    ("tool", "error", "text"),
    [
        ("dig", "States.DataLimitExceeded", "the answer is larger than it may be"),
        ("ship", "States.DataLimitExceeded", OUTCOME_UNKNOWN),
        (
            "ship",
            "Lambda.ResourceNotFoundException",
            "Not started: the worker's function is refused: it does not exist",
        ),
    ],
)
def test_what_no_repetition_changes_ends_the_call(tool: str, error: str, text: str) -> None:
    world = world_of(f"[[call:{tool} {{}}]][[turn]][[say:ok]]")
    world.advance()
    world.wake.settle(world.wake.runs[0], error=error)

    world.advance(request_id="r2")

    assert tool_results(world) == [text]


# ---- crashes


class NoMachine(InMemoryWake):
    """`Wake` whose step machine takes nothing."""

    def after(self, key: SessionKey, created: str, version: int, run: FunctionRun) -> None:
        raise QueueUnavailable(f"no {run.decision_id} for {key.session} {version} {created}")


@pytest.mark.parametrize("tool", ["dig", "ship"])
def test_a_crash_between_dispatch_and_start_starts_the_same_attempt(tool: str) -> None:
    world = world_of(f"[[call:{tool} {{}}]][[turn]][[say:{{{{result}}}}]]")
    message = world.last_wake()
    with pytest.raises(QueueUnavailable):
        world.advance(message, wake=NoMachine(), patience_s=0)

    world.advance(message, request_id="r2", received=2)
    world.wake.settle(world.wake.runs[0], answer=GOLD)
    world.advance(request_id="r3")

    assert [one.attempt for one in events(world, ToolCallDispatched)] == [1]
    assert [run.of.attempt for run in world.wake.runs] == [1]
    assert tool_results(world) == ["gold"]


def test_starting_it_again_is_the_same_run() -> None:
    world = world_of("[[call:dig {}]]")
    message = world.last_wake()
    world.advance(message)

    world.advance(message, request_id="r2", received=2)

    assert len(world.wake.runs) == 1
    assert events(world, ToolCallErrored) == []


def test_a_sibling_of_the_drivers_own_is_waited_for_and_the_slow_one_is_not() -> None:
    world = world_of("[[call:dig {}]][[call:send {}]][[turn]][[say:{{results}}]]")

    world.advance()
    before = tool_results(world)
    world.wake.settle(world.wake.runs[0], answer=GOLD)
    world.advance(request_id="r2")

    assert before == ["directly"]
    assert world.texts()[-1] == ("assistant", "gold | directly")


def test_a_start_is_handed_over_where_too_little_time_is_left() -> None:
    world = world_of("[[call:dig {}]]")

    world.advance(remaining_ms=round((PATIENCE_S + 29) * 1000))
    before = list(world.wake.runs)
    world.advance(request_id="r2")

    assert before == []
    assert [run.of.attempt for run in world.wake.runs] == [1]


class Failing:
    """A start that fails so many times, and the time that passes meanwhile."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.now = 0.0
        self.waits: list[float] = []

    def start(self) -> None:
        if self.left:
            self.left -= 1
            raise QueueUnavailable("busy")

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def run(self, revoked: bool = False) -> None:
        patiently(self.start, lambda: revoked, now_s=lambda: self.now, wait=self.wait)


def test_a_machine_that_does_not_answer_is_asked_again_for_a_while() -> None:
    passing, lasting, unwanted = Failing(3), Failing(99), Failing(99)

    passing.run()
    with pytest.raises(QueueUnavailable):
        lasting.run()
    with pytest.raises(QueueUnavailable):
        unwanted.run(revoked=True)

    assert passing.waits == [FIRST_WAIT_S, FIRST_WAIT_S * 2, FIRST_WAIT_S * 4]
    assert sum(lasting.waits) <= PATIENCE_S
    assert unwanted.waits == []
