"""The HTTP API as an OpenAPI 3.1 document, made from the routes, the table and the wire models.

It must not hold a fact about a route: where one is missing, it belongs into the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel

from everturn.ports.callers import Who
from everturn.protocol.decision import DecisionRequest, DecisionResponse
from everturn.protocol.events import EventEnvelope
from everturn.protocol.frames import TokenDelta
from everturn.protocol.runs.frame_views import RunFrameView
from everturn.protocol.views import ErrorBody
from everturn.surfaces.routes import ROUTES, WORKSPACE, Route
from everturn_local.openapi import examples
from everturn_local.openapi.answers import REF, content, ref, responses, shared_responses
from everturn_local.openapi.events import wire_schemas
from everturn_local.openapi.operations import OPERATIONS, PATH_PARAMETERS
from everturn_local.openapi.schemas import Schema, reachable
from everturn_local.openapi.shape import EVENT_STREAM, JSON, Given

ABOUT: Final = (
    "Durable sessions of AI agents. Bodies are strict: an unknown field of a request is refused, "
    "and `null` for an optional field is the same as leaving it out. The bodies below "
    "`/api/v1/workspaces` take unknown fields, and do nothing with them. Answers may gain optional "
    "fields, events may gain types: clients skip what they do not know. Every answer has "
    "`cache-control: no-store`. The WebSocket API is described by `websocket.schema.json`."
)

SECURITY_SCHEMES: Final[Schema] = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of one tenant, as `Authorization: Bearer <key>`.",
    },
    "apiKeyHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same key in a header of its own.",
    },
    "clientToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A short-lived token of one owner; what it may do are its scopes.",
    },
}

KEYS: Final[list[Schema]] = [{"apiKey": []}, {"apiKeyHeader": []}]

SERVERS: Final = [
    {
        "url": "{base_url}",
        "description": "The address that `make dev` prints, or the output `HttpUrl` of the stack.",
        "variables": {"base_url": {"default": "http://127.0.0.1:8700"}},
    }
]

WORKER_HEADERS: Final = (
    ("X-Decision-Id", "The same as in the body.", True),
    ("X-Decision-Attempt", "The same as in the body.", True),
    ("Idempotency-Key", "Of an `idempotent_write`: the same for all its attempts.", False),
    ("X-Everturn-Timestamp", "Epoch seconds, where the agent has a `worker_secret`.", False),
    (
        "X-Everturn-Signature",
        "`sha256=` and the HMAC of timestamp, `.` and body, where it has one.",
        False,
    ),
)


def document(version: str) -> Schema:
    """Return the whole document. Raises `KeyError` for a route that the table does not have."""
    schemas = wire_schemas({model.__name__: model for model in _models()}, REF)
    paths: Schema = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    shown = {
        "openapi": "3.1.0",
        "info": {
            "title": "Everturn",
            "version": version,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": SERVERS,
        "tags": [{"name": name} for name in dict.fromkeys(_tag(route) for route in ROUTES)],
        "paths": paths,
        "webhooks": {"decision": {"post": _delivery()}},
    }
    shared = shared_responses()
    roots = [shown, shared, {"$ref": ref("EventEnvelope")}, {"$ref": ref("TokenDelta")}]
    roots.append({"$ref": ref("RunFrameView")})
    return {
        **shown,
        "components": {
            "securitySchemes": SECURITY_SCHEMES,
            "responses": shared,
            "schemas": reachable(_schemas_in(roots), schemas),
        },
    }


def _models() -> list[type[BaseModel]]:
    """Return every model that a part of the document names."""
    models: list[type[BaseModel]] = [
        ErrorBody,
        EventEnvelope,
        TokenDelta,
        RunFrameView,
        DecisionRequest,
        DecisionResponse,
    ]
    for spoken in OPERATIONS.values():
        models += [answer.model for answer in spoken.answers if answer.model]
        models += [spoken.body] if spoken.body else []
    return models


def _operation(route: Route) -> Schema:
    spoken = OPERATIONS[route.operation]
    made: Schema = {
        "operationId": route.operation,
        "tags": [_tag(route)],
        "summary": spoken.summary,
        "description": spoken.told,
        "security": _security(route),
    }
    parameters = [*map(_path_parameter, _parts(route.path)), *map(_parameter, spoken.takes)]
    if parameters:
        made["parameters"] = parameters
    if spoken.body is not None:
        made["requestBody"] = {
            "required": spoken.needs_body,
            "content": {
                spoken.body_media: content(spoken.body) | {"examples": _named(spoken.bodies)}
            },
        }
    made["responses"] = responses(route, spoken)
    return made


def _security(route: Route) -> list[Schema]:
    """Return the credentials that a route takes, any one of them."""
    match route.who:
        case Who.ANYONE:
            return []
        case Who.FRONTEND:
            return [*KEYS, {"clientToken": [one for one in (route.scope, route.also) if one]}]
        case Who.MACHINE:
            return KEYS


def _delivery() -> Schema:
    """Return what the engine asks a worker. Source: docs/agents.md, "What a worker is sent"."""
    return {
        "operationId": "decide",
        "summary": "Ask a worker to decide, or to run a tool",
        "description": "Sent by the engine to the URL of an agent's `worker`.",
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": required,
                "description": told,
                "schema": {"type": "string"},
            }
            for name, told, required in WORKER_HEADERS
        ],
        "requestBody": {
            "required": True,
            "content": {JSON: {**content(DecisionRequest), "example": examples.DECISION_REQUEST}},
        },
        "responses": {
            "200": {
                "description": "The decision, at once or as the last frame of a stream.",
                "content": {
                    JSON: {**content(DecisionResponse), "example": examples.DECISION_RESPONSE},
                    EVENT_STREAM: {"schema": {"type": "string"}},
                },
            },
            "202": {"description": "Taken; the answer comes later."},
        },
    }


def _named(bodies: Iterable[tuple[str, Any]]) -> Schema:
    return {name.replace(" ", "_"): {"summary": name, "value": value} for name, value in bodies}


def _path_parameter(name: str) -> Schema:
    told, example, schema = PATH_PARAMETERS[name]
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": told,
        "schema": schema,
        "example": example,
    }


def _parameter(given: Given) -> Schema:
    return {
        "name": given.name,
        "in": given.place,
        "description": given.told,
        "schema": given.schema,
    }


def _parts(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)


def _tag(route: Route) -> str:
    return route.path.removeprefix(WORKSPACE).removeprefix("/v1").removeprefix("/api").split("/")[1]


def _schemas_in(value: Any) -> list[Schema]:
    """Return the references to schemas in a part of the document, responses left aside."""
    match value:
        case {"$ref": str(ref)}:
            return [value] if ref.startswith("#/components/schemas/") else []
        case dict():
            return [found for one in value.values() for found in _schemas_in(one)]
        case list():
            return [found for one in value for found in _schemas_in(one)]
        case _:
            return []
