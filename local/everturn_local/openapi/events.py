"""Stored events to the JSON Schemas of what clients see of them.

It must not know how an event is written or shown; it follows the lists that the showing goes by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from everturn.protocol.agent import AgentConfig, RetryPolicy
from everturn.protocol.llm import LlmRequest, Usage
from everturn.protocol.message import Message
from everturn.push.envelopes import HIDDEN, NAMES_ITS_TURN, SHOWN_AT_DEFAULT
from everturn.session.events.shape import Stored
from everturn.session.events.stored import Event
from everturn_local.openapi.schemas import Schema, schemas_of

EVENT_KINDS: Final[tuple[type[Stored], ...]] = get_args(Event)

NEVER_SHOWN: Final = frozenset({"private", "refs", "turn_id"})
"""Fields that every stored event has or may have beside what it says."""

TYPED: Final[dict[str, type]] = {
    "message": Message,
    "agent": AgentConfig,
    "retry": RetryPolicy,
    "usage": Usage,
    "request": LlmRequest,
}
"""Fields that are stored in another form than they are shown in, and what is shown."""

ONLY_SHOWN: Final = {
    "llm.call.requested": ("request", "What the model was sent; in a page with `requests=true`.")
}
"""A field that readers may be given and the log does not hold, and what it says."""

MOMENT: Final[Schema] = {"type": "string", "format": "date-time"}


def wire_schemas(kinds: Mapping[str, Any], ref_template: str) -> Schema:
    """Return the schemas of `kinds` and of all that they refer to, by name.

    The payload of an event envelope is one of the events. `ref_template` has `{model}` in it.
    """
    named, definitions = schemas_of(kinds, ref_template)
    payloads, parts = payload_schemas(ref_template)
    names = {str(kind.model_fields["type"].default): kind.__name__ for kind in EVENT_KINDS}
    events = {names[event_type]: schema for event_type, schema in payloads.items()}
    whole = {name: schema for name, schema in named.items() if "$ref" not in schema}
    made = parts | definitions | whole | events
    refs = {event_type: ref_template.format(model=name) for event_type, name in names.items()}
    made["EventPayload"] = {
        "description": "What happened; `type` names it.",
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": "type", "mapping": refs},
    }
    made["EventEnvelope"]["properties"]["payload"] = {
        "$ref": ref_template.format(model="EventPayload")
    }
    return made


def payload_schemas(ref_template: str) -> tuple[Schema, Schema]:
    """Return the payload's schema of each event type by name, and the definitions they refer to."""
    kinds = {str(kind.model_fields["type"].default): kind for kind in EVENT_KINDS}
    stored, parts = schemas_of(kinds, ref_template)
    typed, definitions = schemas_of(TYPED, ref_template)
    shown = {name: _shown(name, _in_full(stored[name], parts), typed) for name in kinds}
    return shown, parts | definitions


def _in_full(schema: Schema, definitions: Schema) -> Schema:
    full: Schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return full


def _shown(event_type: str, stored: Schema, typed: Schema) -> Schema:
    """Return the public form: no private field, moments as text, defaults that are shown."""
    hidden = HIDDEN.get(event_type, frozenset()) | NEVER_SHOWN | {"type"}
    always = {"type", *stored.get("required", ()), *SHOWN_AT_DEFAULT.get(event_type, ())}
    properties: Schema = {"type": {"const": event_type, "type": "string"}}
    required = ["type"]
    if event_type in NAMES_ITS_TURN:
        properties["turn_id"] = {"type": "string"}
        required.append("turn_id")
    for name, schema in stored["properties"].items():
        if name not in hidden:
            properties[name.removesuffix("_ms")] = _field(name, schema, typed)
            required += [name.removesuffix("_ms")] if name in always else []
    if event_type in ONLY_SHOWN:
        name, told = ONLY_SHOWN[event_type]
        properties[name] = {**typed[name], "description": told}
    return {
        "type": "object",
        "description": stored["description"],
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _field(name: str, schema: Schema, typed: Schema) -> Schema:
    if name.endswith("_ms"):
        return {**MOMENT}
    if name in typed:
        return {**typed[name]}
    return {key: value for key, value in schema.items() if key != "default"}
