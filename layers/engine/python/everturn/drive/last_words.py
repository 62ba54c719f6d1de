"""What a model call had said when it was given up: remembered by who ran it, else read back.

It must not run a call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from everturn.drive.holding import MakeCommand
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.protocol.llm import StreamDelta
from everturn.session.commands import NoteAborted
from everturn.session.events.shape import Usage
from everturn.session.propose import NoteLastWords

FRAMES_PER_READ: Final = 1_000
"""Kept frames of an answer that are read at once."""


@dataclass(slots=True)
class Said:
    """One attempt's words so far. Its thread adds, the driver's loop reads, at any time."""

    pieces: list[str] = field(default_factory=list)
    usage: Usage | None = None

    def hear(self, delta: StreamDelta) -> None:
        """Take the next piece of the answer."""
        if delta.text:
            self.pieces.append(delta.text)


def last_words(
    effect: NoteLastWords, said: Said | None, store: SessionStore, key: SessionKey
) -> MakeCommand:
    """Return what records the words of an attempt; `said` is `None` where another driver ran it.

    Then they are what its readers were shown, kept for an hour. Source: storage-and-commits,
    "Cancel".
    """
    if said is None:
        text, usage = _kept(effect, store, key), None
    else:
        text, usage = "".join(said.pieces), said.usage
    return lambda stamp, facts: NoteAborted(stamp, facts, effect.call_id, text, usage)


def _kept(effect: NoteLastWords, store: SessionStore, key: SessionKey) -> str:
    pieces: list[str] = []
    dispatch_seq, n = effect.seq, 0
    while True:
        frames = store.deltas(key, dispatch_seq, n, FRAMES_PER_READ)
        pieces += [
            frame.body.get("text") or ""
            for frame in frames
            if (frame.call_id, frame.attempt) == (effect.call_id, effect.attempt)
        ]
        if len(frames) < FRAMES_PER_READ:
            return "".join(pieces)
        dispatch_seq, n = frames[-1].dispatch_seq, frames[-1].n
