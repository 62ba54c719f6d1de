"""The frames of the WebSocket API as one JSON Schema.

It must not hold a fact about a frame: those are the models in `everturn.protocol.frames`.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.protocol.frames import InFrame, OutFrame
from everturn_local.openapi import examples
from everturn_local.openapi.events import wire_schemas
from everturn_local.openapi.schemas import Schema, reachable

REF: Final = "#/$defs/{model}"

ABOUT: Final = (
    "One frame, either way. A client sends a `ClientFrame`, at most 32 KB; the tag is `action`. "
    "It gets `ServerFrame`s, at most 128 KB each; the tag is `type`. The connection is opened with "
    "the credential of an HTTP request."
)

CLIENT_EXAMPLES: Final[list[dict[str, Any]]] = [
    {"action": "subscribe", "id": "s1", "session_id": "first", "after": "15.13-1"},
    {"action": "input", "id": "i1", **examples.INPUTS[0][1]},
    {"action": "unsubscribe", "id": "s1"},
    {"action": "ping"},
]

_PLACE: Final = {"id": "s1", "session_id": "first"}

SERVER_EXAMPLES: Final[list[dict[str, Any]]] = [
    {"type": "subscribed", **_PLACE, "seq": 21},
    {
        "type": "event",
        **_PLACE,
        "cursor": "15.13-1",
        "seq": 15,
        "prev_seq": 14,
        "event": examples.EVENT,
    },
    {"type": "delta", **_PLACE, "cursor": "14.13-1", "prev_n": 0, "delta": examples.DELTA},
    {"type": "more", **_PLACE, "cursor": "500.0-0"},
    {"type": "accepted", "id": "i1", **examples.ACCEPTED},
    {
        "type": "error",
        "id": "s1",
        "error": "unknown_session",
        "code": "unknown_session",
        "message": "There is no session first.",
    },
]


def frames_schema(version: str) -> Schema:
    """Return the whole schema."""
    made = wire_schemas({"ClientFrame": InFrame, "ServerFrame": OutFrame}, REF)
    client = {**made["ClientFrame"], "description": "In.", "examples": CLIENT_EXAMPLES}
    server = {**made["ServerFrame"], "description": "Out.", "examples": SERVER_EXAMPLES}
    roots = [{"$ref": REF.format(model=name)} for name in ("ClientFrame", "ServerFrame")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Everturn {version}: WebSocket frames",
        "description": ABOUT,
        "oneOf": roots,
        "$defs": reachable(roots, {**made, "ClientFrame": client, "ServerFrame": server}),
    }
