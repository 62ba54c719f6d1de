"""How many deliveries a session may have at once; who takes a place is decided elsewhere."""

from __future__ import annotations

from typing import Final

from everturn.session.state import Call, Session

OVERLAPPING: Final = 10
"""Deliveries of overlapping tools at once, beside the one slot. Source: decision-protocol O-5."""


def has_room(session: Session, call: Call) -> bool:
    """Return whether `call` could be delivered now; a delivery that waits keeps its place. D-2."""
    calls = {one.id: one for one in session.calls}
    delivered = [calls[one.call_id] for one in session.decisions if one.call_id in calls]
    if call.overlap:
        return sum(one.overlap for one in delivered) < OVERLAPPING
    return not any(not one.overlap for one in delivered)
