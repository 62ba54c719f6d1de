"""A JSON schema in the keywords that Gemini reads; what it cannot say is left to the check.

Arguments and answers are held against the original, so a projection may allow more, never less.
Source: Gemini API, GenerationConfig, `responseJsonSchema`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from everturn.llm.providers.schemas import Schema, resolved

_AS_THEY_ARE: Final = frozenset(
    {"type", "title", "description", "minItems", "maxItems", "minimum", "maximum"}
)
_LISTS: Final = ("anyOf", "oneOf", "prefixItems")
_FORMATS: Final = ("date-time", "date", "time", "int32", "int64", "float", "double")
"""Formats that are no reason to refuse a schema."""

_DEFINED: Final = "#/$defs/"
_ODD: Final = re.compile(r"[^A-Za-z0-9_]+")


def gemini_schema(schema: Schema) -> dict[str, Any]:
    """Return `schema` without what Gemini refuses; what it refers to stands under `$defs`."""
    projection = _Projection(schema)
    root = projection.of(schema)
    definitions = projection.definitions()
    return {**root, "$defs": definitions} if definitions else root


class _Projection:
    """One schema on its way; the targets of its references are projected once each."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._names: dict[str, str] = {}

    def of(self, schema: Any) -> dict[str, Any]:
        """Return a part of the schema; one that is no object allows everything."""
        if not isinstance(schema, Mapping):
            return {}
        plain = _plain(schema)
        if isinstance(plain.get("$ref"), str):  # nothing may stand beside it
            return {"$ref": _DEFINED + self._name_of(plain["$ref"])}
        kept: dict[str, Any] = {}
        for keyword, value in plain.items():
            kept |= self._keyword(keyword, value)
        return kept | _required(plain, kept)

    def definitions(self) -> dict[str, Any]:
        """Return all that is referred to, also by itself; a cycle leaves its fields optional."""
        found: dict[str, Any] = {}
        while len(found) < len(self._names):
            for reference, name in list(self._names.items()):
                if name not in found:
                    found[name] = self.of(resolved(self._root, reference))
        reached = _reached({name: _mentioned(body) for name, body in found.items()})
        for name, body in found.items():
            _loosen(body, {other for other in reached[name] if name in reached[other]})
        return found

    def _keyword(self, keyword: str, value: Any) -> dict[str, Any]:
        match keyword, value:
            case "properties", Mapping():
                return {keyword: {name: self.of(one) for name, one in value.items()}}
            case (("items" | "additionalProperties"), Mapping()):
                return {keyword: self.of(value)}
            case _, list() if keyword in _LISTS:
                return {keyword: [self.of(one) for one in value]}
            case _:
                return {keyword: value} if _is_kept(keyword, value) else {}

    def _name_of(self, reference: str) -> str:
        if reference not in self._names:
            stem = _ODD.sub("_", reference.rpartition("/")[2]).strip("_") or "root"
            taken = set(self._names.values())
            number = next(n for n in range(len(taken) + 1) if _numbered(stem, n) not in taken)
            self._names[reference] = _numbered(stem, number)
        return self._names[reference]


def _is_kept(keyword: str, value: Any) -> bool:
    """Return whether a keyword without schemas in it may stay."""
    match keyword:
        case "additionalProperties":
            return isinstance(value, bool)
        case "enum":
            return isinstance(value, list) and bool(value) and all(map(_is_plain_value, value))
        case "format":
            return value in _FORMATS
        case _:
            return keyword in _AS_THEY_ARE


def _numbered(stem: str, number: int) -> str:
    return f"{stem}_{number + 1}" if number else stem


def _plain(schema: Schema) -> Schema:
    """Return a schema whose `const`, lonely `allOf` and choice of null are said in other words."""
    plain = dict(schema)
    while isinstance(parts := plain.pop("allOf", None), list) and len(parts) == 1:
        plain |= parts[0] if isinstance(parts[0], Mapping) else {}
    if "const" in plain:
        plain["enum"] = [plain.pop("const")]
    choices = plain.get("enum")
    if not isinstance(choices, list):
        return plain
    rest = [value for value in choices if value is not None]
    if rest and all(isinstance(value, str) for value in rest):
        plain["type"] = "string"
    if len(rest) == len(choices) or "anyOf" in plain:
        return plain
    told: dict[str, Any] = {name: plain[name] for name in ("title", "description") if name in plain}
    return {**told, "anyOf": [*([{"enum": rest}] if rest else []), {"type": "null"}]}


def _is_plain_value(value: Any) -> bool:
    """Return whether a choice may be named: text or a number."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _required(plain: Schema, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is required, of the fields that there are."""
    given, fields = plain.get("required"), kept.get("properties", {})
    wanted = given if isinstance(given, list) else []
    names = [name for name in wanted if isinstance(name, str) and name in fields]
    return {"required": names} if names else {}


def _inner(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas right inside a projected one."""
    yield from schema.get("properties", {}).values()
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]
    for keyword in _LISTS:
        yield from schema.get(keyword, ())


def _mentioned(schema: Mapping[str, Any]) -> set[str]:
    """Return the names of the definitions that a projected schema refers to."""
    if "$ref" in schema:
        return {schema["$ref"].removeprefix(_DEFINED)}
    return set().union(*map(_mentioned, _inner(schema)))


def _reached(direct: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return what each definition leads to, over however many others."""
    reached: dict[str, set[str]] = {}
    for name in direct:
        found, left = set[str](), list(direct[name])
        while left:
            other = left.pop()
            if other not in found:
                found.add(other)
                left += direct[other]
        reached[name] = found
    return reached


def _loosen(schema: dict[str, Any], cyclic: set[str]) -> None:
    """Leave fields optional that lead back; Gemini takes a cycle in no other place."""
    fields = schema.get("properties", {})
    kept = [name for name in schema.get("required", ()) if not _mentioned(fields[name]) & cyclic]
    if "required" in schema:
        del schema["required"]
        schema |= {"required": kept} if kept else {}
    for inner in _inner(schema):
        _loosen(inner, cyclic)
