"""JSON of providers, taken for what it should be where it is that, and for nothing where not.

It raises nothing and knows no provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

NO_OBJECT: Final[Mapping[str, Any]] = {}
MAX_COUNT: Final = 10**12
"""Tokens; a larger number is none."""


def object_of(value: Any) -> Mapping[str, Any]:
    """Return an object; of something else, an empty one."""
    return value if isinstance(value, (dict, Mapping)) else NO_OBJECT  # dict first: it is quicker


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list; none in something else."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a string, or the text of a list of parts; of something else, none."""
    if isinstance(value, str):
        return value
    return "".join(text_of(part.get("text")) for part in objects(value))


def index_of(value: Any) -> int:
    """Return a position; 0 for something else."""
    return value if isinstance(value, int) else 0


def count_of(given: Mapping[str, Any], *names: str) -> int:
    """Return the first count among `names`; 0 where there is none."""
    for name in names:
        value = given.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_COUNT:
            return value
    return 0
