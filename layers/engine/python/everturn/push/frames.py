"""What a lane carries, and its bytes; who gets which frame is decided elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from everturn.protocol.limits import WEBSOCKET_OUTBOUND_BYTES
from everturn.protocol.llm import StreamDelta
from everturn.push.coalesce import merged


@dataclass(frozen=True, slots=True)
class EventPush:
    """One event for one subscription. It is delivered, or the lane ends and says so."""

    subscription: str
    """The id that the client gave its subscription."""

    session_id: str
    seq: int
    prev_seq: int
    """The event before this one in this subscription's stream; a client sees a gap by it."""

    cursor: str
    envelope: Mapping[str, Any] | None
    """`{session_id, seq, occurred_at, turn_id?, payload}`, as E-1 has it; None where all that came
    up to `seq` is not for this reader, who must know that nothing is missing."""


@dataclass(frozen=True, slots=True)
class DeltaPush:
    """One piece of a streamed answer for one subscription. It may be merged with those after it."""

    subscription: str
    session_id: str
    cursor: str
    agent_id: str
    turn_id: str | None
    call_id: str
    attempt: int
    seq: int
    """Counts per call and attempt; a merged piece has that of its last part."""

    delta: StreamDelta
    prev_n: int | None = None
    """The piece before the first part; `seq - 1` unless this one was merged."""

    repeated: bool = False
    """Its reader may have it already: merged with another one, it could not be dropped alone."""

    def joins(self, after: DeltaPush) -> bool:
        """Tell whether `after` continues this answer, for the same reader."""
        if self.repeated or after.repeated:
            return False
        return (self.subscription, self.session_id, self.call_id, self.attempt) == (
            after.subscription,
            after.session_id,
            after.call_id,
            after.attempt,
        )


Push = EventPush | DeltaPush


def event_frame(push: EventPush) -> bytes:
    """Return the frame of an event: an `event_ref` over 128 KB, `skipped` where it is not shown.

    Source: architecture, section 7; E-1.
    """
    place = {
        "id": push.subscription,
        "session_id": push.session_id,
        "seq": push.seq,
        "prev_seq": push.prev_seq,
        "cursor": push.cursor,
    }
    if push.envelope is None:
        return _to_bytes({"type": "skipped", **place})
    frame = _to_bytes({"type": "event", **place, "event": push.envelope})
    if len(frame) <= WEBSOCKET_OUTBOUND_BYTES:
        return frame
    event_type = push.envelope["payload"]["type"]
    return _to_bytes({"type": "event_ref", **place, "event_type": event_type})


def delta_frame(push: DeltaPush) -> bytes:
    """Return the frame of a piece, its delta as E-4 has it."""
    turn = {} if push.turn_id is None else {"turn_id": push.turn_id}
    token_delta = {
        "type": "llm.token.delta",
        "session_id": push.session_id,
        "agent_id": push.agent_id,
        **turn,
        "call_id": push.call_id,
        "attempt": push.attempt,
        "seq": push.seq,
        **push.delta.model_dump(mode="json"),
    }
    return _to_bytes(
        {
            "type": "delta",
            "id": push.subscription,
            "session_id": push.session_id,
            "cursor": push.cursor,
            "prev_n": before(push),
            "delta": token_delta,
        }
    )


def joined(first: DeltaPush, after: DeltaPush) -> DeltaPush | None:
    """Return both as one, at the place of the later; None where they do not fit together."""
    if not first.joins(after):
        return None
    pieces = merged([first.delta, after.delta])
    if len(pieces) != 1:
        return None
    return replace(after, delta=pieces[0], prev_n=before(first))


def before(push: DeltaPush) -> int:
    """Return the number of the piece that a reader must have before this one."""
    return push.seq - 1 if push.prev_n is None else push.prev_n


def _to_bytes(frame: Mapping[str, Any]) -> bytes:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode()
