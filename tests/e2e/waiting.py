"""Waits for something to become true, never for time to pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 20.0
"""Far above what anything here takes; a test that needs it has failed."""

FIRST_PAUSE_S = 0.04
LONGEST_PAUSE_S = 0.12
"""A look costs what a request does: what takes long is looked at less often."""


class NotInTime(AssertionError):
    """What was waited for did not come."""


def until(
    read: Callable[[], T], accept: Callable[[T], bool] = bool, within_s: float = PATIENCE_S
) -> T:
    """Read until the value is accepted; raises `NotInTime` with the last one."""
    end = time.monotonic() + within_s
    pause_s = FIRST_PAUSE_S
    while True:
        value = read()
        if accept(value):
            return value
        if time.monotonic() > end:
            raise NotInTime(f"after {within_s:g} s it still was {value!r:.2000}")
        time.sleep(pause_s)
        pause_s = min(1.25 * pause_s, LONGEST_PAUSE_S)
