"""A session at rest that cannot be read: somebody looks, recovery judges, callers are told why."""

from __future__ import annotations

import pytest

from everturn.commands.recover import Recover, Settled
from everturn.commands.second_look import PERIOD_MS
from everturn.errors import StoreUnavailable, StoreUnreadable, to_http
from everturn.protocol.client_input import read_input
from everturn.rejections import SessionQuarantined
from unit.commands.test_quarantine import Broken
from unit.drive.doubles import FrozenClock, NoQueue
from unit.drive.world import MACHINE, World, body


def at_rest() -> tuple[World, Broken]:
    """Return a world whose session has ended its turn, and nobody who was told since."""
    store = Broken()
    world = World(clock=FrozenClock(), store=store)
    world.submit("[[say:Hi]]")
    world.advance()
    world.wake.sent.clear()
    return world, store


@pytest.mark.parametrize("where", ["head", "log"])
def test_an_input_to_a_session_that_cannot_be_read_has_it_put_aside_in_the_end(where: str) -> None:
    world, store = at_rest()
    setattr(store, f"{where}_error", StoreUnreadable(f"{where} cannot be read"))

    with pytest.raises(StoreUnreadable) as caught:
        world.submit("More", turn="t2")
    wake = world.last_wake()
    with pytest.raises(StoreUnreadable):
        world.advance(wake)
    settled = Recover(world.store, world.reader, world.wake, world.clock).settle(wake)
    with pytest.raises(SessionQuarantined) as refused:
        world.submit("More", turn="t2")

    assert to_http(caught.value)[1]["code"] == "unreadable"
    assert settled is Settled.QUARANTINED
    assert refused.value.fields["reason"] == "unreadable"


def test_many_callers_have_it_looked_at_once_in_a_while() -> None:
    world, store = at_rest()
    store.head_error = StoreUnreadable("HEAD cannot be read")

    for _ in range(3):
        with pytest.raises(StoreUnreadable):
            world.submit("More", turn="t2")
    once = len(world.wake.sent)
    world.clock.move(PERIOD_MS)
    with pytest.raises(StoreUnreadable):
        world.submit("More", turn="t2")

    assert (once, len(world.wake.sent)) == (1, 2)


def test_a_queue_that_is_busy_changes_nothing_for_the_caller() -> None:
    world, store = at_rest()
    store.head_error = StoreUnreadable("HEAD cannot be read")

    with pytest.raises(StoreUnreadable):
        world.submitter(wake=NoQueue())(MACHINE, read_input(body("More", "t2")))


def test_a_session_that_is_only_busy_is_not_looked_at() -> None:
    world, store = at_rest()
    store.head_error = StoreUnavailable("throttled")

    with pytest.raises(StoreUnavailable):
        world.submit("More", turn="t2")

    assert world.wake.sent == []
