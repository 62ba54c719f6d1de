"""A bell that threads wait for; it counts its rings, so that none is missed. It has no data."""

from __future__ import annotations

import threading


class Bell:
    """Counts rings; a waiter names the last count it has seen."""

    def __init__(self) -> None:
        self._rung = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        """How often the bell has rung so far."""
        return self._count

    def ring(self) -> None:
        """Count one more and wake everybody who waits."""
        with self._rung:
            self._count += 1
            self._rung.notify_all()

    def wait_beyond(self, seen: int, *, timeout_s: float) -> int:
        """Return the count once it exceeds `seen`, or as it is after `timeout_s`."""
        with self._rung:
            self._rung.wait_for(lambda: self._count > seen, timeout=timeout_s)
            return self._count
