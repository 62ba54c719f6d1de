"""Plain values <-> DynamoDB attribute values, and what an item weighs; no request is made here.

It must not know what an item means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Item = dict[str, Any]
"""An item as the client takes and gives it: `{name: {"S": …}}`."""


def to_item(values: Mapping[str, Any]) -> Item:
    """Return `values` as an item: text, integers, bytes, sets of text, mappings; no `None`."""
    return {name: to_attribute(value) for name, value in values.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `to_item` was given."""
    return {name: _from_attribute(attribute) for name, attribute in item.items()}


def to_attribute(value: Any) -> dict[str, Any]:
    """Return one value with its tag."""
    match value:
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case frozenset():
            return {"SS": sorted(value)}
        case Mapping():
            return {"M": to_item(value)}
        case _:
            raise TypeError(f"no attribute holds a {type(value).__name__}")


def _from_attribute(attribute: Mapping[str, Any]) -> Any:
    match attribute:
        case {"S": text}:
            return text
        case {"N": digits}:
            return int(digits)
        case {"B": octets}:
            return bytes(octets)
        case {"SS": texts}:
            return frozenset(texts)
        case {"M": inner}:
            return from_item(inner)
        case _:
            raise TypeError(f"unknown attribute {sorted(attribute)}")


def size_bytes(item: Mapping[str, Any]) -> int:
    """Return what DynamoDB bills `item` for: names and values. Source: DynamoDB, "item sizes"."""
    return sum(len(name.encode()) + _weight(attribute) for name, attribute in item.items())


def _weight(attribute: Mapping[str, Any]) -> int:
    match attribute:
        case {"S": text}:
            return len(text.encode())
        case {"N": digits}:
            return len(digits) // 2 + 2
        case {"B": octets}:
            return len(octets)
        case {"SS": texts}:
            return sum(len(text.encode()) for text in texts)
        case {"M": inner}:
            return 3 + len(inner) + size_bytes(inner)
        case _:
            raise TypeError(f"unknown attribute {sorted(attribute)}")
