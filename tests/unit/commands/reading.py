"""A session with an ended turn and one that streams, and ways to look at it."""

from __future__ import annotations

from everturn.commands.read_events import (
    ReadEvents,
)
from everturn.ports.streams import Delta
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import FrozenClock
from unit.drive.world import KEY, World


def two_turns(store: InMemorySessionStore | None = None) -> World:
    """Return a session with an ended turn `t1` and an open one `t2` that streams."""
    world = World(clock=FrozenClock(), store=store or InMemorySessionStore())
    world.submit("[[say:Hi]]")
    world.advance()
    world.submit("Hello", turn="t2")
    return world


def events_of(world: World) -> ReadEvents:
    return ReadEvents(world.store, world.clock, world.clock.sleep, wait_s=2)


def delta(world: World, n: int, text: str) -> Delta:
    """Keep a piece of the answer in flight."""
    call = world.head().session.calls[0]
    seq = dispatch_seq(world)
    kept = Delta(seq, n, call.id, call.attempt, call.turn_id, {"text": text})
    world.store.put_delta(KEY, kept, 0)
    return kept


def dispatch_seq(world: World) -> int:
    return max(
        seq
        for commit in world.log()
        for seq, event in commit.numbered()
        if event.type == "llm.call.dispatched"
    )


def first_of(world: World, turn_id: str) -> int:
    return min(
        seq for commit in world.log() for seq, e in commit.numbered() if e.turn_id == turn_id
    )


def last_of(world: World, turn_id: str) -> int:
    return max(
        seq for commit in world.log() for seq, e in commit.numbered() if e.turn_id == turn_id
    )
