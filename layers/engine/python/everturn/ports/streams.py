"""What is kept beside the log while somebody reads: deltas, and who watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Delta:
    """One frame of stream output. Source: storage-and-commits, "Streams"."""

    dispatch_seq: int
    """The newest `llm.call.dispatched` when it was made."""

    n: int
    """Position among the frames of that dispatch, from 1; a merged one has its last."""

    call_id: str
    attempt: int
    turn_id: str
    body: Mapping[str, Any]
    """A `StreamDelta` as JSON."""

    merged_from: int = 0
    """First position of a merged range; 0 for a frame on its own."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """A connection that subscribed to a session."""

    connection_id: str
    subscription: str
    """The id that the client gave its subscription; frames carry it."""

    turn_id: str = ""
    """Only this turn is wanted, where set."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Who reads a session now."""

    watchers: tuple[Watcher, ...] = ()
    reader_until_ms: int = 0
    """A long-poll reader is there until then."""

    def is_read(self, now_ms: int) -> bool:
        """Return whether anybody would see a delta."""
        return bool(self.watchers) or self.reader_until_ms > now_ms
