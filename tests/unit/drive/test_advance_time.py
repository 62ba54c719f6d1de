"""Architecture 4: what starts, what is slept, what is handed over or left to the step machine."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.drive.timer import SLEPT_MS
from everturn.errors import QueueUnavailable
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.ports.decider import WorkerAnswer
from everturn.ports.sessions import RELEASED, Owner
from everturn.session.decide.tool_result import OUTCOME_UNKNOWN
from unit.drive.doubles import FrozenClock, NoQueue, result, says
from unit.drive.world import QUICK_RETRY, World

ONE_WRITE = "[[call:send {}]][[turn]][[say:sent]]"


def owners(world: World) -> Owner | None:
    return world.head().owner


# ---- time


@pytest.mark.parametrize(("left_s", "starts"), [(89, False), (90, True), (91, True)])
def test_a_model_call_starts_only_with_its_limit_and_thirty_seconds_left(
    left_s: int, starts: bool
) -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")

    world.advance(remaining_ms=left_s * 1000)

    assert (("assistant", "Hi") in world.texts()) is starts
    assert len(world.wake.sent) == (1 if starts else 2)


@pytest.mark.parametrize(("left_s", "starts"), [(329, False), (330, True), (331, True)])
def test_a_delivery_starts_only_with_its_limit_and_thirty_seconds_left(
    left_s: int, starts: bool
) -> None:
    world = World(clock=FrozenClock())
    world.submit(ONE_WRITE)
    world.decider.answer = lambda _request: result("sent")

    world.advance(remaining_ms=left_s * 1000)

    assert len(world.decider.requests) == starts


def test_a_hand_over_is_named_by_its_request_and_releases_what_was_not_started() -> None:
    world = World(clock=FrozenClock())
    world.submit(ONE_WRITE)
    world.decider.answer = lambda _request: result("sent")

    world.advance(remaining_ms=250_000, request_id="r1")
    released = owners(world)
    sent = world.wake.sent[-1]
    world.advance(request_id="r2")

    assert released == Owner(1, RELEASED)
    assert sent.dedup == f"{world.head().created}:r1"
    assert [one["trigger"]["attempt"] for one in world.decider.requests] == [1]
    assert world.texts()[2:] == [("tool", "sent"), ("assistant", "sent")]


@pytest.mark.parametrize("left_ms", [250_000, 900_000])
def test_a_hand_over_whose_message_comes_again_loses_no_write_that_was_not_started(
    left_ms: int,
) -> None:
    world = World(clock=FrozenClock())
    world.submit(ONE_WRITE)
    world.decider.answer = lambda _request: result("sent")
    message = world.last_wake()

    world.advance(message, remaining_ms=250_000, request_id="r1")
    world.advance(message, remaining_ms=left_ms, request_id="r2", received=2)
    world.advance(request_id="r3")

    assert [one["trigger"]["attempt"] for one in world.decider.requests] == [1]
    assert world.texts()[2:] == [("tool", "sent"), ("assistant", "sent")]


def test_a_write_that_was_handed_over_and_then_started_is_not_started_again() -> None:
    world = World(clock=FrozenClock())
    world.submit(ONE_WRITE)
    world.advance(remaining_ms=250_000, request_id="r1")
    world.decider.answer = _killed

    with pytest.raises(Killed):
        world.advance(request_id="r2")
    world.advance(request_id="r3", received=2)

    assert len(world.decider.requests) == 1
    assert world.texts()[2] == ("tool", OUTCOME_UNKNOWN)


class Killed(BaseException):
    """The driver is gone."""


def _killed(_request: dict[str, Any]) -> WorkerAnswer:
    raise Killed


def test_a_first_dispatch_handed_over_has_nobody_to_be_released_from() -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")
    before = world.head()

    world.advance(remaining_ms=1_000)

    assert world.head() == before


def test_a_hand_over_that_cannot_be_sent_gives_the_message_back() -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")
    message = world.last_wake()

    with pytest.raises(QueueUnavailable):
        world.advance(message, remaining_ms=1_000, wake=NoQueue())


def waiting(wait_ms: int) -> World:
    """Return a session whose model call waits `wait_ms` for its next attempt."""
    world = World(clock=FrozenClock())
    retry = {**QUICK_RETRY, "backoff_base_secs": wait_ms / 1000, "backoff_max_secs": 3_600}
    world.script([ModelFailed("busy", FailureCode.OVERLOADED)], says("Hi"), retry=retry)
    world.submit("Hello")
    return world


@pytest.mark.parametrize(
    ("wait_ms", "is_slept"), [(SLEPT_MS - 1, True), (SLEPT_MS, True), (SLEPT_MS + 1, False)]
)
def test_waits_up_to_ten_seconds_are_slept_and_longer_ones_left_to_the_step_machine(
    wait_ms: int, is_slept: bool
) -> None:
    world = waiting(wait_ms)
    due_ms = world.clock.now + wait_ms
    store = _Awaking(world)

    world.advance(store=store, reader=world.reader_on(store))

    timers = [sent.due_ms for sent in world.wake.sent if sent.due_ms is not None]
    assert timers == ([] if is_slept else [due_ms])
    assert (world.texts()[-1][0] == "assistant") is is_slept


class _Awaking:
    """A store through which the clock jumps once the driver's watch looks at it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._looks = 0

    def __getattr__(self, name: str) -> Any:
        if name == "head_and_watch":
            self._looks += 1
            if self._looks > 1:
                self._world.clock.move(SLEPT_MS)
        return getattr(self._world.store, name)


def test_a_timer_carries_what_is_due_and_when_and_proves_that_it_is_now() -> None:
    world = waiting(60_000)
    world.advance()
    timer = world.last_wake()
    call = world.head().session.calls[0]

    world.advance(timer, request_id="r2")

    assert (timer.step, timer.subject) == ("timer", f"{call.id}/1")
    assert timer.due == "2026-01-01T12:01:00.000Z"
    assert world.texts()[-1] == ("assistant", "Hi ")
    assert world.clock.now == 1_767_268_800_000
    assert world.log()[-1].at_ms == 1_767_268_860_000


def test_a_timer_that_comes_before_anything_is_due_waits_on() -> None:
    world = waiting(60_000)
    world.advance()
    early = world.last_wake().model_copy(update={"due": "2026-01-01T12:00:01.000Z"})
    before = world.head()

    world.advance(early, request_id="r2")

    assert world.head() == before
    assert len(world.wake.sent) == 2


def test_a_short_wait_without_the_time_for_it_is_handed_over() -> None:
    world = waiting(5_000)
    left = iter([900_000, 34_999])

    world.advance(remaining_ms=lambda: next(left))

    assert world.wake.sent[-1].due_ms is None
    assert len(world.wake.sent) == 2
