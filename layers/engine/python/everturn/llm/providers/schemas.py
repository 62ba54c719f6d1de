"""A tool's input schema as providers take it: an object at the root; validates nothing.

Arguments are checked against the original: a projection asks for no field that the original can do
without, and closes no door that is open there; a field is described by the branches that have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]

NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_CHOICES: Final = ("anyOf", "oneOf")
_AT_ROOT: Final = frozenset(
    {*_CHOICES, "allOf", "not", "if", "then", "else", "enum", "const", "$ref", "$schema", "$id"}
)
"""Keywords that some provider refuses at the root of a tool's schema."""

_OWN: Final = ("properties", "required")
_OPEN: Final = frozenset({"dependentSchemas", "dependentRequired", "unevaluatedProperties"})
MAX_REFERENCES: Final = 20
"""References that are followed from the root."""

MAX_BRANCHES: Final = 64
"""Ways to fit a schema that are told apart; of more, nothing is told."""

MAX_STEPS: Final = 1000
"""Schemas that are looked at on the way to the branches."""


class _TooMany(Exception):
    """More branches or steps than are worth it."""


def object_schema(schema: Any) -> dict[str, Any]:
    """Return an object schema that every object fits which fits `schema`.

    A root without type gets one, a reference at the root is followed, choices and conjunctions at
    the root become one object: fields of any branch, of which those are required that all ask for.
    Where there are too many choices, what the root itself says is all that is said.
    """
    if not isinstance(schema, Mapping) or not _allows_objects(schema):
        return dict(NO_ARGUMENTS)
    try:
        branches = _Branches(schema).of(schema, MAX_REFERENCES)
    except _TooMany:
        branches = [{name: schema[name] for name in _OWN if name in schema}]
    if len(branches) == 1 and branches[0] is schema and not _AT_ROOT & schema.keys():
        return {**schema, "type": "object", "properties": schema.get("properties") or {}}
    kept = {
        name: value
        for name, value in schema.items()
        if name not in _AT_ROOT | _OPEN | {"type", "properties", "required"}
    }
    is_closed = all(branch.get("additionalProperties") is False for branch in branches)
    kept.pop("additionalProperties", None)
    projected = {**kept, "type": "object", "properties": _fields(branches)}
    if required := _required(branches):
        projected["required"] = required
    return {**projected, "additionalProperties": False} if is_closed else projected


def _allows_objects(schema: Schema) -> bool:
    kind = schema.get("type")
    return kind is None or kind == "object" or (isinstance(kind, list) and "object" in kind)


class _Branches:
    """The ways to fit a schema: choices apart, what holds together merged."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._steps = 0

    def of(self, schema: Schema, left: int) -> list[Schema]:
        """Return the branches of a part of the root; `left` references may still be followed.

        Raises `_TooMany`.
        """
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _TooMany
        reference = schema.get("$ref")
        if isinstance(reference, str):
            inner = {name: value for name, value in schema.items() if name != "$ref"}
            return _each([inner], self._targets(reference, left))
        options: list[Schema] = [schema]
        for name in _CHOICES:
            if isinstance(schema.get(name), list):
                options = _each(options, self._chosen(schema[name], left) or [{}])
        for one in schema.get("allOf") or ():
            if isinstance(one, Mapping):
                options = _each(options, self.of(one, max(left - 1, 0)))
        return options

    def _targets(self, reference: str, left: int) -> list[Schema]:
        found = resolved(self._root, reference) if left else None
        return self.of(found, left - 1) if isinstance(found, Mapping) else [{}]

    def _chosen(self, choices: Sequence[Any], left: int) -> list[Schema]:
        return [
            branch
            for one in choices
            if isinstance(one, Mapping) and _allows_objects(one)
            for branch in self.of(one, max(left - 1, 0))
        ]


def _each(options: Sequence[Schema], others: Sequence[Schema]) -> list[Schema]:
    """Return each option together with each of the others. Raises `_TooMany`."""
    if len(options) * len(others) > MAX_BRANCHES:
        raise _TooMany
    return [_both(option, other) for option in options for other in others]


def _both(one: Schema, other: Schema) -> dict[str, Any]:
    """Return fields and demands of both; a field that both have is as either says."""
    fields = _fields([one, other])
    required = dict.fromkeys([*(one.get("required") or ()), *(other.get("required") or ())])
    both = {**one, **other, "properties": fields, "required": list(required)}
    if any(schema.get("additionalProperties") is False for schema in (one, other)):
        both["additionalProperties"] = False
    return both


def _fields(branches: Sequence[Schema]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for branch in branches:
        for name, schema in (branch.get("properties") or {}).items():
            seen = found.setdefault(name, [])
            if schema not in seen:
                seen.append(schema)
    return {
        name: schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        for name, schemas in found.items()
    }


def _required(branches: Sequence[Schema]) -> list[str]:
    """Return what every branch asks for, in the first one's order."""
    first, *rest = [branch.get("required") or () for branch in branches]
    return [name for name in dict.fromkeys(first) if all(name in other for other in rest)]


def resolved(root: Schema, reference: str) -> Any:
    """Return what a reference into the schema itself leads to, nothing where it leads nowhere."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found
