"""Architecture 4: who may write is whoever could renew its message within half a lease."""

from __future__ import annotations

from threading import get_ident

import pytest

from everturn.drive.lease import Lease, held, redelivery_s
from everturn.observability import logger
from unit.drive.doubles import refused_renewal

LEASE_S = 120


class Monotonic:
    """A clock in seconds that moves when told."""

    def __init__(self) -> None:
        self.s = 1_000.0

    def __call__(self) -> float:
        return self.s


class Queue:
    """Answers renewals with what it is told to."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.answer: OSError | None = None

    def renew(self, seconds: int) -> None:
        self.asked.append(seconds)
        if self.answer is not None:
            raise self.answer


def test_the_first_act_shortens_the_visibility_to_the_lease() -> None:
    queue = Queue()

    Lease(queue.renew, LEASE_S, Monotonic()).take()

    assert queue.asked == [LEASE_S]


@pytest.mark.parametrize(("silent_s", "is_held"), [(59.9, True), (60.0, True), (60.1, False)])
def test_no_renewal_for_half_a_lease_loses_it(silent_s: float, is_held: bool) -> None:
    clock = Monotonic()
    lease = Lease(Queue().renew, LEASE_S, clock)
    lease.take()

    clock.s += silent_s

    assert lease.is_held() is is_held
    assert lease.lost.is_set() is not is_held


def test_a_renewal_counts_from_when_it_was_asked_for() -> None:
    clock = Monotonic()

    def slow(_seconds: int) -> None:
        clock.s += 50

    lease = Lease(slow, LEASE_S, clock)
    lease.take()
    clock.s += 11

    assert not lease.is_held()


def test_a_refused_renewal_loses_it_at_once() -> None:
    lease = Lease(refused_renewal, LEASE_S, Monotonic())
    lease.take()

    assert not lease.is_held()


def test_a_renewal_without_an_answer_changes_nothing_yet() -> None:
    queue, clock = Queue(), Monotonic()
    lease = Lease(queue.renew, LEASE_S, clock)
    lease.take()
    queue.answer = OSError("no answer")
    clock.s += 60
    lease.take()

    held_at_60 = lease.is_held()
    clock.s += 1

    assert (held_at_60, lease.is_held()) == (True, False)


def test_what_is_lost_stays_lost() -> None:
    queue, clock = Queue(), Monotonic()
    lease = Lease(queue.renew, LEASE_S, clock)
    clock.s += 61
    lost = lease.is_held()
    lease.take()

    assert (lost, lease.is_held()) == (False, False)


def test_a_thread_renews_it_every_quarter_until_the_body_ends() -> None:
    queue = Queue()

    with held(queue.renew, 0) as lease:
        lease.lost.wait(5)

    assert len(queue.asked) >= 2
    assert set(queue.asked) == {0}


def test_the_thread_stops_where_it_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[int] = []

    def refuse(seconds: int) -> None:
        asked.append(seconds)
        refused_renewal(seconds)

    lease = Lease(refuse, 0, Monotonic())

    with caplog.at_level("WARNING", logger.name):
        lease.keep()

    told = [one.getMessage() for one in caplog.records if one.thread == get_ident()]
    assert (asked, lease.lost.is_set()) == ([0], True)
    assert told == ["lease lost"]


def test_an_ended_lease_is_not_renewed() -> None:
    queue = Queue()
    lease = Lease(queue.renew, LEASE_S, Monotonic())
    lease.end()

    lease.keep()

    assert queue.asked == []


@pytest.mark.parametrize(
    ("received", "wait_s"), [(0, 2), (1, 2), (2, 8), (3, 32), (4, 120), (5, 120), (1_000, 120)]
)
def test_what_fails_again_comes_back_later(received: int, wait_s: int) -> None:
    assert redelivery_s(received, LEASE_S) == wait_s
