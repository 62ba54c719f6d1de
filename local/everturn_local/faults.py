"""Ways to lose or repeat deliveries, refuse frames and set clocks wrong, on purpose.

Without a hook everything is delivered once and every frame is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Delivery(StrEnum):
    """What becomes of one queue message or stream record."""

    DELIVER = "deliver"
    DROP = "drop"
    """Removed without the function seeing it."""
    DUPLICATE = "duplicate"
    """The function sees the very same event twice in a row."""
    LOSE_ANSWER = "lose_answer"
    """The function runs, but its answer counts as a failure: the message comes again."""


class Posting(StrEnum):
    """What becomes of one frame that a function posts to a connection."""

    TAKE = "take"
    THROTTLE = "throttle"
    """Refused with 429: nothing is sent."""
    GONE = "gone"
    """Refused with 410, though the socket is open and nobody will say `$disconnect`."""


Hook = Callable[[Mapping[str, Any]], Delivery]
"""From one event record, as the function would see it, to its fate."""


PostHook = Callable[[str, bytes], Posting]
"""From a connection's id and a frame to its fate; called on the server's event loop."""

ClockHook = Callable[[str], float]
"""From a function's name to the seconds by which the clock of its next process is wrong."""


def deliver(_: Mapping[str, Any]) -> Delivery:
    """The hook that disturbs nothing."""
    return Delivery.DELIVER


def never(_name: str) -> bool:
    """The hook that throttles nothing."""
    return False


def take(_connection_id: str, _frame: bytes) -> Posting:
    """The hook that refuses no frame."""
    return Posting.TAKE


def right(_function: str) -> float:
    """The hook of clocks that are right."""
    return 0.0


@dataclass(slots=True)
class Faults:
    """Hooks that are asked before each delivery; set them at any time."""

    queue: Hook = deliver
    stream: Hook = deliver
    throttles: Callable[[str], bool] = never
    """Whether Lambda refuses to invoke the function of that name: `TooManyRequestsException`."""
    post: PostHook = take
    clock: ClockHook = right
