"""How many deliveries a session may have at once; who takes a place is decided elsewhere."""

from __future__ import annotations

from typing import Final

from everturn.session.state import Call, Decision, Session

RUNS_TOOLS: Final = ("tool.execute", "tool.poll")
"""Triggers that a tool of the worker answers."""

OVERLAPPING: Final = 10
"""Deliveries of overlapping tools at once, beside the one slot. Source: decision-protocol O-5."""


def has_room(session: Session, call: Call) -> bool:
    """Return whether `call` could be delivered now; a delivery that waits keeps its place. D-2.

    A client is told of calls at once, but for those that are to be run one after another.
    """
    if call.handler == "client":
        return _has_turn(session, call)
    calls = {one.id: one for one in session.calls}
    delivered = [calls[one.call_id] for one in session.decisions if one.call_id in calls]
    if call.overlap:
        return sum(one.overlap for one in delivered) < OVERLAPPING
    return not any(not one.overlap for one in delivered)


def _has_turn(session: Session, call: Call) -> bool:
    """Return whether nothing that the client is to end first stands before its `call`."""
    names = [one.id for one in session.calls]
    before = session.calls[: names.index(call.id)] if call.id in names else ()
    tools = [one for one in before if one.kind == "tool_call" and one.handler == "client"]
    return not any(call.is_serial or one.is_serial for one in tools)


def may_go_live(session: Session, decision: Decision) -> bool:
    """Return whether a queued question has a place: the slot, or one in the pool.

    While the path is paused everything is held but the session's start and an input that leaves it.
    Source: D-1, D-16, O-5.
    """
    is_held = decision.trigger != "session.start" and not decision.leaves
    if session.is_paused and is_held:
        return False
    overlaps = _overlaps(session, decision)
    placed = [one for one in session.decisions if one.status != "queued"]
    if overlaps:
        return sum(_overlaps(session, one) for one in placed) < OVERLAPPING
    return all(_overlaps(session, one) for one in placed)


def _overlaps(session: Session, decision: Decision) -> bool:
    call = session.call(decision.call_id) if decision.trigger in RUNS_TOOLS else None
    return call is not None and call.overlap
