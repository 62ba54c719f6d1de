"""How much of a path a model is shown."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import example, given

from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.facts import Route
from everturn.session.state import WINDOW_MARKS, Mark, Window
from everturn.session.window import (
    BYTES_PER_TOKEN,
    UNKNOWN_WINDOW_TOKENS,
    begin_at,
    has_turn,
    start_for,
    with_message,
    with_turn,
)
from unit.session.building import Story, only
from unit.session.logs import path_of


def played(sizes: list[int], capacity_tokens: int) -> tuple[list[int], list[int]]:
    """Return where each turn's request began, and the turns' own starts."""
    window, begun, starts = Window(), [], []
    for number, size in enumerate(sizes):
        seq = 10 * number + 2
        starts.append(seq)
        window = with_message(with_turn(window, seq), size)
        window = begin_at(window, start_for(window, capacity_tokens))
        begun.append(window.from_seq)
    return begun, starts


def test_a_path_that_fits_is_shown_whole() -> None:
    window = Window(total_bytes=400, marks=(Mark(2, 0), Mark(12, 300)))

    assert start_for(window, 100) == 1


def test_a_full_window_begins_later_and_is_half_empty_then() -> None:
    window = Window(
        total_bytes=401, marks=(Mark(2, 0), Mark(12, 150), Mark(22, 201), Mark(32, 390))
    )

    assert start_for(window, 100) == 22


def test_a_turn_that_is_too_large_by_itself_is_shown_alone() -> None:
    window = Window(total_bytes=900, marks=(Mark(2, 0), Mark(12, 150)))

    assert start_for(window, 100) == 12
    assert start_for(begin_at(window, 12), 100) == 12


def test_an_unknown_capacity_is_assumed() -> None:
    limit = UNKNOWN_WINDOW_TOKENS * BYTES_PER_TOKEN
    marks = (Mark(2, 0), Mark(12, limit))

    assert start_for(Window(total_bytes=limit, marks=marks), None) == 1
    assert start_for(Window(total_bytes=limit + 1, marks=marks), None) == 12


def test_a_window_never_begins_earlier_again() -> None:
    window = Window(from_seq=12, from_bytes=150, total_bytes=300)

    assert begin_at(window, 2) == window


def test_a_window_that_begins_later_forgets_what_lies_before() -> None:
    window = Window(total_bytes=300, marks=(Mark(2, 0), Mark(12, 150), Mark(22, 200)))

    assert begin_at(window, 12) == Window(12, 150, 300, (Mark(22, 200),))
    assert begin_at(window, 13) == Window(13, 0, 300, (Mark(22, 200),))


def test_marks_become_coarser_and_the_newest_turn_keeps_its_own() -> None:
    window = Window()
    for number in range(WINDOW_MARKS + 1):
        window = with_message(with_turn(window, 10 * number + 2), 5)

    seqs = [mark.seq for mark in window.marks]

    assert seqs == [10 * number + 2 for number in range(0, WINDOW_MARKS + 1, 2)]
    assert has_turn(window, 10 * WINDOW_MARKS + 1)


@example(sizes=[20] * WINDOW_MARKS + [390], capacity=100)
@given(
    sizes=st.lists(st.integers(1, 20) | st.integers(1, 700), min_size=1, max_size=120),
    capacity=st.integers(10, 200),
)
def test_only_a_single_turn_can_exceed_the_window(sizes: list[int], capacity: int) -> None:
    begun, starts = played(sizes, capacity)

    for number, from_seq in enumerate(begun):
        shown = [n for n in range(number + 1) if starts[n] >= from_seq]
        size = sum(sizes[n] for n in shown)
        assert shown
        assert size <= capacity * BYTES_PER_TOKEN or len(shown) == 1


@given(
    sizes=st.lists(st.integers(1, 700), min_size=1, max_size=120),
    capacity=st.integers(10, 200),
)
def test_the_beginning_moves_only_when_the_window_is_full(sizes: list[int], capacity: int) -> None:
    """Prompt caches live from it."""
    begun, starts = played(sizes, capacity)

    for number in range(1, len(begun)):
        if begun[number] == begun[number - 1]:
            continue
        unmoved = sum(sizes[n] for n in range(number + 1) if starts[n] >= begun[number - 1])
        assert begun[number] > begun[number - 1]
        assert unmoved > capacity * BYTES_PER_TOKEN


def test_a_repeated_question_does_not_leave_the_request_empty() -> None:
    """A turn without news has no message of its own where a window could begin."""
    story = Story(route=Route("demo", "echo", context_window=100))
    story.submit("x" * 500)
    story.fail_model(retryable=False)

    story.submit(view=tuple(story.messages()))

    assert [m["role"] for m in story.requests()[-1]["messages"]] == ["system", "user"]


def test_a_window_never_begins_with_a_reply() -> None:
    """The reply to a repeated question belongs to the turn that asked it first."""
    story = Story(route=Route("demo", "echo", context_window=100))
    story.submit("Hello.")
    story.fail_model(retryable=False)
    story.submit("x" * 150)
    story.fail_model(retryable=False)
    story.submit(view=tuple(story.messages()))
    story.answer("ok")

    story.submit("y" * 30)

    assert [m["role"] for m in story.requests()[-1]["messages"]] == ["system", "user"]


def test_a_long_session_shows_a_bounded_part_of_it() -> None:
    """Architecture, invariant 8."""
    story = Story(route=Route("demo", "echo", context_window=500))
    for number in range(60):
        story.submit(f"{number} " + "q" * 50)
        story.answer(f"{number} " + "a" * 50)

    sizes, begins = shown(story)

    assert max(sizes) <= 500 * BYTES_PER_TOKEN
    assert len(set(begins)) <= 15
    assert len(story.session.window.marks) <= WINDOW_MARKS


def shown(story: Story) -> tuple[list[int], list[int]]:
    """Return how many bytes each request showed, and where it began."""
    sizes, begins = [], []
    for asked in only(ModelCallRequested, story.log):
        bounds: Any = asked.private.boundary
        path = path_of(story.values[: bounds.head_seq], bounds.from_seq)
        sizes.append(sum(node.size_bytes for node in path))
        begins.append(bounds.from_seq)
    return sizes, begins
