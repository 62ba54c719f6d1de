"""Who may delete a session, what a caller is told, what recovery goes on with, what others meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from everturn.commands.delete_session import (
    LATE_S,
    PATIENCE_S,
    REQUEST_S,
    SLICE_S,
    SWEEP_S,
    DeleteSession,
    FinishDeletions,
)
from everturn.errors import DefectError, StoreRefused, StoreUnavailable
from everturn.ports.callers import Caller, Who
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watch, Watcher
from everturn.rejections import SessionDeleting, UnknownSession
from everturn.session.events.sessions import Owner
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import FrozenClock
from unit.drive.world import KEY, TENANT, World

KEY_OF_ACME = Caller(TENANT)


@dataclass(slots=True)
class StopWatch:
    """A monotonic clock that moves a step each time it is read."""

    step_s: float = 0.0
    now_s: float = 0.0

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


@dataclass(slots=True)
class Steps:
    """A store whose erasing is played: each entry is what it returns or raises."""

    store: InMemorySessionStore
    erases: list[bool | BaseException] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def erase(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        self.asked.append(key.session)
        if not self.erases:
            return self.store.erase(key, created, is_over)
        outcome = self.erases.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def world_with(*sessions: str) -> World:
    world = World(clock=FrozenClock())
    for session in sessions or ("s1",):
        world.submit("Hi", session=session)
    return world


def delete(world: World, caller: Caller = KEY_OF_ACME, session: str = "s1") -> bool:
    return DeleteSession(world.store, world.clock, StopWatch())(caller, session)


def sweep(world: World, store: Any = None, watch: StopWatch | None = None) -> int:
    return FinishDeletions(store or world.store, world.clock, watch or StopWatch()).sweep()


# ---- who, and what they are told


def test_a_deleted_session_is_unknown_and_deleting_it_again_is_too() -> None:
    world = world_with()

    done = delete(world)

    assert done
    assert world.store.head(KEY) is None
    with pytest.raises(UnknownSession):
        delete(world)


@pytest.mark.parametrize(
    "caller",
    [
        Caller("rival"),
        Caller(TENANT, Who.FRONTEND, owner=Owner(id="ada")),
        Caller("rival", Who.FRONTEND, owner=Owner(id="default")),
    ],
)
def test_what_is_anothers_is_answered_as_what_is_not_there(caller: Caller) -> None:
    world = world_with()

    with pytest.raises(UnknownSession) as theirs:
        delete(world, caller)
    with pytest.raises(UnknownSession) as missing:
        delete(world, caller, "none")

    assert theirs.value.message == missing.value.message
    assert world.store.head(KEY) is not None


def test_an_owner_deletes_what_is_theirs() -> None:
    world = world_with()

    assert delete(world, Caller(TENANT, Who.FRONTEND, owner=Owner(id="default")))


def test_a_session_that_is_deleted_by_another_meanwhile_is_unknown() -> None:
    class Racing(InMemorySessionStore):
        def mark_deleted(self, key: SessionKey, created: str, mark: str, due_epoch_s: int) -> bool:
            super().mark_deleted(key, created, "another", due_epoch_s)
            return super().mark_deleted(key, created, mark, due_epoch_s)

    world = World(clock=FrozenClock(), store=Racing())
    world.submit("Hi")

    with pytest.raises(UnknownSession):
        delete(world)


# ---- what a request leaves to recovery


def test_what_takes_longer_than_a_request_is_left_to_the_sweep() -> None:
    world = world_with()
    watch = StopWatch(REQUEST_S)

    done = DeleteSession(world.store, world.clock, watch)(KEY_OF_ACME, "s1")
    early = sweep(world)
    world.clock.move(PATIENCE_S * 1000)
    late = sweep(world)

    assert (done, early, late) == (False, 0, 1)
    assert world.store.head(KEY) is None


@pytest.mark.parametrize("error", [StoreUnavailable("busy"), StoreRefused("denied")])
def test_a_deletion_that_began_is_never_answered_with_an_error(error: Exception) -> None:
    world = world_with()
    store: Any = Steps(world.store, [error])

    done = DeleteSession(store, world.clock, StopWatch())(KEY_OF_ACME, "s1")
    world.clock.move(PATIENCE_S * 1000)

    assert done is False
    assert sweep(world) == 1


def test_until_a_deletion_is_done_no_session_of_that_id_begins() -> None:
    world = world_with()
    store: Any = Steps(world.store, [False])
    DeleteSession(store, world.clock, StopWatch())(KEY_OF_ACME, "s1")

    with pytest.raises(SessionDeleting) as refused:
        world.submit("Again", turn="t2")
    with pytest.raises(UnknownSession):
        delete(world)
    world.clock.move(PATIENCE_S * 1000)
    sweep(world)
    again = world.submit("Again", turn="t2")

    assert (refused.value.status, refused.value.code) == (409, "session_deleting")
    assert again.duplicate is False
    assert world.texts() == [("user", "Again")]


def test_late_writes_are_looked_for_when_every_driver_must_be_gone() -> None:
    world = world_with()
    created = world.head().created
    delete(world)
    world.store.add_watcher(KEY, Watcher("c1", "sub"), created)

    world.clock.move((LATE_S - 1) * 1000)
    early = sweep(world)
    world.clock.move(1000)
    late = sweep(world)

    assert (early, late) == (0, 1)
    assert world.store.watch(KEY) == Watch()
    assert world.store.deletions(10**10, 10) == ()


def test_one_deletion_that_fails_hides_no_other() -> None:
    world = world_with("s1", "s2", "s3")
    for session in ("s1", "s2", "s3"):
        key = SessionKey(TENANT, session)
        world.store.mark_deleted(key, world.head(session).created, session, 0)
    steps: Any = Steps(world.store, [StoreUnavailable("busy"), DefectError("broken"), True])

    done = sweep(world, steps)

    assert (done, sorted(steps.asked)) == (1, ["s1", "s2", "s3"])


def test_a_sweep_turns_to_the_next_after_a_while_and_ends_in_time() -> None:
    names = [f"s{n}" for n in range(9)]
    world = world_with(*names)
    for session in names:
        key = SessionKey(TENANT, session)
        world.store.mark_deleted(key, world.head(session).created, session, 0)
    watch = StopWatch()

    def slowly(is_over: Callable[[], bool]) -> bool:
        while not is_over():
            watch.now_s += 1
        return False

    class Slow(Steps):
        def erase(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
            self.asked.append(f"{key.session} {created}")
            return slowly(is_over)

    store: Any = Slow(world.store)
    done = sweep(world, store, watch)

    assert done == 0
    assert len(store.asked) == 3
    assert SWEEP_S <= watch.now_s < SWEEP_S + SLICE_S
