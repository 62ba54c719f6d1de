"""Storage-and-commits, "Streams": a run's stream is the same however often a client comes back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from everturn.ports.sessions import Logged
from everturn.ports.streams import Delta
from everturn.runs.cursor import (
    DELTAS_UPTO,
    delta_cursor,
    end_cursor,
    frame_cursor,
    reached,
)
from everturn.runs.flight import Flight
from everturn.runs.frames import TERMINAL, RunFrame
from everturn.runs.reach import is_enough
from unit.runs.logs import (
    RUN,
    begun,
    delta,
    dispatched,
    done,
    found,
    kinds,
    logged,
    looping,
    replied,
    runs,
    started,
    told,
    tool,
)

Run = tuple[tuple[Logged, ...], list[Delta]]


@given(run=runs())
def test_numbers_grow_and_the_last_frame_alone_ends_the_run(run: Run) -> None:
    frames = told(*run)

    seqs = [frame.seq for frame in frames]
    assert seqs == sorted(set(seqs))
    assert [frame.type in TERMINAL for frame in frames] == [False] * (len(frames) - 1) + [True]


@given(run=runs())
def test_a_client_is_asked_for_a_tool_once(run: Run) -> None:
    frames = told(*run)

    calls = [frame.data["toolUseId"] for frame in frames if frame.type == "local_tool_call"]
    assert len(calls) == len(set(calls))


@given(run=runs(), data=st.data())
def test_what_follows_a_cursor_is_the_same_from_wherever_reading_may_begin(
    run: Run, data: st.DataObject
) -> None:
    commits, deltas = run
    frames = told(commits, deltas)

    at = data.draw(st.integers(0, len(frames) - 1))
    cursor = frames[at].seq
    begins = [
        first
        for first in range(len(commits))
        if first == 0 or is_enough(RUN, commits[first:], reached(cursor))
    ]

    for first in begins:
        part = commits[first:]
        again = told(part, deltas, cursor)
        assert kinds(again) == kinds(frames[at + 1 :])
        assert again[:-1] == frames[at + 1 : -1]  # the end is told from the whole turn


@given(run=runs(), data=st.data())
def test_reading_while_it_happens_is_reading_it_all_at_once(run: Run, data: st.DataObject) -> None:
    commits, deltas = run
    seen: list[RunFrame] = []

    for upto in range(1, len(commits) + 1):
        for _ in range(data.draw(st.integers(0, 2))):
            frames = told(commits[:upto], so_far(commits[:upto], deltas, data), _last(seen))
            seen += frames[: data.draw(st.integers(0, len(frames)))]
    seen += told(commits, deltas, _last(seen))

    whole = told(commits, deltas)
    assert kinds(seen) == kinds(whole)


def _last(seen: list[RunFrame]) -> int:
    return seen[-1].seq if seen else 0


def so_far(commits: tuple[Logged, ...], deltas: list[Delta], data: st.DataObject) -> list[Delta]:
    """Return what was streamed by then: of the call under way, maybe not all."""
    flight = Flight(RUN)
    for commit in commits:
        for seq, event in commit.numbered():
            flight.take(seq, event)
    if flight.call is None:
        return deltas
    running = [one for one in deltas if one.dispatch_seq == flight.call.dispatch_seq]
    known = data.draw(st.integers(0, len(running)))
    return [one for one in deltas if one not in running[known:]]


@given(run=runs())
def test_once_its_deltas_are_gone_a_run_is_told_without_them(run: Run) -> None:
    commits, deltas = run

    frames, rest = told(commits, deltas), told(commits)

    assert rest == [frame for frame in frames if frame.type != "assistant_delta"]


def test_deltas_are_numbered_from_the_end_of_the_commit_that_dispatched_their_call() -> None:
    call = dispatched("m1", 1)
    commits = logged([started(), *call, looping()], [replied("m1", "Hi"), done()])

    frames = told(commits, [delta(2, 1), delta(2, 3)])

    assert kinds(frames) == [
        (4_000_000, "started"),
        (4_000_001, "loop_detected"),
        (4_001_001, "assistant_delta"),
        (4_001_003, "assistant_delta"),
        (6_000_000, "assistant_message"),
        (6_000_001, "result"),
    ]


def test_what_is_committed_while_the_model_is_called_comes_behind_what_it_streams() -> None:
    commits = logged(
        [started(), *dispatched("m1", 1)],
        [replied("m1", "", "c1", "c2"), tool("c1"), tool("c2"), begun("c1"), begun("c2")],
        [found("c1"), *dispatched("m2", 2)],
        [found("c2")],
        [replied("m2", "Hi"), done()],
    )

    frames = told(commits, [delta(10, 1)])

    assert kinds(frames)[-5:] == [
        (11_000_000, "tool_result"),
        (11_001_001, "assistant_delta"),
        (14_000_000, "tool_result"),
        (14_000_001, "assistant_message"),
        (14_000_002, "result"),
    ]


def test_a_thousand_frames_and_more_at_one_commit_keep_their_order_and_their_numbers() -> None:
    many = [[looping(n)] for n in range(1_200)]
    commits = logged(
        [started(), *dispatched("m1", 1)],
        *many,
        [replied("m1", "Hi"), *dispatched("m2", 2)],
        [done()],
    )
    deltas = [delta(2, 1), delta(1_205, 1)]
    frames = told(commits, deltas)

    places = [*range(0, len(frames) - 1, 100), 201, 202, 203]
    pieces = [told(commits, deltas, frames[at].seq) for at in places]

    assert [kinds(piece) for piece in pieces] == [kinds(frames[at + 1 :]) for at in places]
    assert [frame.data["consecutiveCount"] for frame in frames[2:-3]] == [*range(1_200)]
    assert kinds(frames)[-3:] == [
        (1_206_000_999, "assistant_message"),
        (1_206_001_001, "assistant_delta"),
        (1_207_000_000, "result"),
    ]
    seqs = [frame.seq for frame in frames]
    assert seqs == sorted(set(seqs))


def test_a_delta_that_has_no_room_left_is_not_told() -> None:
    commits = logged([started(), *dispatched("m1", 1)], [replied("m1", "Hi"), done()])
    last = DELTAS_UPTO - 1_000

    frames = told(commits, [delta(2, last), delta(2, last + 1)])

    assert kinds(frames)[1:3] == [(3_900_000, "assistant_delta"), (5_000_000, "assistant_message")]
    assert kinds(told(commits, [delta(2, last)], 3_900_000)) == kinds(frames)[2:]


def test_numbers_say_where_they_are() -> None:
    told_first, streamed = frame_cursor(7, 0, 1), delta_cursor(7, 1)

    assert (told_first, streamed, end_cursor(7)) == (7_000_000, 7_001_001, 7_999_999)
    assert [reached(one).is_amid_deltas for one in (told_first, 7_000_999, 7_001_001)] == [
        False,
        False,
        True,
    ]
