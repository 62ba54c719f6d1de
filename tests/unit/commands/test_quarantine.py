"""What cannot even be failed readably is put aside, and nobody touches it until it is lifted."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.read_session import ReadSession
from everturn.commands.recover import Recover, Settled, Swept
from everturn.errors import (
    DefectError,
    EverturnError,
    NewerFormat,
    StoreRefused,
    StoreUnavailable,
    StoreUnreadable,
    VersionConflict,
)
from everturn.ports.sessions import Head, Logged, Quarantine, SessionKey, TurnRecord
from everturn.ports.streams import Watch, Watcher
from everturn.protocol.client_input import read_input
from everturn.protocol.wake import WAKE
from everturn.rejections import SessionQuarantined, UnknownAgent
from everturn.store.codec import refusal
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import NOON_MS, FrozenClock, says
from unit.drive.world import KEY, MACHINE, TENANT, World, body

WAKE_UP = WAKE.validate_python({"step": "llm", "tenant": TENANT, "session": "s1", "version": 1})
NOON = "2026-01-01T12:00:00.000Z"


class Broken(InMemorySessionStore):
    """A store that raises when the log, or the head as well, is read."""

    log_error: Exception | None = None
    head_error: Exception | None = None

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        if self.log_error is not None:
            raise self.log_error
        return super().log(key, from_seq, to_seq)

    def head(self, key: SessionKey) -> Head | None:
        found = super().head(key)
        self._look(key, found)
        return found

    def head_and_turn(self, key: SessionKey, turn_id: str) -> tuple[Head | None, TurnRecord | None]:
        head, turn = super().head_and_turn(key, turn_id)
        self._look(key, head)
        return head, turn

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        head, watch = super().head_and_watch(key)
        self._look(key, head)
        return head, watch

    def _look(self, key: SessionKey, head: Head | None) -> None:
        """Refuse an unreadable head as the table does."""
        if self.head_error is None:
            return
        if head is not None and head.quarantined is not None:
            raise refusal(key, head.quarantined)
        raise self.head_error

    def stored(self) -> Head:
        """Return the head as it stands, whether it could be read or not."""
        head = super().head(KEY)
        assert head is not None
        return head


def broken(log: Exception | None = None, head: Exception | None = None) -> tuple[World, Broken]:
    """Return a world with one open turn that cannot be read any more."""
    store = Broken()
    world = World(clock=FrozenClock(), store=store)
    world.submit("Hello")
    store.log_error, store.head_error = log, head
    return world, store


def recover(world: World) -> Recover:
    return Recover(world.store, world.reader, world.wake, world.clock)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StoreUnreadable("LOG#1 cannot be read"), "unreadable"),
        (StoreRefused("the log has no event 3"), "store_refused"),
        (DefectError("no agent config at event 5"), "contradiction"),
        (ZeroDivisionError("a defect"), "defect"),
    ],
)
def test_what_will_not_go_away_puts_the_session_aside(error: Exception, reason: str) -> None:
    world, store = broken(log=error)

    settled = [recover(world).settle(WAKE_UP), recover(world).settle(WAKE_UP)]

    wake = f'{{"step":"llm","tenant":"{TENANT}","session":"s1","version":1}}'
    assert settled == [Settled.QUARANTINED, Settled.LEFT]
    assert store.stored().quarantined == Quarantine(reason, NOON_MS, wake)
    assert store.stored().due_epoch_s is None
    assert store.stored().version == 2


def test_a_head_that_cannot_be_read_is_put_aside_all_the_same() -> None:
    world, store = broken(head=StoreUnreadable("HEAD cannot be read"))

    settled = [recover(world).settle(WAKE_UP), recover(world).settle(WAKE_UP)]

    assert settled == [Settled.QUARANTINED, Settled.LEFT]
    assert store.stored().quarantined is not None


@pytest.mark.parametrize(
    "error", [StoreUnavailable("throttled"), NewerFormat("later"), VersionConflict("moved on")]
)
def test_what_may_go_away_brings_the_message_back(error: EverturnError) -> None:
    world, store = broken(log=error)
    before = store.stored()

    with pytest.raises(type(error)):
        recover(world).settle(WAKE_UP)

    assert store.stored() == before


def test_a_turn_that_can_be_failed_is_failed_and_its_session_goes_on() -> None:
    world = World()
    world.submit("Hello")

    settled = [recover(world).settle(WAKE_UP), recover(world).settle(WAKE_UP)]

    assert settled == [Settled.FAILED, Settled.LEFT]
    assert world.head().quarantined is None


def test_the_sweep_puts_aside_what_it_cannot_read_and_goes_on() -> None:
    world, store = broken(head=StoreUnreadable("HEAD cannot be read"))
    world.clock.move(1_200_000)

    swept = [recover(world).sweep(), recover(world).sweep()]

    assert swept == [Swept(quarantined=1), Swept()]
    assert store.stored().quarantined == Quarantine("unreadable", NOON_MS + 1_200_000)
    assert store.due(2**40, 10) == ()


def test_a_dead_letter_of_a_session_at_rest_that_cannot_be_read_puts_it_aside() -> None:
    store = Broken()
    world = World(clock=FrozenClock(), store=store)
    world.submit("[[say:Hi]]")
    world.advance()
    store.log_error = StoreUnreadable("LOG#1 cannot be read")

    settled = [recover(world).settle(WAKE_UP), recover(world).settle(WAKE_UP)]

    assert settled == [Settled.QUARANTINED, Settled.LEFT]
    quarantined = store.stored().quarantined
    assert quarantined is not None
    assert quarantined.reason == "unreadable"


@pytest.mark.parametrize("error", [None, UnknownAgent("gone")])
def test_a_dead_letter_of_a_session_at_rest_is_nothing_to_worry_about(
    error: Exception | None,
) -> None:
    store = Broken()
    world = World(clock=FrozenClock(), store=store)
    world.submit("[[say:Hi]]")
    world.advance()
    store.log_error = error
    before = store.stored()

    settled = recover(world).settle(WAKE_UP)

    assert (settled, store.stored()) == (Settled.LEFT, before)


class Refusing(Broken):
    """Its quarantines are refused."""

    def quarantine(self, key: SessionKey, head: Head | None, why: Quarantine) -> bool:
        raise StoreUnavailable(f"no {why.reason} for {key.session} {head}")

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        return (*super().due(now_epoch_s, limit), KEY)


def test_a_quarantine_that_is_refused_stops_no_sweep_and_keeps_the_message() -> None:
    store = Refusing()
    world = World(clock=FrozenClock(), store=store)
    world.submit("Hello")
    store.head_error = StoreUnreadable("HEAD cannot be read")
    world.clock.move(1_200_000)

    swept = recover(world).sweep()
    with pytest.raises(StoreUnavailable):
        recover(world).settle(WAKE_UP)

    assert swept == Swept()


def test_the_sweep_does_not_wake_what_the_index_still_shows() -> None:
    class Late(Broken):
        def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
            del now_epoch_s, limit
            return (KEY,)

    store = Late()
    world = World(clock=FrozenClock(), store=store)
    world.submit("Hello")
    store.quarantine(KEY, None, Quarantine("defect", NOON_MS))
    world.wake.sent.clear()

    assert recover(world).sweep() == Swept()
    assert world.wake.sent == []


# ---- everybody else


@pytest.mark.parametrize("head_error", [None, StoreUnreadable("HEAD cannot be read")])
def test_a_driver_finishes_the_message_of_a_session_that_is_put_aside(
    head_error: Exception | None,
) -> None:
    world, store = broken()
    store.quarantine(KEY, None, Quarantine("defect", NOON_MS))
    store.head_error = head_error
    before = store.stored()

    world.advance(received=5)

    assert store.stored() == before
    assert world.lanes.pushed == []


@pytest.mark.parametrize("head_error", [None, StoreUnreadable("HEAD cannot be read")])
def test_a_driver_that_is_still_at_it_stops_without_a_word(head_error: Exception | None) -> None:
    store = Broken()
    world = World(store=store)
    model = world.script(says("one two"))
    world.submit("Hello")

    def put_aside() -> None:
        if store.quarantine(KEY, None, Quarantine("defect", NOON_MS)):
            store.head_error = head_error

    model.between = put_aside

    world.advance()

    assert [commit.version for commit in world.log()] == [1]
    assert store.stored().version == 2


def test_inputs_are_refused_but_a_turn_that_is_known_is_not() -> None:
    world, store = broken()
    store.quarantine(KEY, None, Quarantine("contradiction", NOON_MS))

    known = world.submit("Hello")
    with pytest.raises(SessionQuarantined) as caught:
        world.submit("More", turn="t2")

    assert (known.duplicate, known.turn_status) == (True, "running")
    assert (caught.value.status, caught.value.code) == (409, "session_quarantined")
    assert caught.value.fields == {"reason": "contradiction", "at": NOON}


def test_inputs_are_refused_where_the_head_cannot_be_read() -> None:
    world, store = broken()
    store.quarantine(KEY, None, Quarantine("unreadable", NOON_MS))
    store.head_error = StoreUnreadable("HEAD cannot be read")
    wanted = body("More", turn=None)

    with pytest.raises(SessionQuarantined):
        world.submitter()(MACHINE, read_input(wanted))


def read(world: World) -> dict[str, Any]:
    return ReadSession(world.store, world.reader)(MACHINE, "s1")


def test_a_read_shows_why_and_since_when() -> None:
    world, store = broken()
    store.quarantine(KEY, None, Quarantine("contradiction", NOON_MS))

    shown = read(world)

    assert shown["quarantined"] == {"reason": "contradiction", "at": NOON}
    assert [message["content"] for message in shown["messages"]] == ["Hello"]
    assert shown["turn_id"] == "t1"


def test_a_read_leaves_out_what_cannot_be_read() -> None:
    world, _ = broken(log=StoreUnreadable("LOG#1 cannot be read"))
    with pytest.raises(StoreUnreadable):
        read(world)
    recover(world).settle(WAKE_UP)

    shown = read(world)

    assert shown["quarantined"] == {"reason": "unreadable", "at": NOON}
    assert (shown["messages"], shown["calls"]) == ([], [])


def test_readers_of_a_session_that_is_put_aside_stay() -> None:
    _, store = broken()
    store.add_watcher(KEY, Watcher("c1", "a"))

    store.quarantine(KEY, None, Quarantine("defect", NOON_MS))

    assert store.watch(KEY) == Watch((Watcher("c1", "a"),))
