"""The role that knows the time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The time, and randomness for ids."""

    def now_ms(self) -> int:
        """Return epoch milliseconds."""
        ...

    def entropy(self) -> bytes:
        """Return 16 random bytes."""
        ...
