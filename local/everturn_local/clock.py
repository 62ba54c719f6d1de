"""The runtime's clock: real time plus what was skipped. It plays no timers itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class LocalClock:
    """Epoch seconds that a test or a demo may move forward.

    Step machine waits, schedules, queue visibility and WebSocket limits live on this clock;
    function timeouts and HTTP timeouts live on real time.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._skipped_s = 0.0
        self._listeners: list[Callable[[], None]] = []

    def now(self) -> float:
        """Epoch seconds, skipped time included."""
        return time.time() + self._skipped_s

    def now_ms(self) -> float:
        """Epoch milliseconds, skipped time included."""
        return self.now() * 1000

    def skip(self, seconds: float) -> None:
        """Move the clock forward and wake everything that waits on it."""
        if seconds < 0:
            raise ValueError("a clock only moves forward")
        with self._changed:
            self._skipped_s += seconds
        self.nudge()

    def nudge(self) -> None:
        """Make every waiter look again at the time and at its own reason to stop."""
        with self._changed:
            self._changed.notify_all()
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener()

    def on_skip(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every skip, on the skipping thread."""
        with self._changed:
            self._listeners.append(listener)

    def wait_until(self, epoch_s: float, *, stopped: Callable[[], bool]) -> bool:
        """Block until `epoch_s`; True when it came, False when `stopped()` was true first.

        Who makes `stopped()` true calls `nudge` afterwards.
        """
        with self._changed:
            while not stopped():
                left_s = epoch_s - self.now()
                if left_s <= 0:
                    return True
                self._changed.wait(left_s)
        return False
