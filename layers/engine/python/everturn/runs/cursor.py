"""The number of a frame of a run: it orders the stream, and it is what a client comes back with.

It must not read a log. Source: storage-and-commits, "Streams".

A commit owns a million numbers, from its last event's number times a million on:

    L * 1_000_000 + 0 … 999        what is told at the commit, in log order
    L * 1_000_000 + 1_000 + n      delta n (from 1) of the model call that the commit dispatched

What is told at one commit may be more than a thousand frames: those of all commits that were made
while the model call ran that it ends. The last thousand keep their places, and the others stand
below, at the very end of the numbers of the event before: `L * 1_000_000 - k`. Deltas never reach
that far, for they end at 900_000; a later one is left out, and the call's end says it all again. So
numbers always grow, and depend on nothing but the log: not on how far somebody has read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SPAN: Final = 1_000_000
DELTAS_FROM: Final = 1_000
DELTAS_UPTO: Final = 900_000
LAST: Final = SPAN - 1


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a client has read."""

    seq: int
    """An event; that of a cursor of ours is the last one of a commit."""

    n: int

    @property
    def is_amid_deltas(self) -> bool:
        """Whether all that is told at its commit was read, and deltas after that."""
        return DELTAS_FROM < self.n <= DELTAS_UPTO


def reached(cursor: int) -> Reached:
    """Return what a cursor says."""
    return Reached(*divmod(cursor, SPAN))


def frame_cursor(last_seq: int, position: int, count: int) -> int:
    """Return the number of frame `position` of the `count` that are told at a commit."""
    return last_seq * SPAN + position - max(0, count - DELTAS_FROM)


def delta_cursor(last_seq: int, n: int) -> int | None:
    """Return the number of a delta, `None` for one too many.

    `last_seq` is the last event of the commit that dispatched its call.
    """
    return last_seq * SPAN + DELTAS_FROM + n if DELTAS_FROM + n <= DELTAS_UPTO else None


def deltas_seen(last_seq: int, cursor: int) -> int:
    """Return the last delta that a client with this cursor knows of the call dispatched there."""
    return min(max(cursor - last_seq * SPAN - DELTAS_FROM, 0), DELTAS_UPTO)


def end_cursor(seq: int) -> int:
    """Return a number behind all that is told up to event `seq`, and before all later ones."""
    return seq * SPAN + LAST
