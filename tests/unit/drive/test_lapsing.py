"""A reader whose token is over is shown nothing more, and its connection is closed."""

from __future__ import annotations

import pytest

from everturn.commands.fan_out import FanOut
from everturn.ports.streams import Watch, Watcher
from everturn.push.frames import EventPush
from everturn.push.lane import LaneEnd
from everturn.push.lanes import Lanes
from everturn.push.outcome import PushOutcome, Sent
from unit.drive.doubles import NOON_MS
from unit.drive.test_stream import Case, completed, logged
from unit.drive.world import KEY, World

NOON_S = NOON_MS // 1000
ENDS = Watcher("c1", "sub", "", NOON_S + 1)
LASTS = Watcher("c2", "sub")
BOTH = Watch((ENDS, LASTS))

# ---- a driver's stream


@pytest.mark.parametrize(("later_ms", "sees"), [(999, True), (1_000, False)])
def test_a_piece_is_shown_until_the_token_is_over(later_ms: int, sees: bool) -> None:
    case = Case(BOTH)
    case.clock.move(later_ms)

    case.says("Hello")

    assert case.lanes.said("c1") == ("Hello" if sees else "")
    assert case.lanes.said("c2") == "Hello"
    assert set(case.lanes.expired) == (set() if sees else {"c1"})


def test_a_commit_is_not_shown_to_whom_it_does_not_concern_any_more() -> None:
    case = Case(BOTH)
    case.clock.move(1_000)

    case.stream.commit(logged(completed()))

    assert (case.lanes.seqs("c1"), case.lanes.seqs("c2")) == ([], [15])
    assert case.lanes.expired == ["c1"]


def test_a_connection_is_closed_though_nothing_happens() -> None:
    case = Case(BOTH)
    case.clock.move(1_000)

    case.stream.watched_by(BOTH)

    assert case.lanes.expired == ["c1"]


def test_nothing_is_written_for_a_reader_who_may_not_read_it() -> None:
    case = Case(Watch((ENDS,)))
    case.clock.move(1_000)

    case.says("Hello")

    assert case.kept() == []
    assert case.lanes.pushed == []


def test_a_token_that_was_renewed_goes_on_where_it_was() -> None:
    case = Case(BOTH)
    case.says("one ")
    case.clock.move(900)
    case.stream.watched_by(Watch((Watcher("c1", "sub", "", NOON_S + 100), LASTS)))
    case.clock.move(900)

    case.says("two")
    case.stream.tick()

    assert [push.delta.text for push in case.pushes("c1")] == ["one ", "one ", "two"]
    assert case.lanes.expired == []


# ---- fan-out


def test_fan_out_sends_away_whose_token_is_over() -> None:
    world = World()
    world.submit("Hello")
    for watcher in (ENDS, LASTS):
        world.store.add_watcher(KEY, watcher)
    late = FanOut(world.store, world.wake, lambda _key: world.lanes, lambda: NOON_MS + 1_000)
    early = FanOut(world.store, world.wake, lambda _key: world.lanes, lambda: NOON_MS + 999)

    late(KEY, world.log()[0])
    seen_late = (world.lanes.seqs("c1"), world.lanes.seqs("c2"))
    expired = list(world.lanes.expired)
    early(KEY, world.log()[0])

    everything = list(range(1, world.head().session.seq + 1))
    assert seen_late == ([], everything)
    assert (expired, world.lanes.expired) == (["c1"], ["c1"])
    assert world.lanes.seqs("c1") == everything


def test_fan_out_reads_no_body_for_nobody() -> None:
    world = World()
    world.submit("Hello")
    world.store.add_watcher(KEY, ENDS)
    commit = world.log()[0]
    fan_out = FanOut(world.store, world.wake, lambda _key: world.lanes, lambda: NOON_MS + 1_000)

    fan_out.told(KEY, commit, lambda: pytest.fail("nobody wants to see it"))

    assert world.lanes.expired == ["c1"]


# ---- lanes


def test_a_lane_that_is_over_drops_what_waits_and_says_so_once() -> None:
    ends: list[tuple[str, LaneEnd]] = []
    posted: list[str] = []

    def post(connection_id: str, _frame: bytes) -> PushOutcome:
        posted.append(connection_id)
        return Sent()

    lanes = Lanes(post, on_end=lambda connection_id, why: ends.append((connection_id, why)))
    push = EventPush("sub", "s1", 1, 0, "1.0-0", {"payload": {"type": "message.new"}})

    for _ in range(3):
        lanes.expire("c1")
    taken = lanes.push("c1", push)
    others = lanes.push("c2", push)
    assert lanes.flush(5)
    lanes.close()
    lanes.expire("c3")

    assert (taken, others) == (False, True)
    assert ends == [("c1", LaneEnd.EXPIRED)]
    assert posted == ["c2"]
