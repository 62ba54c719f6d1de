"""Whether a schema fits the strict subset of OpenAI's structured outputs; changes no schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from everturn.llm.providers.schemas import object_schema

OUTPUT: Final = "output"
"""Name of a structured answer. Source: runs document, section 7."""

MAX_PROPERTIES: Final = 5000
MAX_DEPTH: Final = 10
MAX_ENUM_VALUES: Final = 1000
MAX_SCHEMA_CHARS: Final = 120_000
"""Of all names of fields and definitions, and all values of enums and constants together.

Source, as of all limits here: OpenAI API, "Structured Outputs", "Supported schemas".
"""

_TYPES: Final = frozenset({"string", "number", "boolean", "integer", "object", "array", "null"})
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_ANYWHERE: Final = frozenset({"type", "title", "description", "enum", "const", "anyOf"})
_OF_TYPE: Final = {
    "string": frozenset({"pattern", "format"}),
    "number": frozenset(
        {"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"}
    ),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
_AT_ROOT: Final = frozenset({"$schema", "$defs", "definitions"})
_DEFINITIONS: Final = ("$defs", "definitions")

Schema = Mapping[str, Any]


class _Unfit(Exception):
    """Something outside the subset."""


def fits_strict(schema: Any) -> bool:
    """Return whether OpenAI takes a schema with `strict: true`; doubt means no."""
    if not isinstance(schema, Mapping) or "anyOf" in schema or _types(schema) != {"object"}:
        return False
    try:
        seen = [*_seen(schema, 0)]
    except (_Unfit, RecursionError):
        return False
    names = [name for one in seen for name in one.get("properties") or ()]
    names += [name for part in _DEFINITIONS for name in schema.get(part) or ()]
    values = [value for one in seen for value in one.get("enum") or ()]
    spelled = [*values, *(one["const"] for one in seen if "const" in one)]
    chars = sum(map(len, names)) + sum(len(str(value)) for value in spelled)
    return (
        len(names) <= MAX_PROPERTIES
        and len(values) <= MAX_ENUM_VALUES
        and chars <= MAX_SCHEMA_CHARS
    )


def answer_format(schema: Any, *, may_be_strict: bool = True) -> dict[str, Any] | None:
    """Return `{name, schema, strict}` for an answer, nothing for one that is no object.

    OpenAI wants an object at the root, strict or not; a root of another form is projected.
    """
    if may_be_strict and fits_strict(schema):
        return {"name": OUTPUT, "schema": schema, "strict": True}
    kinds = _types(schema) if isinstance(schema, Mapping) else set()
    if kinds and "object" not in kinds:
        return None
    return {"name": OUTPUT, "schema": object_schema(schema), "strict": False}


def _types(schema: Schema) -> set[str]:
    given = schema.get("type")
    if isinstance(given, list):
        return {str(one) for one in given}
    return {given} if isinstance(given, str) else set()


def _seen(schema: Any, depth: int) -> Iterator[Schema]:
    """Yield a schema and all within it; `depth` counts the objects around. Raises `_Unfit`."""
    if not isinstance(schema, Mapping):
        raise _Unfit
    if "$ref" in schema:
        if schema.keys() != {"$ref"} or not str(schema["$ref"]).startswith("#"):
            raise _Unfit
        return
    kinds = _types(schema)
    inside = depth + ("object" in kinds)
    if not _is_fit(schema, kinds, at_root=depth == 0) or inside > MAX_DEPTH:
        raise _Unfit
    yield schema
    for one in _within(schema):
        yield from _seen(one, inside)
    for part in _DEFINITIONS:
        for one in _fields(schema, part).values():
            yield from _seen(one, 1)


def _is_fit(schema: Schema, kinds: set[str], *, at_root: bool) -> bool:
    known = _ANYWHERE | (_AT_ROOT if at_root else frozenset())
    for kind in kinds:
        known |= _OF_TYPE.get("number" if kind == "integer" else kind, frozenset())
    return (
        schema.keys() <= known
        and kinds <= _TYPES
        and bool(kinds or isinstance(schema.get("anyOf"), list))
        and isinstance(schema.get("enum", []), list)
        and schema.get("format", "date") in _FORMATS
        and ("array" not in kinds or "items" in schema)
        and ("object" not in kinds or _is_closed(schema))
    )


def _is_closed(schema: Schema) -> bool:
    required = schema.get("required")
    return (
        schema.get("additionalProperties") is False
        and isinstance(required, list)
        and sorted(map(str, required)) == sorted(_fields(schema, "properties"))
    )


def _within(schema: Schema) -> Iterator[Any]:
    yield from _fields(schema, "properties").values()
    if "items" in schema:
        yield schema["items"]
    yield from schema.get("anyOf") or ()


def _fields(schema: Schema, name: str) -> Mapping[str, Any]:
    given = schema.get(name, {})
    if not isinstance(given, Mapping):
        raise _Unfit
    return given
