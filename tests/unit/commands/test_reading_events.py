"""O-7, O-24, E-2, E-3: pages and streams of events, their cursors and their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from everturn.commands.read_events import (
    PAGE_BYTES,
    PAGE_EVENTS,
    Frame,
    Page,
    ReadEvents,
    Streamed,
    sse,
)
from everturn.commands.subscribe import FIRST
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.ports.callers import Caller
from everturn.ports.sessions import Head, Logged, SessionKey, TurnRecord
from everturn.ports.streams import Delta
from everturn.push.envelopes import Cursor, read_cursor
from everturn.rejections import UnknownSession, UnknownTurn
from everturn.session.events.stored import Event
from everturn.store.memory import InMemorySessionStore
from unit.commands.reading import delta, dispatch_seq, events_of, last_of, two_turns
from unit.drive.doubles import FrozenClock
from unit.drive.world import KEY, MACHINE, QUICK_RETRY, World

DELTA = "llm.token.delta"

# ---- pages


def test_pages_follow_one_another_without_a_gap_or_a_repeat() -> None:
    world = two_turns()
    read, after, seen, pages = events_of(world), 0, [], 0
    while True:
        page = read.page(MACHINE, "s1", after, 7, None)
        seen += [event["seq"] for event in page.events]
        after, pages = page.next_after_seq, pages + 1
        if not page.more:
            break

    assert seen == list(range(1, world.head().session.seq + 1))
    assert pages == -(-len(seen) // 7)


def test_a_page_after_the_end_is_empty() -> None:
    world = two_turns()
    end = world.head().session.seq

    page = events_of(world).page(MACHINE, "s1", end, 10, None)

    assert (page.events, page.next_after_seq, page.more) == ([], end, False)


def test_a_page_of_one_turn_has_its_events_only_and_ends_with_it() -> None:
    world = two_turns()

    page = events_of(world).page(MACHINE, "s1", 0, 500, "t1")

    assert {event["turn_id"] for event in page.events} == {"t1"}
    assert page.events[-1]["payload"]["type"] == "session.done"
    assert not page.more


def test_a_page_has_a_megabyte_at_most_but_always_one_event() -> None:
    world = World(clock=FrozenClock())
    world.submit("x" * PAGE_BYTES)
    read, after = events_of(world), 0
    pages: list[Page] = []
    while not pages or pages[-1].more:
        pages.append(read.page(MACHINE, "s1", after, 500, None))
        after = pages[-1].next_after_seq

    kinds = [[event["payload"]["type"] for event in page.events] for page in pages]
    assert len(pages) == 3
    assert kinds[1] == ["message.new"]


@pytest.mark.parametrize(("session", "turn"), [("s2", None), ("s2", "t1"), ("s1", "t9")])
def test_what_is_not_there_is_unknown(session: str, turn: str | None) -> None:
    world = two_turns()

    with pytest.raises(UnknownSession if session == "s2" else UnknownTurn):
        events_of(world).page(MACHINE, session, 0, 10, turn)


def test_a_session_of_another_tenant_is_unknown_in_the_same_words() -> None:
    read = events_of(two_turns())
    with pytest.raises(UnknownSession) as foreign:
        read.page(Caller("rival"), "s1", 0, 10, None)
    with pytest.raises(UnknownSession) as missing:
        read.page(MACHINE, "s2", 0, 10, None)

    assert foreign.value.message.replace("s1", "s2") == missing.value.message


class Aliasing(InMemorySessionStore):
    """Knows `other` as another name of the turn it is told."""

    name = "t1"

    def head_and_turn(self, key: SessionKey, turn_id: str) -> tuple[Head | None, TurnRecord | None]:
        if turn_id == "other":
            return self.head(key), TurnRecord(turn_id, alias_of=self.name)
        return super().head_and_turn(key, turn_id)


@pytest.mark.parametrize("name", ["t1", "t2"])
def test_an_alias_reads_its_turn(name: str) -> None:
    store = Aliasing()
    store.name = name
    world = two_turns(store)

    page = events_of(world).page(MACHINE, "s1", 0, 500, "other")

    assert {event["turn_id"] for event in page.events} == {name}


# ---- streams


def test_a_stream_gives_events_then_the_pieces_of_the_call_in_flight() -> None:
    world = two_turns()
    seq, dispatched = world.head().session.seq, dispatch_seq(world)
    delta(world, 1, "a")
    delta(world, 2, "b")

    frames = events_of(world).stream(MACHINE, "s1", Cursor(seq - 1, 0, 0), None).frames

    cursors = [f"{seq}.0-0", f"{seq}.{dispatched}-1", f"{seq}.{dispatched}-2"]
    assert [frame.cursor for frame in frames] == cursors
    assert [frame.event for frame in frames] == ["step.started", *["llm.token.delta"] * 2]
    assert frames[1].data == {
        "type": "llm.token.delta",
        "session_id": "s1",
        "agent_id": "helper",
        "turn_id": "t2",
        "call_id": world.head().session.calls[0].id,
        "attempt": 1,
        "seq": 1,
        "text": "a",
    }


def test_a_stream_goes_on_behind_its_cursor_for_events_and_pieces_apart() -> None:
    world = two_turns()
    seq, dispatched = world.head().session.seq, dispatch_seq(world)
    delta(world, 1, "a")
    delta(world, 2, "b")

    frames = events_of(world).stream(MACHINE, "s1", Cursor(seq, dispatched, 1), None).frames

    assert [frame.data["text"] for frame in frames] == ["b"]


def test_pieces_of_a_call_that_ended_are_not_repeated() -> None:
    world = two_turns()
    delta(world, 1, "a")
    world.advance(request_id="r2")

    streamed = events_of(world).stream(MACHINE, "s1", FIRST, None)

    assert "llm.token.delta" not in {frame.event for frame in streamed.frames}


def test_a_full_page_leaves_the_pieces_to_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    world = two_turns()
    delta(world, 1, "a")
    monkeypatch.setattr("everturn.commands.read_events.PAGE_EVENTS", 3)

    frames = events_of(world).stream(MACHINE, "s1", FIRST, None).frames

    assert [frame.cursor for frame in frames] == ["1.0-0", "2.0-0", "3.0-0"]


def test_a_stream_of_a_turn_begins_with_it_and_ends_with_its_last_commit() -> None:
    world = two_turns()
    delta(world, 1, "of the next turn")
    read = events_of(world)

    frames = read.stream(MACHINE, "s1", FIRST, "t1").frames
    after = read.stream(MACHINE, "s1", Cursor(last_of(world, "t1")), "t1")

    assert {frame.data.get("turn_id") for frame in frames} == {"t1"}
    assert frames[-1].event == "session.done"
    assert "llm.token.delta" not in {frame.event for frame in frames}
    assert after == Streamed((), ended=True)


def test_a_stream_of_an_open_turn_begins_with_it() -> None:
    world = two_turns()
    delta(world, 1, "a")

    frames = events_of(world).stream(MACHINE, "s1", FIRST, "t2").frames

    assert {frame.data.get("turn_id") for frame in frames} == {"t2"}
    assert frames[-1].event == "llm.token.delta"


def test_what_older_answers_said_does_not_hide_the_one_in_flight() -> None:
    world = two_turns()
    old = [Delta(13, n, "old", 1, "t1", {"text": "x"}) for n in range(1, PAGE_EVENTS + 1)]
    for one in old:
        world.store.put_delta(KEY, one, 0)
    delta(world, 1, "new")

    frames = events_of(world).stream(MACHINE, "s1", FIRST, None).frames

    assert [frame.data["text"] for frame in frames if frame.event == DELTA] == ["new"]


def test_what_earlier_attempts_said_does_not_hide_the_one_in_flight() -> None:
    world = two_turns()
    call = world.head().session.calls[0]
    for n in range(1, PAGE_EVENTS + 3):
        world.store.put_delta(KEY, Delta(call.seq, n, call.id, 0, "t2", {"text": "x"}), 0)
    delta(world, 1, "new")

    frames = events_of(world).stream(MACHINE, "s1", FIRST, None).frames

    assert [frame.data["text"] for frame in frames if frame.event == DELTA] == ["new"]


def test_what_a_failed_attempt_said_is_not_shown_while_the_next_one_is_waited_for() -> None:
    world = World(clock=FrozenClock())
    failing = ModelFailed("busy", FailureCode.OVERLOADED)
    retry = {**QUICK_RETRY, "backoff_base_secs": 60, "backoff_max_secs": 60}
    world.script([failing], retry=retry)
    world.submit("Hello")
    delta(world, 1, "half of an ans")

    world.advance()

    frames = events_of(world).stream(MACHINE, "s1", FIRST, None).frames
    assert "llm.call.errored" in {frame.event for frame in frames}
    assert DELTA not in {frame.event for frame in frames}


def test_the_pieces_of_one_answer_are_a_megabyte_at_most() -> None:
    world = two_turns()
    for n in range(1, 5):
        delta(world, n, str(n) * (PAGE_BYTES // 2 - 1_000))
    seq, dispatched = world.head().session.seq, dispatch_seq(world)
    read, cursor, answers = events_of(world), Cursor(seq, 0, 0), []

    while streamed := read.stream(MACHINE, "s1", cursor, None).frames:
        answers.append([frame.cursor for frame in streamed])
        cursor = read_cursor(streamed[-1].cursor)

    assert answers == [
        [f"{seq}.{dispatched}-1", f"{seq}.{dispatched}-2"],
        [f"{seq}.{dispatched}-3", f"{seq}.{dispatched}-4"],
    ]


class Joined(InMemorySessionStore):
    """Ends its log with an event that belongs to no turn."""

    def materialise(self, key: SessionKey, logged: Sequence[Logged]) -> tuple[Logged, ...]:
        whole = super().materialise(key, logged)
        head = self.head(key)
        return tuple(
            replace(one, events=(*one.events[:-1], replace_turn(one.events[-1])))
            if head and one.last_seq == head.session.seq
            else one
            for one in whole
        )


def replace_turn(event: Event) -> Event:
    """Return the event as one of no turn."""
    return event.model_copy(update={"turn_id": None})


def test_a_turn_is_streamed_on_though_the_newest_event_is_not_its_own() -> None:
    world = two_turns(Joined())
    delta(world, 1, "a")
    read = events_of(world)

    frames = read.stream(MACHINE, "s1", FIRST, "t2").frames
    page = read.page(MACHINE, "s1", 0, 500, "t2")

    assert frames[-1].event == DELTA
    assert page.events[-1]["seq"] == world.head().session.seq - 1
    assert not page.more


# ---- as text


def test_a_frame_is_its_cursor_its_type_and_its_data() -> None:
    frame = Frame("3.0-0", "turn.started", {"seq": 3, "text": "ü\n"})

    text = sse(Streamed((frame,), retry_ms=5))

    assert text == ('retry: 5\n\nid: 3.0-0\nevent: turn.started\ndata: {"seq":3,"text":"ü\\n"}\n\n')


def test_nothing_new_is_a_comment() -> None:
    """E-6, O-7."""
    assert sse(Streamed(())) == ": nothing new\n\n"


def test_a_log_that_ends_early_gives_what_there_is() -> None:
    class Behind(InMemorySessionStore):
        """Its head is ahead of its log."""

        def head(self, key: SessionKey) -> Head | None:
            found = super().head(key)
            return found and replace(found, session=replace(found.session, seq=1_000))

    world = World(clock=FrozenClock())
    world.submit("Hello")
    behind = Behind()
    behind._sessions = world.store._sessions  # the same sessions
    page = ReadEvents(behind, world.clock, world.clock.sleep).page(MACHINE, "s1", 0, 500, None)

    assert page.more
    assert page.next_after_seq == world.head().session.seq
