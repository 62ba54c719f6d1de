"""What goes between engine and worker, and what a client says, as one JSON Schema.

It must not hold a fact about a message: those are the models in `everturn.protocol`.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.protocol.action import SettleAction
from everturn.protocol.client_input import ClientInput, SubmitInput
from everturn.protocol.decision import DecisionRequest, DecisionResponse
from everturn.protocol.frames import TokenDelta
from everturn.protocol.llm import StreamDelta
from everturn.protocol.outside import LateAnswer
from everturn_local.openapi.schemas import Schema, reachable, schemas_of

REF: Final = "#/$defs/{model}"

ABOUT: Final = (
    "A document has one of these members. A worker is sent a `decision_request` and returns a "
    "`decision_response`; where it streams, its `stream.delta` frames are each a `stream_delta`. "
    "What it does not answer at once it sends as a `late_answer` to `POST /v1/workers/submit`, or "
    "as a `settlement` to `POST /v1/sessions/{session_id}/calls/settle`. A `client_input` stands "
    "in `POST /v1/sessions/input`; a `client_payload` is one that begins or extends a turn. "
    "Subscribers see a `token_delta`. An optional member may be null, which says the same as its "
    "absence."
)

MEMBERS: Final[dict[str, tuple[str, Any]]] = {
    "decision_request": ("DecisionRequest", DecisionRequest),
    "decision_response": ("DecisionResponse", DecisionResponse),
    "late_answer": ("LateAnswer", LateAnswer),
    "settlement": ("Settlement", SettleAction),
    "client_input": ("ClientInput", ClientInput),
    "client_payload": ("ClientPayload", SubmitInput),
    "stream_delta": ("StreamDelta", StreamDelta),
    "token_delta": ("TokenDelta", TokenDelta),
}
"""The members, each with the name and the type of its definition."""


def decisions_schema(version: str) -> Schema:
    """Return the whole schema."""
    named, definitions = schemas_of(dict(MEMBERS.values()), REF)
    roots = {member: {"$ref": REF.format(model=name)} for member, (name, _) in MEMBERS.items()}
    whole = {name: schema for name, schema in named.items() if "$ref" not in schema}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Everturn {version}: decisions and inputs",
        "description": ABOUT,
        "type": "object",
        "properties": roots,
        "additionalProperties": False,
        "$defs": reachable(roots, definitions | whole),
    }
