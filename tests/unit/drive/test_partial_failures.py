"""Pieces of an answer that cannot be kept, readers that cannot be looked up: the turn goes on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from everturn.errors import EverturnError, StoreRefused, StoreUnavailable
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.store.memory import InMemorySessionStore
from unit.drive.world import KEY, World

WORDS = "one two three four five six seven eight nine ten"


class Forgetful(InMemorySessionStore):
    """Keeps some of the frames; cannot always say who reads."""

    def __init__(self, error: EverturnError, kept: frozenset[int]) -> None:
        super().__init__()
        self.error = error
        self.put: Iterator[int] = count(1)
        self.kept_frames = kept
        self.knows_readers = True

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        if next(self.put) not in self.kept_frames:
            raise self.error
        super().put_delta(key, delta, expires_epoch_s)

    def watch(self, key: SessionKey) -> Watch:
        if not self.knows_readers:
            raise self.error
        return super().watch(key)


ERRORS = [StoreUnavailable("DynamoDB: ThrottlingException"), StoreRefused("DynamoDB: AccessDenied")]


def answered(store: InMemorySessionStore) -> World:
    world = World(store=store)
    world.submit(f"[[say:{WORDS}]]")
    world.store.add_watcher(KEY, Watcher("c1", "sub"))
    world.advance()
    return world


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("kept", [frozenset(), frozenset({1}), frozenset({2, 3})])
def test_a_piece_that_cannot_be_kept_in_mid_stream_is_pushed_and_the_turn_ends_the_same(
    error: EverturnError, kept: frozenset[int]
) -> None:
    undisturbed = answered(InMemorySessionStore())

    world = answered(Forgetful(error, kept))

    assert world.texts() == undisturbed.texts()
    assert world.kinds() == undisturbed.kinds()
    assert world.lanes.said().split() == undisturbed.lanes.said().split() == WORDS.split()
    assert world.lanes.seqs() == undisturbed.lanes.seqs()
    assert len(world.store.deltas(KEY, 0, 0, 100)) <= len(kept)


def test_readers_that_cannot_be_looked_up_miss_nothing_that_the_log_does_not_have() -> None:
    store = Forgetful(StoreUnavailable("DynamoDB: ThrottlingException"), frozenset(range(100)))
    store.knows_readers = False

    world = answered(store)

    assert world.texts()[-1] == ("assistant", WORDS)
    assert world.head().session.last_outcome == "done"
