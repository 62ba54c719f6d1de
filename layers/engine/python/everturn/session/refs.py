"""Where a body that an event does not carry itself is to be found; nothing here reads it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class BodyPlace(BaseModel):
    """An earlier event of the same log, and the field of it that holds the body."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    seq: int
    field: str
    """Dotted path inside the event; list positions are numbers: `news.0`, `message.content`."""


class BlobPlace(BaseModel):
    """An object in the bucket that holds the compact JSON of the body."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    sha256: str
    size_bytes: int


class Ref(BaseModel):
    """Exactly one of: a place in the log, a place in the bucket. Source: storage-and-commits."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    place: BodyPlace | None = Field(default=None, alias="from")
    blob: BlobPlace | None = None


def same_as(seq: int, field: str) -> Ref:
    """Return the reference to `field` of the event `seq`."""
    return Ref(place=BodyPlace(seq=seq, field=field))


def pick(value: Any, field: str) -> Any:
    """Return what the dotted path `field` names inside the JSON `value`.

    Raises `KeyError` if it is not there.
    """
    for part in field.split("."):
        match value:
            case dict():
                value = value[part]
            case list() if part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            case _:
                raise KeyError(field)
    return value


def put(value: Any, field: str, body: Any) -> Any:
    """Return a copy of `value` that has `body` at the dotted path `field`.

    Objects that are missing on the way are made, and so are lists of which it is the first member.
    """
    first, _, rest = field.partition(".")
    if isinstance(value, list):
        at = int(first)
        inner = value[at] if at < len(value) else None
        filled = put(_holder(inner, rest), rest, body) if rest else body
        return [*value[:at], filled, *value[at + 1 :]]
    filled = put(_holder(value.get(first), rest), rest, body) if rest else body
    return {**value, first: filled}


def _holder(value: Any, field: str) -> Any:
    """Return what can hold the dotted path `field`: `value`, or something empty in its place."""
    if field.partition(".")[0].isdecimal():
        return value if isinstance(value, list) else []
    return value if isinstance(value, dict) else {}
