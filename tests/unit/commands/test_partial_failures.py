"""A reader's subscription of which half failed: it is told, and asked for again it works."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.subscribe import FIRST, Subscribe
from everturn.errors import StoreUnavailable
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watch, Watcher
from everturn.store.memory import InMemorySessionStore
from unit.commands.reading import events_of, two_turns
from unit.drive.world import KEY, MACHINE, World


class Unwatched(InMemorySessionStore):
    """Its watch items cannot be written for a while."""

    is_busy = True

    def add_watcher(self, key: SessionKey, watcher: Watcher, created: str = "") -> None:
        if self.is_busy:
            raise StoreUnavailable("DynamoDB: ThrottlingException", retry_after_s=1.0)
        super().add_watcher(key, watcher, created)

    def remove_watcher(self, key: SessionKey, connection_id: str, subscription: str = "") -> None:
        if self.is_busy:
            raise StoreUnavailable("DynamoDB: ThrottlingException", retry_after_s=1.0)
        super().remove_watcher(key, connection_id, subscription)


def two_turns_unwatched() -> tuple[World, Unwatched, Subscribe]:
    store = Unwatched()
    world = two_turns(store)
    world.directory.put_connection("c1", MACHINE, 0)
    return world, store, Subscribe(world.store, world.directory, events_of(world))


def test_a_watch_that_cannot_be_written_is_told_and_asked_for_again_it_begins() -> None:
    world, store, subscribe = two_turns_unwatched()
    frames: list[dict[str, Any]] = []

    def send(frame: dict[str, Any]) -> bool:
        frames.append(frame)
        return True

    with pytest.raises(StoreUnavailable):
        subscribe(MACHINE, "c1", "sub", "s1", FIRST, None, send)
    nobody = world.store.watch(KEY)
    store.is_busy = False
    subscribe(MACHINE, "c1", "sub", "s1", FIRST, None, send)

    assert nobody == Watch()
    assert [one.subscription for one in world.store.watch(KEY).watchers] == ["sub"]
    seqs = [frame["seq"] for frame in frames if frame["type"] == "event"]
    assert seqs == [*range(1, world.head().session.seq + 1)] * 2


def test_a_half_subscription_goes_with_its_connection() -> None:
    world, store, subscribe = two_turns_unwatched()
    with pytest.raises(StoreUnavailable):
        subscribe(MACHINE, "c1", "sub", "s1", FIRST, None, lambda _frame: True)
    store.is_busy = False

    subscribe.disconnect("c1")

    assert world.directory.connection("c1") is None
    assert world.store.watch(KEY).watchers == ()


def test_a_turn_goes_on_though_nobody_can_be_noted_as_its_reader() -> None:
    world, _, subscribe = two_turns_unwatched()
    with pytest.raises(StoreUnavailable):
        subscribe(MACHINE, "c1", "sub", "s1", FIRST, None, lambda _frame: True)

    world.advance()

    assert world.head().session.turn is None
    assert world.head().session.last_outcome == "done"
