"""Architecture 4: a look every second, none after the end, a missed one is no failure."""

from __future__ import annotations

from threading import Event

import pytest

from everturn.drive.watch import watching
from everturn.errors import StoreUnavailable
from everturn.ports.sessions import Head, SessionKey
from everturn.ports.streams import Watch
from everturn.store.memory import InMemorySessionStore
from unit.drive.world import KEY


class Flaky(InMemorySessionStore):
    """Fails its first look."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        self.looks += 1
        if self.looks == 1:
            raise StoreUnavailable("no")
        return super().head_and_watch(key)


@pytest.mark.slow
def test_a_missed_look_is_made_up_for_by_the_next() -> None:
    store, seen = Flaky(), Event()

    with watching(store, KEY, lambda _head, _watch: seen.set()):
        came = seen.wait(10)

    assert came
    assert store.looks == 2


class Slow(InMemorySessionStore):
    """Is in a look when the watch ends."""

    def __init__(self) -> None:
        super().__init__()
        self.looking, self.ended, self.answered = Event(), Event(), Event()

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        self.looking.set()
        self.ended.wait(10)
        self.answered.set()
        return super().head_and_watch(key)


@pytest.mark.slow
def test_what_is_seen_after_the_end_is_told_to_nobody() -> None:
    store, told = Slow(), Event()

    with watching(store, KEY, lambda _head, _watch: told.set()):
        store.looking.wait(10)
    store.ended.set()
    store.answered.wait(10)

    assert not told.wait(0.1)
