"""The answers of an operation as OpenAPI has them: what succeeds, what is refused, what fails.

It must not know which operation there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from pydantic import BaseModel

from everturn.errors import (
    DefectError,
    NewerFormat,
    QueueUnavailable,
    RejectedError,
    SecretUnavailable,
    StoreUnavailable,
    StoreUnreadable,
    VersionConflict,
    to_http,
)
from everturn.ports.callers import Who
from everturn.rejections import (
    InsufficientPrivilege,
    InsufficientScope,
    Unauthenticated,
    UnknownRoute,
)
from everturn.surfaces.routes import WORKSPACE, Route
from everturn_local.openapi.schemas import Schema
from everturn_local.openapi.shape import JSON, Answer, Spoken

REF: Final = "#/components/schemas/{model}"

PASSING: Final = tuple(
    str(to_http(error)[1]["code"])
    for error in (
        StoreUnavailable(""),
        VersionConflict(""),
        NewerFormat(""),
        QueueUnavailable(""),
        SecretUnavailable(""),
    )
)
"""Codes of a 503."""


CHALLENGE: Final[Schema] = {
    "WWW-Authenticate": {
        "description": "What credential would do, as RFC 6750 and RFC 6749 have it.",
        "schema": {"type": "string"},
    }
}

CHALLENGED: Final[dict[Who, tuple[str, ...]]] = {
    Who.ANYONE: (),
    Who.FRONTEND: ("401", "403"),
    Who.MACHINE: ("401",),
}
"""Statuses that come with a challenge."""


def responses(route: Route, spoken: Spoken) -> Schema:
    """Return every answer of a route by its status."""
    made: Schema = {}
    for status, answers in groupby(spoken.answers, key=lambda answer: answer.status):
        made[str(status)] = _success(tuple(answers))
    made |= _refusals((*_turned_away(route), *spoken.refusals))
    for status in ("401",) if route.oauth else CHALLENGED[route.who]:
        made[status]["headers"] = CHALLENGE
    made["429"] = {"$ref": "#/components/responses/Throttled"}
    made["500"] = {"$ref": "#/components/responses/Failed"}
    if route.who is not Who.ANYONE or route.oauth:
        made["503"] = {"$ref": "#/components/responses/Unavailable"}
    return made


def _turned_away(route: Route) -> tuple[type[RejectedError], ...]:
    """Return what the check of the caller can come to. Source: everturn.surfaces.admission."""
    match route.who:
        case Who.ANYONE:
            return ()
        case Who.FRONTEND:
            other = (UnknownRoute,) if route.path.startswith(WORKSPACE) else ()
            return (Unauthenticated, InsufficientScope, *other)
        case Who.MACHINE:
            return (Unauthenticated, InsufficientPrivilege)


def _success(answers: tuple[Answer, ...]) -> Schema:
    media: Schema = {}
    for answer in answers:
        if answer.model is not None and answer.media in media:
            media[answer.media] = _either(media[answer.media], answer.model)
        elif answer.model is not None:
            media[answer.media] = {**content(answer.model), "example": answer.example}
        elif answer.example is not None:
            media[answer.media] = {"schema": {"type": "string"}, "example": answer.example}
    told = {"description": " ".join(answer.told for answer in answers)}
    return {**told, "content": media} if media else told


def _either(known: Schema, model: type[BaseModel]) -> Schema:
    """Return a media type that holds one more model; the first one's example stays."""
    before = known["schema"].get("anyOf", [known["schema"]])
    return {**known, "schema": {"anyOf": [*before, content(model)["schema"]]}}


def _refusals(refusals: Iterable[type[RejectedError]]) -> Schema:
    """Return one response a status, with the codes that it can have."""
    ordered = sorted(refusals, key=lambda one: (one.status, one.code))
    return {
        str(status): _error(one.code for one in group)
        for status, group in groupby(ordered, key=lambda one: one.status)
    }


def _error(codes: Iterable[str]) -> Schema:
    known = list(codes)
    narrowed = {"properties": {"code": {"enum": known}}}
    return {
        "description": ", ".join(f"`{code}`" for code in known),
        "content": {JSON: {"schema": {"allOf": [{"$ref": ref("ErrorBody")}, narrowed]}}},
    }


def shared_responses() -> Schema:
    """Return the answers that routes have in common, by name."""
    failed = [str(to_http(one(""))[1]["code"]) for one in (DefectError, StoreUnreadable)]
    return {
        "Unavailable": {
            **_error(PASSING),
            "headers": {
                "Retry-After": {
                    "description": "Seconds to wait before the same request is sent again.",
                    "schema": {"type": "integer", "minimum": 1},
                }
            },
        },
        "Failed": _error(failed),
        "Throttled": {
            "description": "The stage's throttle, in the words of API Gateway.",
            "content": {
                JSON: {
                    "schema": {
                        "type": "object",
                        "properties": {"message": {"type": "string"}},
                        "required": ["message"],
                    }
                }
            },
        },
    }


def content(model: type[BaseModel]) -> Schema:
    """Return a media type that holds a model."""
    return {"schema": {"$ref": ref(model.__name__)}}


def ref(name: str) -> str:
    """Return the reference to a schema of the document."""
    return REF.format(model=name)
