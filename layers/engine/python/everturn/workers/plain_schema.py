"""pydantic's JSON Schema made plain for models: no generated titles, references written out.

It must not change what a schema accepts. References stay where a type contains itself.
"""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

MAX_WRITTEN_OUT: Final = 200
"""References that are written out in one schema; a schema with more keeps them all."""

_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
"""Keywords whose value maps names to schemas."""

_DATA: Final = frozenset({"const", "default", "enum", "examples", "required", "dependentRequired"})
"""Keywords whose value is data."""

_DROPPED: Final = frozenset({"title", "discriminator"})
"""Titles repeat the names; a discriminator is OpenAPI's and names references."""

_NOTES: Final = frozenset({"default", "deprecated", "description", "examples"})
"""Keywords beside a reference that only say something about it."""

_PREFIX: Final = "#/$defs/"


class _TooMany(Exception):
    """Writing the references out would make the schema far longer."""


def plain(schema: Schema) -> Schema:
    """Return `schema` without titles and, as far as possible, without references."""
    definitions: dict[str, Schema] = schema.get("$defs", {})
    body = {key: value for key, value in schema.items() if key != "$defs"}
    try:
        return _Writer(definitions, _recursive(definitions)).whole(body)
    except _TooMany:
        return _Writer(definitions, frozenset(definitions)).whole(body)


class _Writer:
    """Copies a schema; references to `kept` definitions stay, the others are written out."""

    def __init__(self, definitions: dict[str, Schema], kept: frozenset[str]) -> None:
        self._definitions = definitions
        self._kept = kept
        self._needed: dict[str, None] = {}
        self._written_out = 0

    def whole(self, body: Schema) -> Schema:
        """Return the copy, with the definitions that it still needs."""
        copied = self._copied(body)
        done: dict[str, Schema] = {}
        while missing := [name for name in self._needed if name not in done]:
            for name in missing:
                done[name] = self._copied(self._definitions[name])
        return {**copied, "$defs": done} if done else copied

    def _copied(self, node: Any) -> Any:
        match node:
            case {"$ref": str() as ref}:
                return self._referred(ref.removeprefix(_PREFIX), node)
            case dict():
                return {
                    key: self._value(key, value)
                    for key, value in node.items()
                    if key not in _DROPPED
                }
            case list():
                return [self._copied(one) for one in node]
            case _:
                return node

    def _value(self, key: str, value: Any) -> Any:
        if key in _DATA:
            return value
        if key in _NAMED:
            return {name: self._copied(inner) for name, inner in value.items()}
        return self._copied(value)

    def _referred(self, name: str, node: Schema) -> Schema:
        beside = self._copied({key: value for key, value in node.items() if key != "$ref"})
        if name in self._kept:
            self._needed[name] = None
            return {"$ref": _PREFIX + name, **beside}
        self._written_out += 1
        if self._written_out > MAX_WRITTEN_OUT:
            raise _TooMany
        meant = self._copied(self._definitions[name])
        if beside.keys() <= _NOTES:
            return {**meant, **beside}
        return {"allOf": [meant], **beside}


def _recursive(definitions: dict[str, Schema]) -> frozenset[str]:
    """Return the names of the definitions that lead back to themselves."""
    reached = {name: set(_references(body)) for name, body in definitions.items()}
    grown = True
    while grown:
        before = sum(map(len, reached.values()))
        reached = {
            name: names.union(*(reached[one] for one in names)) for name, names in reached.items()
        }
        grown = sum(map(len, reached.values())) > before
    return frozenset(name for name, names in reached.items() if name in names)


def _references(node: Any) -> list[str]:
    match node:
        case dict():
            here = node.get("$ref")
            named = [here.removeprefix(_PREFIX)] if isinstance(here, str) else []
            inner = [value for key, value in node.items() if key not in _DATA]
            return named + [name for one in inner for name in _references(one)]
        case list():
            return [name for one in node for name in _references(one)]
        case _:
            return []
