"""What a client knows of a session when it follows the rules: repeats dropped, gaps noticed.

It must not send anything. Source: docs/wire.md, "WebSocket".
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from everturn.push.envelopes import Cursor


@dataclass(slots=True)
class Follower:
    """One client's view: events in their order, and the deltas between them."""

    cursor: str = ""
    """Of the last frame that was taken in; to be handed in when coming back."""

    seq: int = 0
    dispatch_seq: int = 0
    n: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    """Envelopes, from event 1 on."""

    said: defaultdict[tuple[str, int], str] = field(default_factory=lambda: defaultdict(str))
    """What the deltas of a call's attempt add up to."""

    early: dict[tuple[int, int, int], dict[str, Any]] = field(default_factory=dict)
    """Frames whose predecessor has not come, by their place."""

    @property
    def has_gap(self) -> bool:
        """Whether something is missing before what came."""
        return bool(self.early)

    def event(self, place: Cursor, prev_seq: int, envelope: dict[str, Any]) -> None:
        """Take an event in."""
        if place.seq <= self.seq:
            return
        if prev_seq > self.seq:
            frame = {"place": place, "prev_seq": prev_seq, "envelope": envelope}
            self.early[place.seq, 0, 0] = frame
            return
        self.seq = place.seq
        self.events.append(envelope)
        self._at(place)
        if envelope["payload"]["type"] in {"llm.call.completed", "llm.call.errored"}:
            self._forget_pieces()  # the event has everything that they said
        self._catch_up()

    def delta(self, place: Cursor, prev_n: int, delta: dict[str, Any]) -> None:
        """Take a piece of an answer in."""
        if (place.dispatch_seq, place.n) <= (self.dispatch_seq, self.n):
            return
        known_n = self.n if place.dispatch_seq == self.dispatch_seq else 0
        if prev_n != known_n:
            frame = {"place": place, "prev_n": prev_n, "delta": delta}
            self.early[0, place.dispatch_seq, place.n] = frame
            return
        self.said[delta["call_id"], delta["attempt"]] += delta.get("text") or ""
        self._at(place)
        self._catch_up()

    def come_back(self) -> str:
        """Return the cursor to go on from; what came early will come again."""
        self.early.clear()
        return self.cursor

    def _at(self, place: Cursor) -> None:
        self.cursor = place.text()
        pieces = max((self.dispatch_seq, self.n), (place.dispatch_seq, place.n))
        self.dispatch_seq, self.n = pieces

    def _forget_pieces(self) -> None:
        self.early = {place: frame for place, frame in self.early.items() if place[0]}

    def _catch_up(self) -> None:
        for place in sorted(self.early):
            frame = self.early.pop(place, None)
            if frame is not None and "delta" in frame:
                self.delta(**frame)
            elif frame is not None:
                self.event(**frame)


def read_frames(text: str) -> list[tuple[str, str, str]]:
    """Return id, event and data of the server-sent events in an answer."""
    frames = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields:
            frames.append((fields["id"], fields["event"], fields["data"]))
    return frames
