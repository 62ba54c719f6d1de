"""How much of a path a model is shown: whole turns, newest last; arithmetic on the head's marks.

The window moves in jumps: only when it is full does it begin later, and then at half its capacity.
In between the beginning of a request stays the same to the byte, which is what prompt caches need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from everturn.session.state import WINDOW_MARKS, Mark, Window

BYTES_PER_TOKEN: Final = 4
"""Estimate used where no provider has counted."""

LEAST_SHARE: Final = 4
"""Messages get a quarter of the window, however much is reserved."""

UNKNOWN_WINDOW_TOKENS: Final = 32_000
"""Assumed where a route does not say how much it takes."""


def with_turn(window: Window, seq: int) -> Window:
    """Return `window` with a mark at a turn whose first message is event `seq`."""
    marks = (*window.marks, Mark(seq, window.total_bytes))
    if len(marks) > WINDOW_MARKS:
        marks = marks[::2]  # 17 become 9: coarser, but the oldest and the newest stay
    return replace(window, marks=marks)


def has_turn(window: Window, first_seq: int) -> bool:
    """Return whether the turn that began with event `first_seq` has its mark."""
    newest = window.marks[-1].seq if window.marks else window.from_seq
    return newest > first_seq


def with_message(window: Window, size_bytes: int) -> Window:
    """Return `window` with one message more at its end."""
    return replace(window, total_bytes=window.total_bytes + size_bytes)


def begin_at(window: Window, seq: int) -> Window:
    """Return `window` as it is once a request began at event `seq`."""
    if seq <= window.from_seq:
        return window
    before = next((mark.before_bytes for mark in window.marks if mark.seq == seq), 0)
    later = tuple(mark for mark in window.marks if mark.seq > seq)
    return replace(window, from_seq=seq, from_bytes=before, marks=later)


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of a path, as far as the window is concerned."""

    seq: int
    size_bytes: int
    begins_turn: bool


def window_of(path: Sequence[Shown], capacity_tokens: int | None, *, is_whole: bool) -> Window:
    """Return the window of a path that ends with `path`, all of it where `is_whole`.

    A path that is full begins at half its capacity, as one does that has become full.
    """
    capacity = (capacity_tokens or UNKNOWN_WINDOW_TOKENS) * BYTES_PER_TOKEN
    starts = [at for at, one in enumerate(path) if one.begins_turn]
    total = sum(one.size_bytes for one in path)
    first = 0
    if not is_whole:
        before = [0, *accumulate(one.size_bytes for one in path)]
        fitting = [at for at in starts if total - before[at] <= capacity // 2]
        first = fitting[0] if fitting else (starts[-1] if starts else 0)
    from_seq = 1 if is_whole or not path else path[first].seq
    window = Window(from_seq=from_seq)
    for at in range(first, len(path)):
        if at in starts and (at > first or is_whole):
            window = with_turn(window, path[at].seq)
        window = with_message(window, path[at].size_bytes)
    return window


def start_for(window: Window, capacity_tokens: int | None, reserved_bytes: int = 0) -> int:
    """Return the event at which the next request to a model of that capacity begins.

    `reserved_bytes` are not for messages: the rest of the request, and the answer.
    """
    whole = (capacity_tokens or UNKNOWN_WINDOW_TOKENS) * BYTES_PER_TOKEN
    capacity = max(whole - reserved_bytes, whole // LEAST_SHARE)
    if window.total_bytes - window.from_bytes <= capacity:
        return window.from_seq
    fitting = [m.seq for m in window.marks if window.total_bytes - m.before_bytes <= capacity // 2]
    last = window.marks[-1].seq if window.marks else window.from_seq
    return fitting[0] if fitting else last
