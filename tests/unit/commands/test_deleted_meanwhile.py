"""What drivers, streams, readers and writers meet whose session is deleted meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from everturn.commands.delete_session import (
    DeleteSession,
)
from everturn.commands.fan_out import FanOut
from everturn.commands.read_events import ReadEvents
from everturn.commands.read_session import ReadSession
from everturn.commands.recover import Recover, Settled
from everturn.errors import StoreUnreadable
from everturn.ports.callers import Caller
from everturn.ports.lists import Deletion
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.streams import Watcher
from everturn.push.envelopes import Cursor
from everturn.rejections import UnknownSession
from everturn.store.memory import InMemorySessionStore
from everturn.store.wake import created_in
from unit.drive.doubles import FrozenClock, RecordingLanes, says
from unit.drive.world import KEY, TENANT, World

KEY_OF_ACME = Caller(TENANT)


def world_with(*sessions: str) -> World:
    world = World(clock=FrozenClock())
    for session in sessions or ("s1",):
        world.submit("Hi", session=session)
    return world


def delete(world: World) -> bool:
    return DeleteSession(world.store, world.clock, lambda: 0.0)(KEY_OF_ACME, "s1")


def test_a_running_driver_notices_stops_and_brings_nothing_back() -> None:
    world = World()
    model = world.script(says("one two three"))

    def gone() -> None:
        _deleted_once(world)

    model.between = gone
    world.submit("Hello")
    world.store.add_watcher(KEY, Watcher("c1", "sub"), world.head().created)

    world.advance()

    assert world.store.head(KEY) is None
    assert world.store.log(KEY, 1) == ()


def test_a_driver_of_a_deleted_session_leaves_the_next_one_of_its_id_alone() -> None:
    world = World()
    model = world.script(says("one two three"))

    def replaced() -> None:
        if _deleted_once(world):
            world.submit("Mine", turn="t2")
            world.store.add_watcher(KEY, Watcher("c2", "sub"), world.head().created)

    model.between = replaced
    world.submit("Hello")
    world.store.add_watcher(KEY, Watcher("c1", "sub"), world.head().created)

    world.advance()

    assert world.texts() == [("user", "Mine")]
    assert world.lanes.seqs("c2") == []
    assert world.lanes.said("c2") == ""
    assert world.head().version == 1


def _deleted_once(world: World) -> bool:
    """Delete the first incarnation; returns whether that is news."""
    head = world.store.head(KEY)
    if head is None or head.session.turn is None or head.session.turn.id != "t1":
        return False
    return delete(world)


def test_a_wake_up_of_a_deleted_session_does_nothing() -> None:
    world = world_with()
    message = world.last_wake()
    delete(world)

    world.advance(message)
    settled = Recover(world.store, world.reader, world.wake, world.clock).settle(message)

    assert (world.store.head(KEY), settled) == (None, Settled.LEFT)


def test_a_dead_letter_of_a_deleted_session_fails_no_turn_of_the_next_one() -> None:
    world = world_with()
    message, old = world.last_wake(), world.head().created
    delete(world)
    world.submit("Mine", turn="t2")
    recover = Recover(world.store, world.reader, world.wake, world.clock)
    dedup = {old: f"{old}:{old}.1", "": "redrive.0198"}

    settled = recover.settle(message, created_in(dedup[old]))

    turn = world.head().session.turn
    assert (settled, turn is not None) == (Settled.LEFT, True)
    assert [created_in(one) for one in dedup.values()] == list(dedup)
    assert recover.settle(message, world.head().created) is Settled.FAILED


def test_a_commit_that_the_stream_brings_late_is_shown_to_nobody_new() -> None:
    world = world_with()
    [old] = world.log()
    delete(world)
    world.submit("Mine", turn="t2")
    world.store.add_watcher(KEY, Watcher("c2", "sub"), world.head().created)
    lanes = RecordingLanes()
    fan_out = FanOut(world.store, world.wake, lambda _key: lanes)

    fan_out(KEY, old)
    fan_out(KEY, world.log()[0])

    assert lanes.seqs("c2") == list(range(1, world.head().session.seq + 1))


class Vanishing(InMemorySessionStore):
    """A store whose session is deleted when its log is first read."""

    def __init__(self, *, really: bool = True) -> None:
        super().__init__()
        self.really = really
        self.armed = False

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        self._vanish(key)
        return super().log(key, from_seq, to_seq)

    def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
        self._vanish(key)
        return super().page(key, after_seq, limit)

    def _vanish(self, key: SessionKey) -> None:
        if not self.armed:
            return
        head = self.head(key)
        if self.really and head is not None:
            self.mark_deleted(key, head.created, "m", 0)
            self.erase(key, head.created, lambda: False)
        raise StoreUnreadable("LOG#1 cannot be read")


def reads(world: World) -> Iterator[Callable[[], object]]:
    events = ReadEvents(world.store, world.clock, world.clock.sleep, wait_s=1)
    yield lambda: ReadSession(world.store, world.reader)(KEY_OF_ACME, "s1")
    yield lambda: events.page(KEY_OF_ACME, "s1", 0, 10, None)
    yield lambda: events.stream(KEY_OF_ACME, "s1", Cursor(), None)


@pytest.mark.parametrize("which", range(3))
def test_a_session_that_goes_while_it_is_read_is_unknown(which: int) -> None:
    store = Vanishing()
    world = World(clock=FrozenClock(), store=store)
    world.submit("Hi")
    store.armed = True

    with pytest.raises(UnknownSession):
        [*reads(world)][which]()


@pytest.mark.parametrize("which", range(3))
def test_a_session_that_cannot_be_read_and_is_still_there_is_a_defect(which: int) -> None:
    store = Vanishing(really=False)
    world = World(clock=FrozenClock(), store=store)
    world.submit("Hi")
    store.armed = True

    with pytest.raises(StoreUnreadable):
        [*reads(world)][which]()


def test_a_driver_whose_session_goes_while_it_is_loaded_has_nothing_to_do() -> None:
    store = Vanishing()
    world = World(store=store)
    world.submit("Hi")
    message = world.last_wake()
    store.armed = True

    world.advance(message)

    assert world.lanes.pushed == []


def test_an_input_to_a_session_that_goes_meanwhile_is_refused() -> None:
    store = Vanishing()
    world = World(store=store)
    world.submit("Hi")
    world.advance()
    store.armed = True

    with pytest.raises(UnknownSession):
        world.submit("More", turn="t2")


def test_what_is_left_to_do_names_its_incarnation() -> None:
    world = world_with()
    created = world.head().created

    delete(world)

    assert world.store.deletions(10**10, 10) == (Deletion(KEY, created, is_gone=True),)
