"""Architecture 2: fan-out guarantees the wake-up, recovery looks after what nobody drives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everturn.commands.fan_out import FanOut
from everturn.commands.recover import GIVEN_UP, SWEEP_MS, Recover, Swept
from everturn.errors import NewerFormat, VersionConflict
from everturn.ports.sessions import Head, Owner, SessionKey
from everturn.ports.streams import Watcher
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import FrozenClock, NoQueue
from unit.drive.world import KEY, TENANT, World


def recover(world: World, wake: Any = None) -> Recover:
    return Recover(world.store, world.reader, wake or world.wake, world.clock)


def fan_out(world: World) -> FanOut:
    return FanOut(world.store, world.wake, lambda _key: world.lanes)


# ---- fan-out


def test_a_commit_that_needs_a_driver_has_its_wake_up_and_a_second_one_is_none() -> None:
    world = World()
    world.submit("Hello")
    sent = list(world.wake.sent)
    world.wake.sent.clear()

    fan_out(world)(KEY, world.log()[0])
    fan_out(world)(KEY, world.log()[0])

    assert world.wake.sent == sent
    assert world.lanes.pushed == []


def test_a_commit_of_others_is_pushed_to_every_reader() -> None:
    world = World()
    world.submit("Hello")
    world.store.add_watcher(KEY, Watcher("c1", "a"))
    world.store.add_watcher(KEY, Watcher("c2", "b", "t2"))

    use_case = fan_out(world)
    use_case(KEY, world.store.log(KEY, 1)[0])
    use_case.flush()

    assert world.lanes.seqs("c1") == list(range(1, world.head().session.seq + 1))
    assert world.lanes.seqs("c2") == [world.head().session.seq], "skipped"
    assert world.lanes.closed


def test_a_drivers_commit_is_its_own_affair() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()
    world.lanes.closed = False
    world.store.add_watcher(KEY, Watcher("c1", "a"))

    fan_out(world)(KEY, world.log()[-1])

    assert len(world.wake.sent) == 1
    assert world.lanes.pushed == []


def test_a_commit_that_needs_nobody_wakes_nobody() -> None:
    world = World()
    world.submit("Hello")

    fan_out(world)(KEY, replace(world.log()[0], wake=None))

    assert len(world.wake.sent) == 1


# ---- dead letters


def test_a_turn_whose_wake_up_was_tried_in_vain_fails_readably() -> None:
    world = World()
    world.submit("Hello")

    failed = recover(world).give_up(KEY, world.head().version)

    ended = world.log()[-1].events[-1]
    assert failed
    assert ended.type == "turn.completed"
    assert (ended.outcome, ended.error and ended.error.message) == ("failed", GIVEN_UP)
    assert world.log()[-1].by == "recovery"
    assert world.head().owner == Owner(1, "")


def test_a_driver_that_took_it_over_again_and_again_does_not_save_the_turn() -> None:
    world = World()
    world.submit("Hello")
    version = world.head().version
    world.store.claim(KEY, world.head(), Owner(3, "r3"))

    assert recover(world).give_up(KEY, version)
    assert world.head().owner == Owner(4, "")


def test_a_turn_that_began_after_the_message_is_left_alone() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    old = world.head().version
    world.advance()
    world.submit("Hello", turn="t2")
    before = world.head()

    assert not recover(world).give_up(KEY, old)
    assert world.head() == before


def test_without_an_open_turn_or_a_session_there_is_nothing_to_give_up() -> None:
    world = World()
    world.submit("[[say:Hi]]")
    world.advance()

    assert not recover(world).give_up(KEY, 1)
    assert not recover(world).give_up(SessionKey(TENANT, "s2"), 1)


# ---- the sweep


def test_a_session_past_its_due_time_is_woken_once_in_five_minutes() -> None:
    world = World(clock=FrozenClock())
    world.submit("Hello")
    world.clock.move(1_200_000)

    woken = [recover(world).sweep(), recover(world).sweep()]
    world.clock.move(300_000)
    recover(world).sweep()

    assert woken == [Swept(woken=1)] * 2
    assert len(world.wake.sent) == 3
    assert world.wake.sent[-1].message["step"] == "timer"


@pytest.mark.parametrize("early_ms", [1_000, 600_000])
def test_a_session_that_is_not_due_is_left_alone(early_ms: int) -> None:
    world = World(clock=FrozenClock())
    world.submit("Hello")
    world.clock.move(1_200_000 - early_ms)

    assert recover(world).sweep() == Swept()


class Moved(InMemorySessionStore):
    """Its index says that sessions are due which moved on, are gone, or cannot be read."""

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        del now_epoch_s, limit
        names = ("gone", "moved", "newer", "contended", "s1")
        return tuple(SessionKey(TENANT, name) for name in names)

    def head(self, key: SessionKey) -> Head | None:
        match key.session:
            case "newer":
                raise NewerFormat("later code wrote it")
            case "contended":
                raise VersionConflict("moved on")
            case "moved":
                found = super().head(SessionKey(TENANT, "s1"))
                return found and replace(found, due_epoch_s=None)
            case _:
                return super().head(key)


def test_one_session_that_cannot_be_read_hides_no_other() -> None:
    world = World(clock=FrozenClock(), store=Moved())
    world.submit("Hello")
    world.clock.move(1_200_000)

    assert recover(world).sweep() == Swept(woken=1)


def test_a_session_that_cannot_be_woken_is_not_counted() -> None:
    world = World(clock=FrozenClock())
    world.submit("Hello")
    world.clock.move(1_200_000)

    assert recover(world, NoQueue()).sweep() == Swept()


class Throttled(InMemorySessionStore):
    """Each look at a head takes its time."""

    clock: FrozenClock

    def head(self, key: SessionKey) -> Head | None:
        self.clock.move(SWEEP_MS // 2)
        return super().head(key)


def test_a_sweep_that_takes_too_long_leaves_the_rest_to_the_next_one() -> None:
    clock, store = FrozenClock(), Throttled()
    store.clock = clock
    world = World(clock=clock, store=store)
    for n in range(5):
        world.submit("Hello", session=f"s{n}")
    clock.move(1_200_000)

    first = recover(world).sweep()
    rest = store.due(clock.now_ms() // 1000, 10)

    assert first == Swept(woken=3)
    assert len(rest) == 5
