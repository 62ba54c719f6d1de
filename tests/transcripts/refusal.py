"""What a provider has against a request: the rule, the place, a sentence.

It must not know a provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

COMBINED = ("oneOf", "anyOf", "allOf")


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """One reason for which a provider answers 400."""

    rule: StrEnum
    where: str
    """The place in the body, as providers name it: `messages.2.content.0`."""

    told: str = ""

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.rule} at {self.where}: {self.told}".removesuffix(": ")


def repeated(names: Iterable[Any]) -> Iterator[Any]:
    """Yield each name that stood there before."""
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def is_blank(text: Any) -> bool:
    """Return whether a text says nothing."""
    return not str(text).strip()


def is_object_schema(schema: Any) -> bool:
    """Return whether a tool's parameters are described as an object, as all providers ask for."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return False
    return not any(word in schema for word in COMBINED)
