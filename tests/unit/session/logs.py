"""Logs for tests: bodies in place, the path that they make, the requests that they rebuild to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.runs import RunRequested
from everturn.session.events.stored import Event, from_json, to_json
from everturn.session.facts import PathMessage
from everturn.session.refs import pick, put
from everturn.session.request import BuiltRequest, build_request, explicit_request


def filled(log: Sequence[Event], before: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """Return the stored JSON of events with every body in its place; `before` are earlier ones."""
    values = list(before)
    for event in log:
        value = to_json(event)
        value.pop("refs", None)
        for name, ref in event.refs.items():
            assert ref.place is not None
            value = put(value, name, pick(values[ref.place.seq - 1], ref.place.field))
        values.append(value)
    return values


def path_of(
    values: Sequence[Mapping[str, Any]], from_seq: int = 1, head_id: str | None = None
) -> tuple[PathMessage, ...]:
    """Return the messages that lead to one, by default where the head is, of a log in place."""
    nodes = {}
    for seq, value in enumerate(values, start=1):
        if value["type"] == "message.new":
            nodes[value["id"]] = (seq, value)
    moves = [v for v in values if v["type"] in {"message.new", "head.moved"}]
    at = head_id or (moves[-1].get("to") or moves[-1]["id"] if moves else None)
    path = []
    while at is not None:
        seq, value = nodes[at]
        is_error = bool(value["private"].get("is_error"))
        if seq >= from_seq:
            size_bytes = value["private"]["size_bytes"]
            path.append(PathMessage(seq, value["message"], size_bytes, is_error))
        at = value.get("parent_id")
    return tuple(path[::-1])


def rebuilt(values: Sequence[Mapping[str, Any]], asked: ModelCallRequested) -> BuiltRequest:
    """Return the request of a model call from the log alone. Source: session-log RH-5."""
    header = values[asked.private.header_seq - 1]["header"]
    bounds = asked.private.boundary
    if asked.messages is not None:
        return explicit_request(header, asked.messages)
    if bounds is None:
        return build_request(header, ())
    path = path_of(values[: bounds.head_seq], bounds.from_seq, bounds.head_id)
    return build_request(header, path)


def waiting_in(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the messages that waited, by their items' ids, as they were edited last."""
    kinds = {"inbox.enqueued", "inbox.updated"}
    return {value["item_id"]: value["message"] for value in values if value["type"] in kinds}


def orders_in(values: Sequence[Mapping[str, Any]]) -> dict[str, RunRequested]:
    """Return what turns were asked for with, by their ids."""
    events = [from_json(dict(value)) for value in values if value["type"] == "run.requested"]
    return {event.turn_id or "": event for event in events if isinstance(event, RunRequested)}
