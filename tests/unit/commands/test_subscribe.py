"""Storage-and-commits, "Streams": a subscription begins without a gap and without a repeat."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.subscribe import FIRST, Subscribe
from everturn.ports.callers import Caller, Who
from everturn.ports.sessions import Head, SessionKey, TurnRecord
from everturn.ports.streams import Watcher
from everturn.push.envelopes import Cursor
from everturn.rejections import UnknownSession
from everturn.store.memory import InMemorySessionStore
from unit.commands.reading import delta, dispatch_seq, events_of, two_turns
from unit.drive.world import KEY, MACHINE, TENANT, World

# ---- subscriptions


class Client:
    """A connection that keeps its frames, and may go after some of them."""

    def __init__(self, gone_after: int = 1_000) -> None:
        self.frames: list[dict[str, Any]] = []
        self._gone_after = gone_after

    def send(self, frame: dict[str, Any]) -> bool:
        self.frames.append(frame)
        return len(self.frames) < self._gone_after

    def types(self) -> list[str]:
        return [frame["type"] for frame in self.frames]


def subscribed(
    world: World,
    after: Cursor = FIRST,
    turn: str | None = None,
    gone_after: int = 1_000,
    caller: Caller = MACHINE,
) -> Client:
    world.directory.put_connection("c1", caller, 0)
    client = Client(gone_after)
    subscribe = Subscribe(world.store, world.directory, events_of(world))
    subscribe(caller, "c1", "sub", "s1", after, turn, client.send)
    return client


def test_what_is_committed_while_a_subscription_begins_is_not_missed() -> None:
    class Racing(InMemorySessionStore):
        """Finishes the turn when the replay is over and nobody watches yet."""

        def add_watcher(self, key: SessionKey, watcher: Watcher, created: str = "") -> None:
            world.advance()
            super().add_watcher(key, watcher, created)

    world = two_turns(Racing())

    client = subscribed(world)

    seqs = [frame["seq"] for frame in client.frames if frame["type"] == "event"]
    assert seqs == list(range(1, world.head().session.seq + 1))
    assert world.lanes.seqs("c1") == []
    connection = world.directory.connection("c1")
    assert connection is not None
    assert connection.sessions == (("s1", "sub"),)


def test_a_subscription_that_ends_while_it_begins_leaves_no_watcher() -> None:
    world = two_turns()
    world.directory.put_connection("c1", MACHINE, 0)
    subscribe = Subscribe(world.store, world.directory, events_of(world))

    def end_at_once(frame: dict[str, Any]) -> bool:
        if frame["type"] == "subscribed":
            subscribe.end(MACHINE, "c1", "sub")
        return True

    subscribe(MACHINE, "c1", "sub", "s1", FIRST, None, end_at_once)

    assert world.store.watch(KEY).watchers == ()


def test_who_has_more_to_read_does_not_watch_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    world = two_turns()
    monkeypatch.setattr("everturn.commands.read_events.PAGE_EVENTS", 3)

    subscribed(world)

    assert world.store.watch(KEY).watchers == ()


def test_a_subscription_replays_events_in_a_chain_then_the_pieces_in_flight() -> None:
    world = two_turns()
    seq = world.head().session.seq
    delta(world, 1, "a")

    client = subscribed(world, Cursor(seq - 2))

    assert client.types() == ["subscribed", "event", "event", "delta"]
    assert client.frames[0] == {"type": "subscribed", "id": "sub", "session_id": "s1", "seq": seq}
    chain = [(frame["prev_seq"], frame["seq"]) for frame in client.frames[1:3]]
    assert chain == [(seq - 2, seq - 1), (seq - 1, seq)]
    assert client.frames[3]["cursor"] == f"{seq}.{dispatch_seq(world)}-1"


def test_a_subscription_to_a_turn_has_a_chain_of_its_own() -> None:
    world = two_turns()
    delta(world, 1, "a")

    first, second = subscribed(world, turn="t1"), subscribed(world, turn="t2")

    began = {
        event.turn_id: seq
        for commit in world.store.log(KEY, 1)
        for seq, event in commit.numbered()
        if event.type == "turn.started"
    }
    for client, turn_id in ((first, "t1"), (second, "t2")):
        events = [frame for frame in client.frames if frame["type"] == "event"]
        assert {frame["event"]["turn_id"] for frame in events} == {turn_id}
        seqs = [frame["seq"] for frame in events]
        assert [frame["prev_seq"] for frame in events] == [began[turn_id] - 1, *seqs[:-1]]
    assert "delta" not in first.types()
    assert "delta" in second.types()
    assert "more" not in [*first.types(), *second.types()]


def test_a_replay_ends_with_what_is_not_for_its_reader() -> None:
    """What is pushed next hangs on the last event, though another turn's is not shown."""
    world = two_turns()
    seq = world.head().session.seq

    frames = subscribed(world, turn="t1").frames

    *_, last, skipped = frames
    assert last["event"]["payload"]["type"] == "session.done"
    assert skipped == {
        "type": "skipped",
        "id": "sub",
        "session_id": "s1",
        "cursor": f"{seq}.{last['cursor'].partition('.')[2]}",
        "seq": seq,
        "prev_seq": last["seq"],
    }


def test_a_replay_that_is_too_long_says_where_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = two_turns()
    monkeypatch.setattr("everturn.commands.read_events.PAGE_EVENTS", 3)

    client = subscribed(world)

    assert client.types() == ["subscribed", "event", "event", "event", "more"]
    assert client.frames[-1]["cursor"] == "3.0-0"


@pytest.mark.parametrize("gone_after", [1, 3])
def test_a_connection_that_goes_is_told_no_more(gone_after: int) -> None:
    assert len(subscribed(two_turns(), gone_after=gone_after).frames) == gone_after


def test_a_connection_that_goes_in_the_second_replay_is_not_told_what_it_skipped() -> None:
    class Speaking(InMemorySessionStore):
        """Streams a piece when the first replay is over and nobody watches yet."""

        def add_watcher(self, key: SessionKey, watcher: Watcher, created: str = "") -> None:
            delta(world, 1, "a")
            super().add_watcher(key, watcher, created)

    token = Caller(TENANT, Who.FRONTEND)
    told: list[list[str]] = []
    for gone_after in (1_000, 2):
        world = two_turns(Speaking())
        after = Cursor(world.head().session.seq - 1)
        told.append(subscribed(world, after, gone_after=gone_after, caller=token).types())

    assert told == [["subscribed", "delta", "skipped"], ["subscribed", "delta"]]


class Deleted(InMemorySessionStore):
    """Loses its session after so many looks."""

    looks = 0

    def head(self, key: SessionKey) -> Head | None:
        self.looks -= 1
        return super().head(key) if self.looks >= 0 else None


@pytest.mark.parametrize("looks", [0, 1])
def test_a_session_that_is_not_there_cannot_be_subscribed_to(looks: int) -> None:
    store = Deleted()
    store.looks = 1_000
    world = two_turns(store)
    store.looks = looks

    with pytest.raises(UnknownSession):
        subscribed(world)


def test_subscriptions_end_one_by_one_or_with_their_connection() -> None:
    world = two_turns()
    subscribed(world)
    subscribe = Subscribe(world.store, world.directory, events_of(world))
    subscribe(MACHINE, "c1", "sub2", "s1", FIRST, None, lambda _frame: True)

    subscribe.end(MACHINE, "c1", "unknown")
    both = world.store.watch(KEY).watchers
    subscribe.end(MACHINE, "c1", "sub")
    one = world.store.watch(KEY).watchers
    subscribe.disconnect("c1")
    subscribe.disconnect("c1")

    assert [len(both), one] == [2, (Watcher("c1", "sub2"),)]
    assert world.store.watch(KEY).watchers == ()
    assert world.directory.connection("c1") is None


def test_a_connection_that_goes_while_a_subscription_begins_leaves_no_watcher() -> None:
    class Racing(InMemorySessionStore):
        """Has a subscription begin when those that were there have been removed."""

        def remove_watcher(
            self, key: SessionKey, connection_id: str, subscription: str = ""
        ) -> None:
            super().remove_watcher(key, connection_id, subscription)
            if not subscription and not raced:
                raced.append(connection_id)
                subscribe(MACHINE, "c1", "sub", "s1", FIRST, None, lambda _frame: True)

    raced: list[str] = []
    store = Racing()
    world = two_turns(store)
    world.store.add_watcher(KEY, Watcher("c2", "other"))
    world.directory.put_connection("c1", MACHINE, 0)
    subscribe = Subscribe(world.store, world.directory, events_of(world))
    subscribe(MACHINE, "c1", "sub0", "s1", FIRST, None, lambda _frame: True)

    subscribe.disconnect("c1")

    assert raced == ["c1"]
    assert world.store.watch(KEY).watchers == (Watcher("c2", "other"),)


def test_a_subscription_to_an_alias_watches_the_turn_that_it_stands_for() -> None:
    class Aliasing(InMemorySessionStore):
        """Knows `other` as another name of `t2`."""

        def head_and_turn(
            self, key: SessionKey, turn_id: str
        ) -> tuple[Head | None, TurnRecord | None]:
            if turn_id == "other":
                return self.head(key), TurnRecord(turn_id, alias_of="t2")
            return super().head_and_turn(key, turn_id)

    world = two_turns(Aliasing())

    client = subscribed(world, turn="other")

    events = [frame["event"] for frame in client.frames if frame["type"] == "event"]
    assert {event["turn_id"] for event in events} == {"t2"}
    assert world.store.watch(KEY).watchers == (Watcher("c1", "sub", "t2"),)


def test_a_connection_that_was_never_recorded_ends_nothing() -> None:
    world = two_turns()

    Subscribe(world.store, world.directory, events_of(world)).end(MACHINE, "c9", "sub")

    assert world.store.watch(KEY).watchers == ()
