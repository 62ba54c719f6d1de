"""Pushing to many connections at once, a lane each; it knows no session and keeps nothing."""

from __future__ import annotations

from threading import Condition
from typing import Final

from everturn.push.frames import Push
from everturn.push.lane import Lane, LaneLimits, OnEnd, Post, to_item

CLOSE_S: Final = 2.0
"""How long closing waits for reports of readers who are owed events."""


class Lanes:
    """The lanes of one process or one invocation. No method but `flush` waits for the network.

    Events reach a connection in order, or its lane ends and `on_end(connection_id, why)` is called,
    from the lane's thread. Deltas may be merged and, where a connection is throttled or fails, be
    lost: what they add up to comes as an event. Source: architecture, section 7.
    """

    def __init__(self, post: Post, *, on_end: OnEnd, limits: LaneLimits | None = None) -> None:
        self._post = post
        self._on_end = on_end
        self._limits = limits or LaneLimits()
        self._changed = Condition()
        self._lanes: dict[str, Lane] = {}
        self._closed = False

    @property
    def lost_deltas(self) -> int:
        """How many deltas were not delivered; merged ones count as delivered."""
        with self._changed:
            return sum(lane.lost_deltas for lane in self._lanes.values())

    def push(self, connection_id: str, push: Push) -> bool:
        """Queue `push`; False once the connection's lane has ended, or after `close`."""
        item = to_item(push)
        with self._changed:
            if self._closed:
                return False
            return self._lane(connection_id).put(item)

    def expire(self, connection_id: str) -> None:
        """End a connection's lane, because it may not be shown anything more."""
        with self._changed:
            if not self._closed:
                self._lane(connection_id).expire()

    def _lane(self, connection_id: str) -> Lane:
        lane = self._lanes.get(connection_id)
        if lane is None:
            lane = Lane(connection_id, self._post, self._changed, self._limits, self._on_end)
            self._lanes[connection_id] = lane
        return lane

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing waits nor is under way; False where `timeout_s` was too short."""
        with self._changed:
            return self._changed.wait_for(self._is_idle, timeout_s)

    def forget(self, connection_id: str) -> None:
        """Drop a connection's lane and what waits in it; a later push begins a new one."""
        with self._changed:
            lane = self._lanes.pop(connection_id, None)
            if lane is not None:
                lane.stop()

    def close(self) -> None:
        """Drop what still waits and take no more; `flush` comes first where that matters.

        Who is owed an event is reported, as nothing else would tell them of their gap; another
        `flush` waits for the reports.
        """
        with self._changed:
            self._closed = True
            for lane in self._lanes.values():
                lane.end()

    def _is_idle(self) -> bool:
        return not any(lane.busy for lane in self._lanes.values())
