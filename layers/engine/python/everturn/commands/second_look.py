"""A session that cannot be read -> a driver tries, and if it cannot either, recovery judges.

It must not judge by itself: this process may be of an older version than the one that wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from everturn.errors import EverturnError, StoreUnreadable
from everturn.observability import logger
from everturn.ports.clock import Clock
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import Wake

PERIOD_MS: Final = 300_000
"""One look in so long, however many callers meet the session. Source: SQS, deduplication."""


@contextmanager
def looked_at_again(wake: Wake, clock: Clock, key: SessionKey) -> Iterator[None]:
    """Wake a driver for a session of which the body finds that it cannot be read.

    Otherwise nobody would: a session at rest is not due, and its callers would be told the same
    for ever. The error goes on to the caller.
    """
    try:
        yield
    except StoreUnreadable:
        _ask(wake, clock, key)
        raise


def _ask(wake: Wake, clock: Clock, key: SessionKey) -> None:
    try:
        wake.now(key, "", "timer", 0, f"unreadable.{clock.now_ms() // PERIOD_MS}")
    except EverturnError as error:  # the next caller asks again
        logger.warning("nobody was asked to look at a session", reason=type(error).__name__)
