"""One connection's pushes in their order, on a thread while there are any; knows no other lane."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import uniform
from threading import Condition, Thread
from time import monotonic
from typing import assert_never

from everturn.push.coalesce import INTERVAL_S
from everturn.push.frames import DeltaPush, EventPush, Push, delta_frame, event_frame, joined
from everturn.push.outcome import Failed, Gone, PushOutcome, Sent, Throttled, TooLarge

Post = Callable[[str, bytes], PushOutcome]


class LaneEnd(StrEnum):
    """Why a lane takes no more; unless it is `gone`, its reader has a gap."""

    GONE = "gone"
    FULL = "full"
    FAILED = "failed"
    LATE = "late"
    """There was no more time to send its events."""

    EXPIRED = "expired"
    """Its token is over: it may not be shown them."""


OnEnd = Callable[[str, LaneEnd], None]


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """How much a lane holds and how patient it is."""

    waiting: int = 1000
    """Pushes that may wait. Source: E-6."""

    waiting_bytes: int = 8 * 1024 * 1024
    """Of waiting events."""

    interval_s: float = INTERVAL_S
    """What a refused delta doubles, to wait that long before the next; see architecture, 7."""

    max_interval_s: float = 4.0

    backoff_s: float = 0.1
    """At most, before a throttled or failed event is tried again; doubles up to `max_backoff_s`."""

    max_backoff_s: float = 3.0
    failures: int = 5
    """Of one event in a row; being throttled does not count."""

    between: Callable[[float, float], float] = uniform
    """Draws each wait, at least half of the backoff: lanes that are throttled together part."""


class Lane:
    """All methods without an underscore want the condition held, which many lanes may share."""

    def __init__(
        self, connection_id: str, post: Post, changed: Condition, limits: LaneLimits, on_end: OnEnd
    ) -> None:
        self.busy = False
        """True from a push until there is nothing left to do, nor to report."""
        self.lost_deltas = 0
        self._connection_id = connection_id
        self._post = post
        self._changed = changed
        self._limits = limits
        self._on_end = on_end
        self._waiting: deque[DeltaPush | bytes] = deque()
        self._waiting_bytes = 0
        self._refused: dict[str, DeltaPush] = {}
        """Throttled, by subscription: sent with what continues them, never again as they were."""

        self._sends_event = False
        self._stopped = False
        self._end: LaneEnd | None = None
        self._interval_s = limits.interval_s
        self._next_delta_s = 0.0

    def put(self, item: DeltaPush | bytes) -> bool:
        """Queue a delta, or the frame of an event; False once the lane has ended."""
        if self._stopped:
            return False
        size_bytes = len(item) if isinstance(item, bytes) else 0
        full = len(self._waiting) >= self._limits.waiting
        if full and isinstance(item, DeltaPush):
            self.lost_deltas += 1
            return True
        if full or self._waiting_bytes + size_bytes > self._limits.waiting_bytes:
            self._finish(LaneEnd.FULL)
            return False
        self._waiting.append(item)
        self._waiting_bytes += size_bytes
        self._changed.notify_all()
        self._start()
        return True

    def _start(self) -> None:
        if not self.busy:
            self.busy = True
            Thread(target=self._run, name="push-lane", daemon=True).start()

    def stop(self) -> None:
        """Take no more and drop what waits."""
        self._stopped = True
        self._waiting.clear()
        self._changed.notify_all()

    def end(self) -> None:
        """Take no more; a reader who is owed an event is reported as late."""
        if self._sends_event or not self._has_only_deltas():
            self._finish(LaneEnd.LATE)
        else:
            self.stop()

    def expire(self) -> None:
        """Take no more and drop what waits, and report that; nothing where it has ended already."""
        if not self._stopped:
            self._finish(LaneEnd.EXPIRED)
            self._start()

    def _finish(self, why: LaneEnd) -> None:
        """End the lane for a reason, which its thread reports."""
        self._end = self._end or why
        self.stop()

    def _run(self) -> None:
        while (item := self._take()) is not None:
            match item:
                case bytes():
                    self._send_event(item)
                case DeltaPush():
                    self._send_delta(item)
                case _:
                    assert_never(item)
        if self._end is not None:
            self._report(self._end)

    def _report(self, why: LaneEnd) -> None:
        try:
            self._on_end(self._connection_id, why)
        finally:
            with self._changed:
                self.busy = False
                self._changed.notify_all()

    def _take(self) -> DeltaPush | bytes | None:
        """Wait for what comes next, a delta with all around it that it can be merged with."""
        with self._changed:
            while self._waiting and self._has_only_deltas() and self._wait_s() > 0:
                self._changed.wait(self._wait_s())
            if not self._waiting:
                self.busy = self._end is not None
                self._changed.notify_all()
                return None
            item = self._waiting.popleft()
            if isinstance(item, bytes):
                self._waiting_bytes -= len(item)
                self._sends_event = True
                return item
            return self._with_refused(self._with_later_parts(item))

    def _wait_s(self) -> float:
        return self._next_delta_s - monotonic()

    def _has_only_deltas(self) -> bool:
        """An event must not wait for the pace of deltas."""
        return not any(isinstance(item, bytes) for item in self._waiting)

    def _with_refused(self, delta: DeltaPush) -> DeltaPush:
        """Merge `delta` with the refused one before it; one that it does not continue is lost."""
        refused = self._refused.pop(delta.subscription, None)
        if refused is None:
            return delta
        both = joined(refused, delta)
        self.lost_deltas += both is None
        return both or delta

    def _with_later_parts(self, first: DeltaPush) -> DeltaPush:
        """Merge `first` with what continues it, up to the next event."""
        kept: deque[DeltaPush | bytes] = deque()
        open_ = True
        while self._waiting:
            item = self._waiting.popleft()
            both = joined(first, item) if open_ and isinstance(item, DeltaPush) else None
            if both is not None:
                first = both
                continue
            kept.append(item)
            if isinstance(item, bytes) or first.joins(item):
                open_ = False
        self._waiting = kept
        return first

    def _send_delta(self, delta: DeltaPush) -> None:
        """Send it once; throttled, it waits to be merged with what continues it."""
        outcome = self._post(self._connection_id, delta_frame(delta))
        with self._changed:
            match outcome:
                case Sent():
                    slowed = self._interval_s > self._limits.interval_s
                    self._next_delta_s = monotonic() + self._interval_s if slowed else 0.0
                    self._interval_s = max(self._interval_s / 2, self._limits.interval_s)
                case Gone():
                    self._finish(LaneEnd.GONE)
                case Throttled():
                    self._interval_s = min(self._interval_s * 2, self._limits.max_interval_s)
                    self._next_delta_s = monotonic() + self._interval_s
                    self._refused[delta.subscription] = delta
                case TooLarge() | Failed():
                    self.lost_deltas += 1
                case _:
                    assert_never(outcome)

    def _send_event(self, frame: bytes) -> None:
        """Send it until it is taken, in growing intervals; the lane ends where that is hopeless."""
        self._deliver(frame)
        with self._changed:
            self._sends_event = False

    def _deliver(self, frame: bytes) -> None:
        backoff_s, failures = self._limits.backoff_s, 0
        while True:
            match self._post(self._connection_id, frame):
                case Sent():
                    return
                case Gone():
                    why, give_up = LaneEnd.GONE, True
                case TooLarge():
                    why, give_up = LaneEnd.FAILED, True
                case Throttled():
                    why, give_up = LaneEnd.FAILED, False
                case Failed():
                    failures += 1
                    why, give_up = LaneEnd.FAILED, failures >= self._limits.failures
                case other:
                    assert_never(other)
            with self._changed:
                if give_up:
                    self._finish(why)
                    return
                wait_s = self._limits.between(backoff_s / 2, backoff_s)
                if self._changed.wait_for(lambda: self._stopped, wait_s):
                    return
            backoff_s = min(backoff_s * 2, self._limits.max_backoff_s)


def to_item(push: Push) -> DeltaPush | bytes:
    """Return what a lane queues: an event as its frame, a delta as it is, for it may be merged."""
    match push:
        case EventPush():
            return event_frame(push)
        case DeltaPush():
            return push
        case _:
            assert_never(push)
