"""What is said of an operation: parameters, bodies, answers and refusals; no operation is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

from everturn.errors import RejectedError
from everturn.rejections import InvalidJson, SchemaViolation, TooLarge
from everturn_local.openapi.schemas import ID_PATTERN, Schema

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
FORM: Final = "application/x-www-form-urlencoded"

FLAG: Final[Schema] = {"type": "string", "enum": ["1", "true"]}
"""A switch in a query string; anything else leaves it off."""

IDENTIFIER: Final[Schema] = {"type": "string", "pattern": ID_PATTERN}

SEQ: Final[Schema] = {"type": "integer", "minimum": 0}


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter beside the path."""

    name: str
    told: str
    schema: Schema
    place: Literal["query", "header"] = "query"


@dataclass(frozen=True, slots=True)
class Answer:
    """One way to succeed."""

    status: int
    told: str
    model: type[BaseModel] | None = None
    """None: there is no body, or one of text."""

    example: Any = None
    media: str = JSON


@dataclass(frozen=True, slots=True)
class Spoken:
    """One operation as its callers see it."""

    summary: str
    told: str
    answers: tuple[Answer, ...]
    takes: tuple[Given, ...] = ()
    body: type[BaseModel] | None = None
    needs_body: bool = True
    body_media: str = JSON
    bodies: tuple[tuple[str, Any], ...] = ()
    """Examples of the body by name."""

    refusals: tuple[type[RejectedError], ...] = ()
    """What its callers can be told no for, beside what every route has."""


BODY: Final = (InvalidJson, SchemaViolation, TooLarge)
"""What every body can be refused for."""

CURSOR: Final = Given("cursor", "The `cursor` of the page before.", {"type": "string"})


def limit_of(what: str, most: int, default: int) -> Given:
    """Return the parameter that bounds a page."""
    schema: Schema = {"type": "integer", "minimum": 1, "maximum": most}
    return Given("limit", f"Most {what} of a page; {default} if left out.", schema)
