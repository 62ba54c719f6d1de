"""The lease on a wake-up: short visibility, renewed, so that a crash is taken over soon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from everturn.observability import logger

FIRST_REDELIVERY_S: Final = 2

Renew = Callable[[int], None]
"""Makes the message invisible for so many seconds from now; raises where that is refused."""


class Lease:
    """Whether this driver may still write. Source: architecture, section 4."""

    def __init__(
        self, renew: Renew, lease_s: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._renew = renew
        self._lease_s = lease_s
        self._monotonic = monotonic
        self._renewed_at = monotonic()
        self._refused = False
        self._ended = Event()
        self.lost = Event()
        """Set once it is gone; a loop that waits can wait for it."""

    def is_held(self) -> bool:
        """Return whether a renewal went through within the last half of the lease."""
        late = self._monotonic() - self._renewed_at > self._lease_s / 2
        if self._refused or late:
            self.lost.set()
        return not self.lost.is_set()

    def take(self) -> None:
        """Shorten the visibility that the queue gave; the first act of an invocation."""
        self._try()

    def keep(self) -> None:
        """Renew every quarter until it ends or is lost; runs in a thread."""
        while not self._ended.wait(self._lease_s / 4):
            self._try()
            if not self.is_held():
                logger.warning("lease lost")
                return

    def end(self) -> None:
        """Stop renewing."""
        self._ended.set()

    def _try(self) -> None:
        began = self._monotonic()
        try:
            self._renew(self._lease_s)
        except PermissionError:
            self._refused = True
        except OSError:
            return  # no answer: the half-lease rule decides
        else:
            self._renewed_at = began


@contextmanager
def held(renew: Renew, lease_s: int) -> Iterator[Lease]:
    """Hold a lease around the body."""
    lease = Lease(renew, lease_s)
    lease.take()
    thread = Thread(target=lease.keep, name="lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        lease.end()


def redelivery_s(receive_count: int, lease_s: int) -> int:
    """Return when a message that failed comes back: soon at first, later each time.

    A queue that gives up after five deliveries must not do so during a short outage.
    """
    return int(min(FIRST_REDELIVERY_S * 4 ** (max(receive_count, 1) - 1), lease_s))
