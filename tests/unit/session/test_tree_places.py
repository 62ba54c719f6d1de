"""Where messages stand and which path leads to them, as arithmetic."""

from __future__ import annotations

import pytest

from everturn.session.events.messages import MessageNew, MessagePrivate, MessageSource, StateUpdated
from everturn.session.events.shape import Anchor
from everturn.session.events.tree import Stretch, packed, unpacked
from everturn.session.facts import Begun, Place
from everturn.session.state import Head, Session
from everturn.session.tree import (
    NeedsBranches,
    active,
    begun,
    is_recent,
    path_within,
    ranges,
    stretches_to,
    version_on,
)
from everturn.session.window import BYTES_PER_TOKEN, Shown, window_of

ROOT = Stretch(0, 1, 9, 3)
SIDE = Stretch(1, 20, 25, 5)
FORKED = Session(
    seq=40, head=Head("x", 33, 2, 6), branches=2, branch=2, branch_seq=30, stretches=(ROOT, SIDE)
)


def test_a_path_is_read_piece_by_piece_from_the_window_on() -> None:
    assert ranges(Session(seq=7), 1) == ((1, 7),)
    assert ranges(FORKED, 1) == ((1, 9), (20, 25), (30, 40))
    assert ranges(FORKED, 9) == ((9, 9), (20, 25), (30, 40))
    assert ranges(FORKED, 10) == ((20, 25), (30, 40))
    assert ranges(FORKED, 26) == ((30, 40),)


def test_a_place_is_on_the_path_up_to_where_the_path_leaves_its_branch() -> None:
    assert active(FORKED, FORKED.stretches)[-1] == Stretch(2, 30, 40, 6)
    assert active(Session(seq=3), ())[-1] == Stretch(0, 1, 3, 0)
    assert [is_recent(FORKED, 0, depth) for depth in (3, 4)] == [True, False]
    assert [is_recent(FORKED, 2, depth) for depth in (6, 7)] == [True, False]


def test_how_a_branch_begins_is_known_from_any_path_that_has_it() -> None:
    assert begun(FORKED, 2, {}) == Begun(30, (ROOT, SIDE))
    assert begun(FORKED, 1, {}) == Begun(20, (ROOT,))
    assert begun(FORKED, 0, {}) == Begun()
    other = Begun(50, (ROOT, Stretch(3, 41, 45, 6)))
    assert begun(FORKED, 3, {4: other}) == Begun(41, (ROOT,))
    assert begun(FORKED, 4, {4: other}) == other


def test_what_is_not_at_hand_is_asked_for() -> None:
    cut = Session(seq=40, branch=2, branch_seq=30, stretches=(SIDE,), is_cut=True)

    for session, branch in ((FORKED, 9), (cut, 2), (cut, 1)):
        with pytest.raises(NeedsBranches) as need:
            begun(session, branch, {})
        assert need.value.numbers == {branch}


def test_the_path_to_a_message_ends_with_it() -> None:
    place = Place("m", 24, 1, 4)

    assert stretches_to(place, lambda n: begun(FORKED, n, {})) == (ROOT, Stretch(1, 20, 24, 4))
    assert stretches_to(None, lambda n: begun(FORKED, n, {})) == ()


def test_a_path_is_stored_as_numbers_that_count_from_one_another() -> None:
    assert packed((ROOT, SIDE)) == [0, 1, 8, 3, 1, 11, 5, 2]
    assert unpacked(packed((ROOT, SIDE))) == (ROOT, SIDE)
    assert unpacked((ROOT,)) == (ROOT,)
    with pytest.raises(ValueError, match="shorter"):
        unpacked([1, 2, 3])


def test_a_path_can_be_had_from_a_number_on() -> None:
    source = MessageSource(kind="user")
    log = [
        (
            seq,
            MessageNew(
                id=f"m{seq}",
                message={"n": seq},
                parent_id=f"m{seq - 1}" if seq > 1 else None,
                private=MessagePrivate(source=source, depth=seq, size_bytes=1),
            ),
        )
        for seq in (1, 2, 3)
    ]

    assert [node.seq for node in path_within(log, "m3", 2)] == [2, 3]
    assert path_within(log, "nobody", 1) == ()


def test_the_version_nearest_to_the_end_holds_however_late_another_was_written() -> None:
    """Z-2: along the path, not along the clock."""
    deep = StateUpdated(state=2, anchor=Anchor(branch=0, depth=3))
    shallow = StateUpdated(state=3, anchor=Anchor(branch=0, depth=1))
    none = StateUpdated(state=0)

    log = [(1, none), (5, deep), (8, shallow)]

    assert version_on(log, StateUpdated, (ROOT,)) == (5, deep)
    assert version_on(log, StateUpdated, (Stretch(0, 1, 4, 2),)) == (8, shallow)
    assert version_on(log, StateUpdated, (SIDE,)) == (1, none)
    assert version_on([], StateUpdated, (SIDE,)) is None


def test_a_full_path_begins_at_half_of_what_the_model_takes() -> None:
    """Invariant 8."""
    path = [Shown(seq, 40, seq % 2 == 1) for seq in range(1, 11)]
    tokens = 200 // BYTES_PER_TOKEN

    window = window_of(path, tokens, is_whole=False)
    whole = window_of(path, None, is_whole=True)

    assert (window.from_seq, window.total_bytes) == (9, 80)
    assert (whole.from_seq, whole.total_bytes, len(whole.marks)) == (1, 400, 5)


def test_a_turn_that_fills_the_window_alone_is_shown_whole() -> None:
    last = [Shown(1, 40, True), Shown(2, 400, True)]
    none = [Shown(5, 400, False), Shown(6, 4, False)]

    assert window_of(last, 20, is_whole=False).from_seq == 2
    assert window_of(none, 20, is_whole=False).from_seq == 5
    assert window_of([], 20, is_whole=True).from_seq == 1
