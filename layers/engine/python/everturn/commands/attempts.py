"""How long a lost race is run again: three seconds, then we say that we are busy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from everturn.errors import IdsTaken, StoreUnavailable, VersionConflict

BUDGET_S: Final = 3.0
"""Source: architecture, section 4."""


@dataclass(slots=True)
class Lost:
    """What the last attempt learned from losing."""

    taken: frozenset[str] = frozenset()


class Attempts:
    """One budget for all attempts of one command."""

    def __init__(self, monotonic: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._until = monotonic() + BUDGET_S
        self._tries = 0

    @contextmanager
    def once(self) -> Iterator[Lost]:
        """Run the body; a lost race inside ends it quietly, until the budget is used up.

        Raises `StoreUnavailable` when the time is over: nothing was written.
        """
        lost = Lost()
        try:
            yield lost
        except IdsTaken as error:
            lost.taken = error.ids
            self._wait(error)
        except VersionConflict as error:
            self._wait(error)

    def _wait(self, error: Exception) -> None:
        if self._monotonic() >= self._until:
            message = "The session was busy for three seconds; send the same request again."
            raise StoreUnavailable(message, retry_after_s=1) from error
        self._tries += 1
        self._sleep(min(0.005 * self._tries, 0.1))
