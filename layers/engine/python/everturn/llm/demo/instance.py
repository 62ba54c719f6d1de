"""JSON Schema -> the least value that fits it; a good guess, no validator.

Left to luck: `pattern` beyond a few candidates, `not`, `if`, `uniqueItems`, `contains`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from everturn.protocol.wire import Json, JsonSchema

MAX_DEPTH: Final = 32
"""Where a schema that contains itself is cut off."""

MAX_PARTS: Final = 10_000
"""Schemas looked at, repetitions counted; the rest becomes null."""

MAX_LENGTH: Final = 10_000
"""Characters of a string."""

_FORMATS: Final = {
    "date": "2000-01-01",
    "time": "00:00:00Z",
    "date-time": "2000-01-01T00:00:00Z",
    "duration": "PT0S",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_CANDIDATES: Final = ("", "a", "A", "0", "a-a", "A-0", "AA", "000", "#000000", "2000-01-01")
"""Short ones only: some patterns take time that doubles with each character."""


def minimal_instance(schema: JsonSchema) -> Json:
    """Return a value with nothing in it that `schema` does not ask for; `{}` for no schema."""
    try:
        return _Maker(schema).make(schema, 0)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        return {}


class _Maker:
    """Makes values for the parts of one document, whose root local references start from."""

    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._parts_left = MAX_PARTS

    def make(self, schema: Json, depth: int) -> Json:
        if not isinstance(schema, dict) or depth > MAX_DEPTH or self._parts_left <= 0:
            return None
        flat = self._flat(schema, depth)
        if "const" in flat:
            return flat["const"]
        if flat.get("enum"):
            return flat["enum"][0]
        return self._of_type(flat, depth)

    def _of_type(self, schema: dict[str, Any], depth: int) -> Json:
        match type_of(schema):
            case "array":
                made: Json = self._array(schema, depth)
            case "string":
                made = text_for(schema)
            case "integer":
                made = integer_for(schema)
            case "number":
                made = number_for(schema)
            case "boolean":
                made = False
            case "null":
                made = None
            case _:
                made = self._object(schema, depth)
        return made

    def _flat(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """Return `schema` with its references, `allOf` and first alternatives drawn into it."""
        self._parts_left -= 1
        parts = [*schema.get("allOf", ())]
        parts += [schema[key][0] for key in ("anyOf", "oneOf") if schema.get(key)]
        if "$ref" in schema:
            parts.append(self._referred(str(schema["$ref"])))
        flat = {key: schema[key] for key in schema.keys() - {"allOf", "anyOf", "oneOf", "$ref"}}
        if depth > MAX_DEPTH or self._parts_left <= 0:
            return flat
        for part in parts:
            if isinstance(part, dict):
                flat = both(flat, self._flat(part, depth + 1))
        return flat

    def _referred(self, reference: str) -> Json:
        """Return what a local reference points to; null for any other."""
        here: Json = self._root
        for raw in reference.removeprefix("#").split("/")[1:]:
            key = raw.replace("~1", "/").replace("~0", "~")
            here = here.get(key) if isinstance(here, dict) else None
        return here

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Json]:
        properties = schema.get("properties", {})
        names = [*schema.get("required", ())]
        optional = [name for name in properties if name not in names]
        names += optional[: max(0, schema.get("minProperties", 0) - len(names))]
        return {name: self.make(properties.get(name, {}), depth + 1) for name in names}

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Json]:
        length = min(schema.get("minItems", 0), MAX_PARTS)
        items = [*schema.get("prefixItems", ()), *[schema.get("items", {})] * length]
        return [self.make(item, depth + 1) for item in items[:length]]


def both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that asks for what both ask for; `one` wins where they cannot be joined."""
    joined = other | one
    if "properties" in one and "properties" in other:
        joined["properties"] = other["properties"] | one["properties"]
    if "required" in one and "required" in other:
        joined["required"] = [*one["required"], *other["required"]]
    return joined


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the type to make: the first one named, else what the other keywords hint at."""
    named = schema.get("type")
    if isinstance(named, list):
        return str(named[0]) if named else "object"
    if named:
        return str(named)
    hints = {"items": "array", "minItems": "array", "minLength": "string", "pattern": "string"}
    hints |= {"format": "string", "minimum": "integer", "multipleOf": "integer"}
    return next((kind for keyword, kind in hints.items() if keyword in schema), "object")


def text_for(schema: Mapping[str, Any]) -> str:
    """Return a short string."""
    pattern = schema.get("pattern")
    if pattern is not None:
        return next((text for text in _CANDIDATES if matches(str(pattern), text)), "")
    text = _FORMATS.get(schema.get("format", ""), "")
    return text.ljust(min(schema.get("minLength", 0), MAX_LENGTH), "x")


def matches(pattern: str, text: str) -> bool:
    """Return whether `text` fits; a pattern that Python cannot read fits nothing."""
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def integer_for(schema: Mapping[str, Any]) -> int:
    """Return the whole number nearest to 0."""
    low = schema.get("minimum", -math.inf)
    low = max(low, schema.get("exclusiveMinimum", -math.inf) + 1)
    high = schema.get("maximum", math.inf)
    high = min(high, schema.get("exclusiveMaximum", math.inf) - 1)
    step = schema.get("multipleOf", 1)
    if low > 0:
        return int(math.ceil(low / step) * step)
    return int(math.floor(high / step) * step) if high < 0 else 0


def number_for(schema: Mapping[str, Any]) -> float | int:
    """Return a number near 0."""
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
    allowed = (0, low, high, low + 1, high - 1, (low + high) / 2)
    fitting = (value for value in allowed if math.isfinite(value) and within(value, schema))
    return next(fitting, 0)


def within(value: float, schema: Mapping[str, Any]) -> bool:
    """Return whether `value` keeps the four bounds of `schema`."""
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    above = schema.get("exclusiveMinimum", -math.inf)
    below = schema.get("exclusiveMaximum", math.inf)
    return bool(least <= value <= most and above < value < below)
