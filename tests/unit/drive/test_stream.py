"""Storage-and-commits, "Streams": what readers get while a driver works, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.drive.stream import Stream
from everturn.errors import StoreUnavailable
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.protocol.llm import StreamDelta
from everturn.push.frames import DeltaPush, EventPush
from everturn.session.events.model_calls import ModelCallCompleted, ModelCallErrored
from everturn.session.events.sessions import TurnStalled
from everturn.session.events.stored import Event
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import FrozenClock, RecordingLanes
from unit.drive.world import KEY

READER = Watch((Watcher("c1", "sub"),))
LATER = Watch((Watcher("c1", "sub"), Watcher("c2", "sub")))


class OrderedStore(InMemorySessionStore):
    """Notes when a delta is written, among what is pushed."""

    def __init__(self, lanes: RecordingLanes) -> None:
        super().__init__()
        self._lanes = lanes
        self.pushed_before: list[int] = []
        self.fails = False
        self.takes_ms = 0
        self.clock = FrozenClock()

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        self.pushed_before.append(len(self._lanes.pushed))
        self.clock.move(self.takes_ms)
        if self.fails:
            raise StoreUnavailable("no")
        super().put_delta(key, delta, expires_epoch_s)


class Case:
    """A stream with its surroundings; its call is `call/1` of dispatch 13."""

    def __init__(self, watch: Watch = Watch()) -> None:  # noqa: B008  # frozen
        self.lanes = RecordingLanes()
        self.store = OrderedStore(self.lanes)
        self.clock = self.store.clock
        self.stream = Stream(KEY, self.store, self.lanes, self.clock.now_ms)
        self.stream.watched_by(watch)
        self.stream.begin(13, "call", 1, "t1", "helper")

    def says(self, text: str) -> None:
        self.stream.delta("call", 1, StreamDelta(text=text))

    def kept(self) -> list[tuple[int, int, Any]]:
        deltas = self.store.deltas(KEY, 0, 0, 100)
        return [(one.dispatch_seq, one.n, one.body.get("text")) for one in deltas]

    def pushes(self, connection_id: str) -> list[Any]:
        return [push for connection, push in self.lanes.pushed if connection == connection_id]


def logged(*events: Event, first_seq: int = 15, by: str = "driver:1") -> Logged:
    last_seq = first_seq + len(events) - 1
    return Logged(first_seq, last_seq, "id", 0, by, 2, "created", events)


def completed() -> ModelCallCompleted:
    return ModelCallCompleted(turn_id="t1", id="call", attempt=1, message={"role": "assistant"})


def test_a_delta_is_written_before_it_is_pushed_when_somebody_reads() -> None:
    case = Case(READER)

    case.says("Hello")

    assert case.store.pushed_before == [0]
    assert case.kept() == [(13, 1, "Hello")]
    assert [(p.cursor, p.seq, p.delta.text) for p in case.pushes("c1")] == [("0.13-1", 1, "Hello")]


def test_a_delta_that_cannot_be_written_is_pushed_all_the_same() -> None:
    case = Case(READER)
    case.store.fails = True

    case.says("Hello")

    assert case.lanes.said() == "Hello"


def test_deltas_are_held_back_while_nobody_reads() -> None:
    case = Case()

    case.says("Hello ")
    case.says("world")
    case.stream.tick()

    assert case.stream.due_in_s() is None
    assert case.kept() == []
    assert case.lanes.pushed == []


def test_a_newly_seen_reader_gets_what_was_held_back() -> None:
    case = Case()
    case.says("Hello ")
    case.says("world")

    case.stream.watched_by(READER)

    assert case.kept() == [(13, 1, "Hello world")]
    assert case.lanes.said() == "Hello world"


def test_a_long_poll_reader_has_deltas_written_though_nobody_is_pushed() -> None:
    case = Case()
    case.says("Hello")

    case.stream.watched_by(Watch(reader_until_ms=case.clock.now + 1))

    assert case.kept() == [(13, 1, "Hello")]
    assert case.lanes.pushed == []


def test_deltas_after_the_first_wait_for_their_interval_and_go_out_as_one() -> None:
    case = Case(READER)
    case.says("a")
    case.says("b")
    case.says("c")

    before = case.stream.due_in_s()
    case.stream.tick()
    held = case.lanes.said()
    case.clock.move(250)
    case.stream.tick()

    assert (before, held) == (0.25, "a")
    assert case.kept() == [(13, 1, "a"), (13, 2, "bc")]
    assert case.lanes.said() == "abc"


def test_recent_deltas_are_repeated_to_a_subscription_that_is_new_to_the_driver() -> None:
    case = Case(READER)
    case.says("old ")
    case.clock.move(3_001)
    case.says("fresh")

    case.stream.watched_by(LATER)

    assert case.lanes.said("c1") == "old fresh"
    assert case.lanes.said("c2") == "fresh"


@pytest.mark.parametrize(("age_ms", "repeated"), [(2_999, "a"), (3_000, "a"), (3_001, "")])
def test_what_counts_as_recent_is_decided_when_the_next_delta_comes(
    age_ms: int, repeated: str
) -> None:
    case = Case(READER)
    case.says("a")
    case.clock.move(age_ms)
    case.says("b")

    case.stream.watched_by(LATER)

    assert case.lanes.said("c2") == f"{repeated}b"


def test_a_slow_store_makes_pieces_larger_and_not_one_write_a_word() -> None:
    case = Case(READER)
    case.store.takes_ms = 3_000
    for n in range(20):
        case.says(f"{n} ")
        case.clock.move(50)  # the model is not slow

    case.stream.tick()

    assert case.lanes.said() == "".join(f"{n} " for n in range(20))
    assert [text for _, _, text in case.kept()][:2] == ["0 ", "1 2 3 4 5 "]
    assert len(case.kept()) == 5


def test_a_commit_is_pushed_behind_what_was_streamed_before_it() -> None:
    case = Case(READER)
    case.says("a")
    case.says("b")

    case.stream.commit(logged(completed()))

    kinds = ["delta" if isinstance(p, DeltaPush) else p.cursor for p in case.pushes("c1")]
    assert kinds == ["delta", "delta", "15.13-2"]


def test_the_last_words_are_kept_before_the_end_of_their_call() -> None:
    """A client that polled between the two heard `echo: ` of `echo: Hello over there`."""
    case = Case(READER)
    case.says("a")
    case.says("b")
    case.says("c")

    case.stream.drain("call", 2)
    early = case.kept()
    case.stream.drain("call", 1)

    assert early == [(13, 1, "a")]
    assert case.kept() == [(13, 1, "a"), (13, 2, "bc")]


def test_nothing_is_kept_at_the_end_of_a_call_that_nobody_reads() -> None:
    case = Case()
    case.says("a")

    case.stream.drain("call", 1)

    assert case.kept() == []


def test_each_event_names_the_one_before_it() -> None:
    case = Case(READER)

    case.stream.commit(logged(TurnStalled(turn_id="t1"), TurnStalled(turn_id="t1")))
    case.stream.commit(logged(TurnStalled(turn_id="t1"), first_seq=17))

    chain = [(p.prev_seq, p.seq) for p in case.pushes("c1") if isinstance(p, EventPush)]
    assert chain == [(14, 15), (15, 16), (16, 17)]


@pytest.mark.parametrize(
    "end",
    [completed(), ModelCallErrored(id="call", attempt=1, error="x", retryable=True)],
    ids=lambda event: event.type,
)
def test_nothing_of_an_ended_call_is_shown_to_a_reader_who_comes_later(end: Event) -> None:
    unread, read = Case(), Case(READER)
    for case in (unread, read):
        case.says("said")
        case.stream.commit(logged(end))
        case.says(" too late")

    unread.stream.watched_by(READER)
    read.stream.watched_by(LATER)

    assert unread.lanes.said("c1") == ""
    assert read.lanes.said("c2") == ""


def test_the_end_of_another_attempt_changes_nothing() -> None:
    case = Case(READER)
    case.says("a")

    case.stream.commit(logged(ModelCallErrored(id="call", attempt=2, error="x", retryable=True)))
    case.stream.watched_by(LATER)

    assert case.lanes.said("c2") == "a"


def test_a_replaced_attempt_is_not_listened_to() -> None:
    case = Case(READER)

    case.stream.begin(19, "call", 2, "t1", "helper")
    case.says("from attempt 1")
    case.stream.delta("call", 2, StreamDelta(text="from attempt 2"))

    assert case.kept() == [(19, 1, "from attempt 2")]


def test_a_subscription_to_another_turn_gets_neither_deltas_nor_events() -> None:
    case = Case(Watch((Watcher("c1", "sub", "t2"), Watcher("c2", "sub", "t1"))))

    case.says("a")
    case.stream.commit(logged(TurnStalled(turn_id="t1")))

    (skipped,) = case.pushes("c1")
    assert isinstance(skipped, EventPush)
    assert skipped.envelope is None
    assert len(case.pushes("c2")) == 2


def test_thoughts_and_words_that_were_held_back_together_go_out_apart() -> None:
    case = Case()
    case.stream.delta("call", 1, StreamDelta(reasoning="Hm"))
    case.stream.delta("call", 1, StreamDelta(text="Hi", finish_reason="stop"))

    case.stream.watched_by(READER)

    kept = [(one.n, one.body) for one in case.store.deltas(KEY, 0, 0, 100)]
    assert kept == [(1, {"reasoning": "Hm"}), (2, {"text": "Hi", "finish_reason": "stop"})]
