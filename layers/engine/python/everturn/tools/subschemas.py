"""Every schema inside a schema, with its place; data that looks like a schema is passed over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from everturn.protocol.wire import Json

_NAMED = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)
"""Keywords whose value maps names to schemas."""
_VALUES = frozenset({"const", "default", "enum", "examples", "required", "dependentRequired"})
"""Keywords whose value is data."""


@dataclass(frozen=True, slots=True)
class Place:
    """A schema, and the keys that lead to it from the root."""

    path: tuple[str | int, ...]
    schema: dict[str, Json]

    def patterns(self) -> Iterator[str]:
        """Yield the regular expressions that stand right here."""
        pattern = self.schema.get("pattern")
        if isinstance(pattern, str):
            yield pattern
        yield from self.name_patterns()

    def name_patterns(self) -> Iterator[str]:
        """Yield those of them that names of fields are searched with."""
        named = self.schema.get("patternProperties")
        if isinstance(named, dict):
            yield from named


def places(root: Json) -> Iterator[Place]:
    """Yield every object that a validator may take for a schema, unknown keywords included.

    A reference may lead into an unknown keyword, so those are walked as well.
    """
    waiting: list[tuple[tuple[str | int, ...], Json, bool]] = [((), root, False)]
    while waiting:
        path, value, names = waiting.pop()
        match value:
            case dict() if names:
                waiting.extend(((*path, name), inner, False) for name, inner in value.items())
            case dict():
                yield Place(path, value)
                waiting.extend(
                    ((*path, key), inner, key in _NAMED)
                    for key, inner in value.items()
                    if key not in _VALUES
                )
            case list():
                waiting.extend(((*path, at), inner, False) for at, inner in enumerate(value))
