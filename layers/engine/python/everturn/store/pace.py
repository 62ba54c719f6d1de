"""How long the store goes on trying, and how it waits in between; it keeps no time of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import uniform
from time import monotonic, sleep
from typing import Final

BUDGET_S: Final = 3.0
"""Source: storage-and-commits, "Commits" 3."""

PROMPT_S: Final = 0.1
"""The budget of a request that somebody else makes anyway, in a function that must not wait."""

SHORTEST_S: Final = 0.010
LONGEST_S: Final = 0.050
"""Bounds of a wait between two tries. Source: storage-and-commits, "Commits" 3."""

SLOWEST_S: Final = 0.8
"""What the upper bound grows to, doubled by each throttled try: the table has to get room."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The time and chance that a store is given; tests bring their own."""

    monotonic: Callable[[], float] = monotonic
    sleep: Callable[[float], None] = sleep
    between: Callable[[float, float], float] = uniform
    budget_s: float = BUDGET_S

    def deadline(self) -> float:
        """Return when a request that starts now is given up."""
        return self.monotonic() + self.budget_s

    def is_over(self, deadline: float) -> bool:
        """Return whether `deadline` has passed."""
        return self.monotonic() >= deadline

    def pause(self, throttled: int = 0) -> None:
        """Wait a moment that others do not wait as well, longer after `throttled` tries."""
        longest_s = min(LONGEST_S * 2.0 ** min(throttled, 10), SLOWEST_S)
        self.sleep(self.between(SHORTEST_S, longest_s))
