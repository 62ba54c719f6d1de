"""O-7: a reader waits while a turn is open, is known as one meanwhile, and misses nothing."""

from __future__ import annotations

from everturn.commands.inbox import Inbox
from everturn.commands.read_events import IDLE_RETRY_MS, ReadEvents, Streamed
from everturn.ports.callers import Caller, Who
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.streams import Watch
from everturn.push.envelopes import Cursor
from everturn.store.memory import InMemorySessionStore
from unit.commands.reading import events_of, two_turns
from unit.drive.doubles import FrozenClock
from unit.drive.world import KEY, MACHINE, TENANT, World


def test_a_session_without_an_open_turn_is_answered_at_once_and_told_when_to_come_back() -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")
    world.advance()
    began = world.clock.now

    streamed = events_of(world).stream(MACHINE, "s1", Cursor(world.head().session.seq), None)

    assert streamed == Streamed((), retry_ms=IDLE_RETRY_MS)
    assert world.clock.now == began


def test_a_reader_waits_for_an_open_turn_and_is_known_as_one_meanwhile() -> None:
    world = two_turns()
    began = world.clock.now

    streamed = events_of(world).stream(MACHINE, "s1", Cursor(world.head().session.seq), None)

    assert streamed == Streamed(())
    assert world.clock.now == began + 2_000
    assert world.store.watch(KEY) == Watch(reader_until_ms=began + 2_000 + 5_000)


def test_a_reader_waits_for_a_turn_that_is_about_to_begin() -> None:
    world = World(clock=FrozenClock())
    world.submit("[[say:Hi]]")
    world.advance()
    Inbox(world.changer()).enqueue(MACHINE, "s1", {"message": {"role": "user", "content": "Hi"}})
    began, head = world.clock.now, world.head()
    assert (head.session.turn, len(head.session.inbox)) == (None, 1)

    streamed = events_of(world).stream(MACHINE, "s1", Cursor(head.session.seq), None)

    assert streamed == Streamed(())
    assert world.clock.now == began + 2_000


def test_what_comes_while_a_reader_waits_is_answered_at_once() -> None:
    world = two_turns()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            world.advance(request_id="r2")

    read = ReadEvents(world.store, world.clock, sleep)

    streamed = read.stream(MACHINE, "s1", Cursor(world.head().session.seq), None)

    assert len(slept) == 2
    assert streamed.frames[-1].event == "session.done"


def test_a_log_that_could_not_be_read_to_its_end_is_read_again_from_the_same_place() -> None:
    class Late(InMemorySessionStore):
        """Has nothing to show the first time."""

        reads = 0

        def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
            self.reads += 1
            return super().page(key, after_seq, limit) if self.reads > 1 else ()

    world = two_turns(Late())
    seq = world.head().session.seq

    streamed = events_of(world).stream(MACHINE, "s1", Cursor(seq - 1), None)

    assert [frame.cursor for frame in streamed.frames] == [f"{seq}.0-0"]


def test_what_is_not_for_a_reader_is_read_once_while_it_waits() -> None:
    class Counting(InMemorySessionStore):
        """Counts its pages."""

        reads = 0

        def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
            self.reads += 1
            return super().page(key, after_seq, limit)

    store = Counting()
    world = two_turns(store)
    token = Caller(TENANT, Who.FRONTEND)

    streamed = events_of(world).stream(token, "s1", Cursor(world.head().session.seq - 1), None)

    assert streamed == Streamed(())
    assert store.reads == 1
