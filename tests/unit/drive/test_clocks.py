"""F14: clocks that disagree change no order; a session's sequence is the only one there is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from everturn.commands.read_events import ReadEvents
from everturn.drive.effects import Body, Effects, Mail
from everturn.drive.lease import Lease
from everturn.errors import LeaseLost
from everturn.ports.clock import Clock
from everturn.ports.streams import Watcher
from everturn.protocol.events import to_rfc3339
from everturn.push.envelopes import Cursor, read_cursor
from everturn.push.frames import DeltaPush
from unit.drive.doubles import NOON_MS, FrozenClock, SteppingClock, lease, says
from unit.drive.world import KEY, MACHINE, World

APART_MS = 5_000


class RunningClock(SteppingClock):
    """A clock that goes on while its machine works, and is off by so much."""

    def __init__(self, wrong_ms: int) -> None:
        super().__init__(step_ms=1)
        self.now = NOON_MS + wrong_ms


def drivers() -> tuple[Clock, Clock]:
    """Return the clocks of two machines; the second one is behind."""
    return RunningClock(APART_MS), RunningClock(0)


def test_a_clock_that_is_behind_a_timer_counts_on_from_it() -> None:
    """Architecture 4: a firing proves its due time, and time goes on after it.

    The attempt that the timer ends is followed by another one, two seconds later.
    """
    world, ahead_ms = World(clock=FrozenClock()), 3 * 86_400_000
    policy = {
        "timeout_secs": 60,
        "max_retries": 2,
        "backoff_base_secs": 2,
        "backoff_max_secs": 2,
    }
    world.script(says("there"), retry=policy)
    world.submit("Hello")
    due = to_rfc3339(NOON_MS + ahead_ms)
    message = world.last_wake().model_copy(update={"due": due})

    world.advance(message, new_effects=lambda body: WaitingEffects(body, world.clock))

    asked, *_, ended = world.log()
    assert asked.at_ms == NOON_MS
    assert ended.at_ms == NOON_MS + ahead_ms + 2_000
    assert world.clock.now_ms() == NOON_MS + 2_000


class WaitingEffects(Effects):
    """Effects whose waiting moves the clock; what runs is over at once."""

    def __init__(self, body: Body, clock: FrozenClock) -> None:
        super().__init__(body)
        self._clock = clock

    def spawn(self, run: Callable[[], None], name: str) -> None:
        """Run it here and now."""
        del name
        run()

    def next(self, timeout_s: float) -> Mail | None:
        """Return the next mail; waiting for none takes its time."""
        if self.mailbox.empty():
            self._clock.sleep(timeout_s)
            return None
        return self.mailbox.get_nowait()


def times(world: World) -> list[int]:
    """Return when each commit says that it was made, in the order of the log."""
    return [commit.at_ms for commit in world.log()]


def pieces(world: World) -> list[tuple[int, int]]:
    """Return the places of the pieces of answers, in the order they were pushed."""
    pushed = [push for _, push in world.lanes.pushed if isinstance(push, DeltaPush)]
    places = [read_cursor(push.cursor) for push in pushed]
    return [(one.dispatch_seq, one.n) for one in places]


def test_f14_turns_written_by_clocks_five_seconds_apart_stand_in_the_order_they_were_made() -> None:
    world = World()
    fast, slow = drivers()

    for number, clock in enumerate((fast, slow, fast, slow), start=1):
        world.submit(f"[[say:answer {number}]]", turn=f"t{number}")
        world.advance(request_id=f"r{number}", clock=clock)

    assert [text for role, text in world.texts() if role == "assistant"] == [
        f"answer {number}" for number in (1, 2, 3, 4)
    ]
    assert times(world) != sorted(times(world))
    seqs = [seq for commit in world.log() for seq, _ in commit.numbered()]
    assert seqs == [*range(1, world.head().session.seq + 1)]
    assert [commit.version for commit in world.log()] == sorted(c.version for c in world.log())


def test_f14_a_reader_is_pushed_one_unbroken_chain_by_drivers_whose_clocks_disagree() -> None:
    world = World()
    world.store.add_watcher(KEY, Watcher("c1", "sub"))
    world.script(says("one two"), says("three four"), says("five six"))

    for number, clock in enumerate((*drivers(), RunningClock(-APART_MS)), start=1):
        world.submit("Hello", turn=f"t{number}")
        world.advance(request_id=f"r{number}", clock=clock)

    places = [read_cursor(push.cursor) for _, push in world.lanes.pushed]
    deltas = pieces(world)
    assert world.lanes.seqs() == [*range(1, world.head().session.seq + 1)]
    assert deltas == sorted(set(deltas))
    assert all(before.seq <= after.seq for before, after in pairwise(places))
    assert world.lanes.said() == "one two three four five six "


@pytest.mark.parametrize("behind_ms", [-APART_MS, APART_MS])
def test_f14_a_driver_whose_clock_is_off_takes_over_and_readers_see_one_order(
    behind_ms: int,
) -> None:
    world = World()
    world.store.add_watcher(KEY, Watcher("c1", "sub"))
    dying = _LosesItsLease()
    model = world.script(says("half an ans"), says("the whole answer"))
    world.submit("Hello")
    message = world.last_wake()
    model.between = dying.lose
    with pytest.raises(LeaseLost):
        world.advance(message, held=dying.lease, clock=RunningClock(0))
    model.between = lambda: None

    world.advance(message, request_id="r2", received=2, clock=RunningClock(-behind_ms))

    assert world.texts()[-1] == ("assistant", "the whole answer ")
    attempts = [e.attempt for c in world.log() for e in c.events if e.type == "llm.call.dispatched"]
    assert attempts == [1, 2]
    deltas = pieces(world)
    assert deltas == sorted(set(deltas))
    assert len({dispatch for dispatch, _ in deltas}) == 2
    seqs = world.lanes.seqs()
    assert [*dict.fromkeys(seqs)] == [*range(1, world.head().session.seq + 1)]


class _LosesItsLease:
    """A lease that somebody else gets while the model speaks."""

    def __init__(self) -> None:
        self.lease: Lease = lease()

    def lose(self) -> None:
        self.lease.lost.set()


@pytest.mark.parametrize("reader_ms", [-APART_MS, APART_MS])
def test_f14_a_long_poll_reader_whose_clock_is_off_still_has_deltas_written(
    reader_ms: int,
) -> None:
    world = World()
    model = world.script(says("one two three"))
    world.submit("Hello")
    clock = RunningClock(reader_ms)
    reader = ReadEvents(world.store, clock, lambda s: clock.move(round(s * 1000)))
    cursor = Cursor(world.head().session.seq)
    asked: list[int] = []

    def ask_once() -> None:
        if not asked:
            asked.append(len(reader.stream(MACHINE, "s1", cursor, None).frames))

    model.between = ask_once

    world.advance(clock=RunningClock(0))

    kept = world.store.deltas(KEY, 0, 0, 100)
    assert asked == [0]
    assert "".join(one.body["text"] for one in kept) == "one two three "
