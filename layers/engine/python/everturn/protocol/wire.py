"""What all wire models share: one frozen strict base, field types, and how a misfit is told.

It must not know any model of the protocol.
"""

import functools
import math
import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    PlainValidator,
    Strict,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from everturn.errors import RejectedError
from everturn.rejections import InvalidId, SchemaViolation

T = TypeVar("T")

Json = Any
"""Any JSON value, the reference's `unknown`: kept as it is, key order and big numbers included."""

Maybe = Annotated[T | None, Field(exclude_if=functools.partial(operator.is_, None))]
"""An optional field; needs `= None`. Null equals absence when read and is left out when written.

Source: decision protocol M-7.
"""


class StopAtFirst(FailFast):
    """`FailFast` that may stand in a union: those want their members hashable."""

    __hash__ = object.__hash__


Seq = Annotated[tuple[T, ...], Strict(False), StopAtFirst()]
"""A JSON array; its items stay strict. Reading ends at the first item that does not fit."""

UNKNOWN_TAG = frozenset({"union_tag_invalid", "union_tag_not_found"})
"""Kinds of `Problem` that say: no member of a union has this tag."""

MAX_PATH_PART_CHARS = 64
"""What a path shows of one key; a caller chose it, so it may be anything."""

DEFERRED = ConfigDict(defer_build=True, hide_input_in_errors=True)
"""Config of module-level adapters: built at first use, so that an import costs nothing."""


class WireModel(BaseModel):
    """Base of what crosses a process boundary: frozen, strict, no unknown field.

    Who reads what later versions wrote passes `extra="ignore"` to the validating call.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        defer_build=True,
        hide_input_in_errors=True,  # what somebody said stays out of the log
    )


def _number(value: object) -> int | float:
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return value
    raise PydanticCustomError("number_type", "should be a number")


def _json_schema(value: object) -> dict[str, Json] | bool:
    if isinstance(value, dict | bool):
        return value
    raise PydanticCustomError("json_schema_type", "should be a JSON Schema: an object or a boolean")


Number = Annotated[int | float, PlainValidator(_number, json_schema_input_type=int | float)]
"""A finite JSON number, kept as int or float as it was written (Z-3: `1` differs from `1.0`)."""

JsonSchema = Annotated[
    dict[str, Json] | bool,
    PlainValidator(_json_schema, json_schema_input_type=dict[str, Json] | bool),
]
"""A JSON Schema as it was written; whether it compiles is tested elsewhere."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The first thing that does not fit: pydantic's `kind`, a JSON pointer and a sentence."""

    kind: str
    path: str
    sentence: str


def to_json(model: BaseModel) -> dict[str, Json]:
    """Return `model` as JSON types: absent fields left out, nulls inside free-form values kept."""
    return model.model_dump(mode="json")


def parse(adapter: TypeAdapter[T], data: Json) -> T:
    """Return `data`, already parsed JSON, as the adapter's type.

    Raises `InvalidId` or `SchemaViolation` with one sentence that starts with the path and never
    shows the value.
    """
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        raise to_rejection(first_problem(error, data)) from None


def to_rejection(problem: Problem) -> RejectedError:
    """Return the error that tells a caller of `problem`."""
    if problem.kind == "invalid_id":
        return InvalidId(problem.sentence)
    return SchemaViolation(problem.sentence)


def first_problem(error: ValidationError, data: Json = None) -> Problem:
    """Return what `error` complains of first.

    `data` is what was validated; with it the path is free of the names that pydantic gives to
    union members.
    """
    details = error.errors(include_url=False)
    first = details[0]
    path = _pointer(_place(first, data))
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return Problem(first["type"], path, f"{path or '/'}: {_complaint(first)}{more}")


def _complaint(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            text = "is required"
        case "extra_forbidden":
            text = "unknown field"
        case "union_tag_invalid":
            known = context["expected_tags"].replace("'", "")
            text = f"unknown {_bare(context['discriminator'])}; known: {known}"
        case "union_tag_not_found":
            text = f"{_bare(context['discriminator'])} is required"
        case "tuple_type":
            text = "should be a list"
        case "model_type" | "model_attributes_type" | "dict_type":
            text = "should be an object"
        case "too_long":
            text = f"has more than {context['max_length']} items"
        case _:
            text = detail["msg"].removeprefix("Input ")
    return text


def _bare(name: str) -> str:
    return name.strip("'")


def _place(detail: ErrorDetails, data: Json) -> tuple[str | int, ...]:
    loc = detail["loc"]
    found = _steps(loc, data, detail["input"], absent=detail["type"] == "missing")
    return loc if found is None else found


def _steps(
    loc: tuple[str | int, ...], here: Json, goal: Json, *, absent: bool
) -> tuple[str | int, ...] | None:
    """Return the parts of `loc` that lead through the data from `here` to `goal`, or None.

    The other parts are names of union members. With `absent` the last part is the missing key.
    """
    if not loc:
        return () if here is goal else None
    first, rest = loc[0], loc[1:]
    if absent and not rest:
        return (first,) if here is goal else None
    if _has(here, first):
        found = _steps(rest, here[first], goal, absent=absent)
        if found is not None:
            return (first, *found)
    return _steps(rest, here, goal, absent=absent)


def _has(here: Json, part: str | int) -> bool:
    match here:
        case dict():
            return part in here
        case list() | tuple():
            return isinstance(part, int) and part < len(cast("list[Json]", here))
        case _:
            return False


def _pointer(parts: tuple[str | int, ...]) -> str:
    return "".join(f"/{_shown(str(part))}" for part in parts)


def _shown(part: str) -> str:
    printable = "".join(char if char.isprintable() else "?" for char in part[:MAX_PATH_PART_CHARS])
    return printable.replace("~", "~0").replace("/", "~1")
