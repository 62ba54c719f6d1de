"""What is kept beside the log while somebody reads: deltas, and who watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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

    created: str = field(default="", compare=False)
    """The incarnation that it belongs to: a deleted session's id can be used again."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """A connection that subscribed to a session."""

    connection_id: str
    subscription: str
    """The id that the client gave its subscription; frames carry it."""

    turn_id: str = ""
    """Only this turn is wanted, where set."""

    until_epoch_s: int | None = None
    """From when on it may not be shown anything more; never where it is None."""

    frontend: bool = False
    """It subscribed with a client token, and is shown what those may see. Source: E-8."""

    def has_lapsed(self, now_ms: int) -> bool:
        """Return whether its time is over."""
        return self.until_epoch_s is not None and self.until_epoch_s * 1000 <= now_ms


@dataclass(frozen=True, slots=True)
class Watch:
    """Who reads a session now."""

    watchers: tuple[Watcher, ...] = ()
    reader_until_ms: int = 0
    """A long-poll reader is there until then."""

    created: str = field(default="", compare=False)
    """The incarnation that they read; empty where nobody said."""

    def of(self, created: str) -> Watch:
        """Return the readers of an incarnation: those of an earlier one are none of its."""
        return self if not created or self.created in {"", created} else Watch()

    def live(self, now_ms: int) -> tuple[Watcher, ...]:
        """Return who may be shown something now."""
        return tuple(watcher for watcher in self.watchers if not watcher.has_lapsed(now_ms))

    def lapsed(self, now_ms: int) -> tuple[str, ...]:
        """Return the connections of those whose time is over."""
        over = [watcher.connection_id for watcher in self.watchers if watcher.has_lapsed(now_ms)]
        return tuple(dict.fromkeys(over))

    def is_read(self, now_ms: int) -> bool:
        """Return whether anybody would see a delta."""
        return bool(self.live(now_ms)) or self.reader_until_ms > now_ms
