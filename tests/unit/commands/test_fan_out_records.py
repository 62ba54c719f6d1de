"""One poisoned record of the stream: elsewhere it holds up its shard, here nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from everturn.commands.fan_out import FanOut
from everturn.commands.fan_out_records import (
    BATCH_S,
    DEPLOY_MS,
    REMEMBERED,
    Fanned,
    FanOutRecords,
)
from everturn.errors import (
    DefectError,
    NewerFormat,
    QueueUnavailable,
    StoreRefused,
    StoreUnavailable,
    StoreUnreadable,
    VersionConflict,
)
from everturn.ports.budgets import Spending
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.streams import Watcher
from everturn.session.state import Spent
from everturn.store.attributes import Item, to_item
from everturn.store.memory_directory import InMemoryWake
from everturn.store.stream import Announced
from unit.drive.doubles import NOON_MS, FrozenClock, NoQueue
from unit.drive.world import TENANT, World

SESSIONS = ("s1", "s2", "s3")
Trouble = Callable[[], Exception]


class Stream:
    """The records of a world's commits, and who reads them; some cannot be read."""

    def __init__(self, *sessions: str, wake: InMemoryWake | None = None) -> None:
        self.world = World(clock=FrozenClock())
        for session in sessions:
            self.world.submit("Hello", session=session)
            key = SessionKey(TENANT, session)
            self.world.store.add_watcher(key, Watcher(session, "sub"))
        self.world.wake.sent.clear()
        self.troubles: dict[str, Exception] = {}
        self.read: list[str] = []
        self.counted: list[Spending] = []
        self.is_busy = False
        self.now_s = 0.0
        self.read_takes_s = 0.0
        self.fan_out = FanOutRecords(
            FanOut(self.world.store, wake or self.world.wake, lambda _key: self.world.lanes),
            self.commit,
            self.world.clock,
            lambda: self.now_s,
            self.count,
        )

    def count(self, spending: Spending) -> None:
        if self.is_busy:
            raise StoreUnavailable("the figures of a budget keep changing")
        self.counted.append(spending)

    def commit(self, said: Announced) -> Logged:
        session = said.key.session
        self.read.append(session)
        self.now_s += self.read_takes_s
        if session in self.troubles:
            raise self.troubles[session]
        return self.world.store.log(said.key, 1)[said.version - 1]

    def record(self, session: str, number: int, version: int = 1, **changed: Any) -> dict[str, Any]:
        plain = {
            "pk": f"SESSION#{TENANT}#{session}",
            "sk": f"LOG#{number:012d}",
            "by": "http_api",
            "wake": "llm",
            "version": version,
            "created": f"uuid of {session}",
        }
        image: Item = to_item(plain) | changed
        change = {
            "SequenceNumber": str(number),
            "NewImage": image,
            "ApproximateCreationDateTime": self.world.clock.now / 1000,
        }
        return {"eventName": "INSERT", "dynamodb": change}

    def records(self) -> list[dict[str, Any]]:
        return [self.record(session, n) for n, session in enumerate(SESSIONS, start=1)]

    def woken(self) -> list[str]:
        return [str(sent.message["session"]) for sent in self.world.wake.sent]

    def pushed(self) -> list[str]:
        return list(dict.fromkeys(connection for connection, _ in self.world.lanes.pushed))


def spent(stream: Stream, session: str, number: int, **changed: Any) -> dict[str, Any]:
    """Return the record of a driver's commit that spent something."""
    used = {"owner": "ada", "cost": "0.02", "tokens": 100}
    plain = {"by": "driver:1", "spend": used, "commit_id": f"c{number}", "at": NOON_MS}
    return stream.record(session, number, **to_item(plain), **changed)


def test_what_a_driver_spent_is_counted_and_nobody_is_woken() -> None:
    """ADR 0035."""
    stream = Stream("s1")

    fanned = stream.fan_out([stream.record("s1", 1), spent(stream, "s1", 2)])

    assert fanned == Fanned()
    assert stream.counted == [Spending(TENANT, "ada", "c2", NOON_MS, Spent("0.02", 100))]
    assert stream.woken() == ["s1"]
    assert stream.read == ["s1"]


def test_what_cannot_be_counted_now_comes_again_and_holds_up_its_session_only() -> None:
    """ADR 0035: a record that comes again is told again; the store counts it once."""
    stream = Stream("s1", "s2")
    stream.is_busy = True
    records = [spent(stream, "s1", 1), stream.record("s2", 2)]

    busy = stream.fan_out(records)
    stream.is_busy = False
    again = stream.fan_out(records)

    assert (busy, again) == (Fanned(again="1"), Fanned())
    assert len(stream.counted) == 1
    assert stream.woken() == ["s2"]


POISON: list[Exception] = [
    StoreUnreadable("LOG#1 cannot be read"),
    StoreRefused("S3: NoSuchKey"),
    DefectError("a contradiction"),
    KeyError("type"),
]


@pytest.mark.parametrize("poison", POISON)
def test_a_record_that_nobody_can_read_does_not_hold_up_its_shard(poison: Exception) -> None:
    stream = Stream(*SESSIONS)
    stream.troubles["s2"] = poison

    fanned = stream.fan_out(stream.records())

    assert fanned == Fanned(again=None, skipped=1)
    assert stream.woken() == ["s1", "s2", "s3"]
    assert stream.pushed() == ["s1", "s3"]


@pytest.mark.parametrize(
    "changed",
    [
        {"pk": {"S": "nobody's"}},
        {"pk": {"N": "7"}},
        {"version": {"S": "one"}},
        {"created": {"NULL": True}},
        {"events": {"B": "no base64 of ours"}},
    ],
)
def test_a_record_that_is_no_commit_of_ours_does_not_hold_up_its_shard(
    changed: dict[str, Any],
) -> None:
    stream = Stream(*SESSIONS)
    first, _, last = stream.records()

    fanned = stream.fan_out([first, stream.record("s2", 2, **changed), last])

    assert fanned == Fanned(again=None, skipped=1)
    assert stream.woken() == ["s1", "s3"]


TRANSIENT: list[Exception] = [
    StoreUnavailable("throttled"),
    VersionConflict("moved on"),
    NewerFormat("a deploy is under way"),
]


@pytest.mark.parametrize("trouble", TRANSIENT)
def test_a_record_that_may_work_later_comes_again_and_the_others_have_gone_out(
    trouble: Exception,
) -> None:
    stream = Stream(*SESSIONS)
    stream.troubles["s2"] = trouble

    fanned = stream.fan_out(stream.records())

    assert fanned == Fanned(again="2", skipped=0)
    assert stream.woken() == ["s1", "s2", "s3"]
    assert stream.pushed() == ["s1", "s3"]


def test_what_comes_again_because_of_another_record_is_not_told_twice() -> None:
    stream = Stream(*SESSIONS)
    stream.troubles["s2"] = StoreUnavailable("throttled")
    records = stream.records()
    stream.fan_out(records)
    stream.troubles.clear()
    stream.read.clear()
    stream.world.lanes.pushed.clear()

    fanned = stream.fan_out(records[1:])

    assert fanned == Fanned()
    assert (stream.read, stream.pushed()) == (["s2"], ["s2"])


def test_the_order_of_a_session_is_kept_when_its_first_commit_has_to_come_again() -> None:
    stream = Stream("s1", "s2")
    stream.troubles["s1"] = StoreUnavailable("throttled")
    batch = [stream.record("s1", 1), stream.record("s2", 2), stream.record("s1", 3)]

    first = stream.fan_out(batch)
    read_first = list(stream.read)
    stream.troubles.clear()
    second = stream.fan_out(batch)

    assert (first, second) == (Fanned(again="1"), Fanned())
    assert read_first == ["s1", "s2"]
    assert stream.read[2:] == ["s1", "s1"]


def test_a_wake_up_that_cannot_be_sent_comes_again() -> None:
    stream = Stream("s1", wake=NoQueue())

    fanned = stream.fan_out([stream.record("s1", 1)])

    assert fanned == Fanned(again="1")
    assert stream.pushed() == []


class Refusing(InMemoryWake):
    """Says that one session's message is malformed."""

    def now(self, key: SessionKey, created: str, step: str, version: int, dedup: str) -> None:
        if key.session == "s1":
            raise DefectError("wake-up refused: InvalidMessageContents")
        if key.session == "s2":
            raise QueueUnavailable("wake-up: ThrottlingException")
        super().now(key, created, step, version, dedup)


def test_a_wake_up_that_is_refused_is_left_to_the_sweep() -> None:
    wake = Refusing()
    stream = Stream(*SESSIONS, wake=wake)

    fanned = stream.fan_out(stream.records())

    assert fanned == Fanned(again="2", skipped=1)
    assert [sent.message["session"] for sent in wake.sent] == ["s3"]


def test_a_deploy_that_was_taken_back_does_not_hold_up_a_shard_for_ever() -> None:
    stream = Stream(*SESSIONS)
    stream.troubles["s1"] = NewerFormat("written by a later version")
    records = stream.records()

    during = stream.fan_out(records)
    stream.world.clock.move(DEPLOY_MS)
    after = stream.fan_out(records)

    assert (during, after) == (Fanned(again="1"), Fanned(skipped=1))


def test_a_slow_batch_ends_before_the_function_does_and_the_rest_comes_again() -> None:
    stream = Stream(*SESSIONS)
    stream.read_takes_s = 0.6 * BATCH_S

    first = stream.fan_out(stream.records())
    second = stream.fan_out(stream.records())

    assert (first, second) == (Fanned(again="3"), Fanned())
    assert stream.pushed() == ["s1", "s2", "s3"]


def test_what_is_no_commit_is_none_of_its_business() -> None:
    stream = Stream("s1")
    record = stream.record("s1", 1)
    removed = {**record, "eventName": "REMOVE"}
    head = stream.record("s1", 2, sk={"S": "HEAD"})
    gone = {"eventName": "REMOVE", "dynamodb": {"SequenceNumber": "3"}}
    drivers = stream.record("s1", 4, by={"S": "driver:1"})

    fanned = stream.fan_out([removed, head, gone, drivers])

    assert fanned == Fanned()
    assert (stream.woken(), stream.read) == ([], [])


def test_without_a_reader_the_events_of_a_commit_are_not_even_read() -> None:
    stream = Stream("s1")
    stream.world.store.remove_watcher(SessionKey(TENANT, "s1"), "s1")
    stream.troubles["s1"] = StoreUnreadable("LOG#1 cannot be read")

    fanned = stream.fan_out([stream.record("s1", 1)])

    assert (fanned, stream.woken(), stream.read) == (Fanned(), ["s1"], [])


def test_a_process_remembers_so_many_records_and_no_more() -> None:
    stream = Stream("s1")
    many = [stream.record("s1", n, wake={"S": "llm"}) for n in range(1, REMEMBERED + 2)]
    stream.world.store.remove_watcher(SessionKey(TENANT, "s1"), "s1")
    sent: list[int] = []
    stream.world.wake.now = lambda *_told: sent.append(1)  # type: ignore[method-assign]  # counts

    stream.fan_out(many)
    stream.fan_out([many[-1]])
    stream.fan_out([many[0]])

    assert len(sent) == REMEMBERED + 2
    assert stream.world.clock.now == NOON_MS
