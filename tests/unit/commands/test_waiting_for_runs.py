"""Agent-runs, "The stream": how long an answer waits, for what, and how much it holds."""

from __future__ import annotations

import pytest

from everturn.commands.read_events import POLL_S
from everturn.commands.read_run import GATHER_S, OVER_S, RunStreamed
from everturn.errors import StoreUnavailable
from everturn.ports.sessions import Head, Logged, SessionKey, TurnRecord
from everturn.ports.streams import Watch
from everturn.store.memory import InMemorySessionStore
from unit.commands.running import RunCase, Sleeper, types
from unit.drive.world import MACHINE, TENANT


def last(case: RunCase, run_id: str) -> int:
    """Return the cursor of a client that knows all there is."""
    return case.frames(run_id)[-1].seq


def test_what_is_there_already_is_answered_at_once() -> None:
    case = RunCase()
    run = case.start("Hello")
    began = case.world.clock.now

    streamed = case.read().stream(MACHINE, run, 0)

    assert types(streamed) == ["started"]
    assert streamed.frames[0].data == {"runId": run, "sessionId": case.key.session}
    assert case.world.clock.now == began


def test_a_reader_waits_and_is_known_as_one_meanwhile() -> None:
    case = RunCase()
    run = case.start("Hello")
    began = case.world.clock.now

    streamed = case.read(wait_s=20).stream(MACHINE, run, last(case, run))

    assert streamed == RunStreamed()
    assert case.world.clock.now == began + 20_000
    assert case.store.watch(case.key) == Watch(reader_until_ms=began + 20_000 + 5_000)


def test_a_first_frame_is_waited_for_and_others_may_join_it() -> None:
    case = RunCase()
    run = case.start("Hello")
    sleep = Sleeper(
        case.world.clock, at2=lambda: case.says(1, "He"), at3=lambda: case.says(2, "llo")
    )

    streamed = case.read(sleep).stream(MACHINE, run, last(case, run))

    assert [frame.data["text"] for frame in streamed.frames] == ["He", "llo"]
    assert sleep.slept == [POLL_S, POLL_S, GATHER_S]


def test_a_tool_of_the_client_is_asked_for_at_once() -> None:
    case = RunCase()
    run = case.start('[[call:ask {"message": "PTO?"}]][[turn]][[say:ok]]')
    sleep = Sleeper(case.world.clock, at1=case.world.advance)

    streamed = case.read(sleep).stream(MACHINE, run, last(case, run))

    assert types(streamed)[-2:] == ["assistant_message", "local_tool_call"]
    asked = streamed.frames[-1].data
    assert (asked["kind"], asked["agentCard"]) == ("a2a_local", {"name": "HR"})
    assert (asked["name"], asked["args"]) == ("ask", {"message": "PTO?"})
    assert sleep.slept == [POLL_S]


def test_the_end_of_a_run_is_told_at_once() -> None:
    case = RunCase()
    run = case.start("[[say:Hi]]")
    sleep = Sleeper(case.world.clock, at1=case.world.advance)

    streamed = case.read(sleep).stream(MACHINE, run, last(case, run))

    assert types(streamed)[-2:] == ["assistant_message", "result"]
    assert sleep.slept == [POLL_S]


def test_who_has_seen_the_end_waits_a_little_for_nothing() -> None:
    case = RunCase()
    run = case.start("[[say:Hi]]")
    case.world.advance()
    end = case.all_frames(run)[-1].seq
    sleep = Sleeper(case.world.clock)

    streamed = case.read(sleep, wait_s=25).stream(MACHINE, run, end)

    assert streamed == RunStreamed()
    assert sleep.slept == [OVER_S]
    assert case.frames(run, 10**17) == ()


def test_a_run_that_waits_in_the_inbox_is_waited_for() -> None:
    case = RunCase()
    case.start("[[say:one]]")
    run = case.start("[[say:two]]", session=case.key.session)
    before = case.frames(run)

    case.world.advance()
    case.world.advance()

    assert before == ()
    assert types(case.all_frames(run))[-1] == "result"


def test_an_answer_holds_so_much_and_a_single_larger_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = RunCase()
    run = case.start("Hello")
    for n, text in enumerate(["a" * 300, "b" * 300, "c" * 2_000, "d"], start=1):
        case.says(n, text)
    monkeypatch.setattr("everturn.commands.run_reading.PAGE_BYTES", 1_600)
    answers = []

    after = 0
    while frames := case.frames(run, after):
        answers.append([frame.data.get("text", "")[:1] for frame in frames])
        after = frames[-1].seq

    assert answers == [["", "a"], ["b"], ["c"], ["d"]]


class Busy(InMemorySessionStore):
    """Fails at some times to read a head, or to note a reader."""

    def __init__(self, reads: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.fails = reads
        self.reads = 0
        self.notes = 0

    def head_and_turn(self, key: SessionKey, turn_id: str) -> tuple[Head | None, TurnRecord | None]:
        self.reads += 1
        if self.reads in self.fails:
            raise StoreUnavailable("throttled")
        return super().head_and_turn(key, turn_id)

    def reader_until(self, key: SessionKey, until_ms: int, created: str = "") -> None:
        self.notes -= 1
        if self.notes >= 0:
            raise StoreUnavailable("throttled")
        super().reader_until(key, until_ms, created)


def test_a_busy_store_is_waited_for_and_never_ends_a_stream() -> None:
    store = Busy(reads=(1, 2))
    case = RunCase(store)
    run = case.start("Hello")
    sleep = Sleeper(case.world.clock)

    first = case.read(sleep).stream(MACHINE, run, 0)
    slept, began = [*sleep.slept], case.world.clock.now
    store.notes = 1
    case.read(sleep, wait_s=20).stream(MACHINE, run, first.frames[-1].seq)

    assert types(first) == ["started"]
    assert slept == [POLL_S, POLL_S, GATHER_S]
    assert case.store.watch(case.key).reader_until_ms == began + 20_000 + 5_000


def test_what_was_found_is_told_even_if_nothing_can_join_it() -> None:
    case = RunCase(Busy(reads=(4,)))
    run = case.start("Hello")
    after = last(case, run)
    sleep = Sleeper(case.world.clock, at1=lambda: case.says(1, "He"))

    streamed = case.read(sleep).stream(MACHINE, run, after)

    assert types(streamed) == ["assistant_delta"]
    assert sleep.slept == [POLL_S, GATHER_S]


def test_a_store_that_stays_busy_has_the_client_come_back() -> None:
    case = RunCase(Busy(reads=tuple(range(1, 100))))
    run = case.start("Hello")
    began = case.world.clock.now

    assert case.frames(run) == ()
    assert case.world.clock.now == began + 2_000


def test_what_others_commit_while_the_model_is_called_does_not_wake_a_reader() -> None:
    case = RunCase()
    run = case.start("[[say:one]]")
    after = last(case, run)
    session = case.key.session

    def another() -> None:
        case.start("[[say:two]]", session=session)

    sleep = Sleeper(case.world.clock, at1=another)

    streamed = case.read(sleep).stream(MACHINE, run, after)

    assert streamed == RunStreamed()
    assert case.head.session.seq > after // 1_000_000


def test_a_waiting_reader_reads_what_is_new_and_no_more() -> None:
    class Counting(InMemorySessionStore):
        """Counts its reads of the log."""

        reads = 0

        def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
            self.reads += 1
            return super().page(key, after_seq, limit)

    store = Counting()
    case = RunCase(store)
    run = case.start("Hello")
    after = last(case, run)
    store.reads = 0

    case.frames(run, after)

    assert store.reads == 1


def test_a_log_whose_end_cannot_be_read_yet_is_read_again() -> None:
    class Late(InMemorySessionStore):
        """Has nothing to show the first time."""

        reads = 0

        def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
            self.reads += 1
            return super().page(key, after_seq, limit) if self.reads > 1 else ()

    case = RunCase(Late())
    run = case.start("Hello")

    assert types(case.frames(run)) == ["started"]
    assert case.key.tenant == TENANT
