"""DynamoDB's arithmetic: item sizes and request units. Pure; it counts nothing itself."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any, assert_never, cast

WRITE_UNIT_BYTES = 1024
READ_UNIT_BYTES = 4096

AttributeValue = Mapping[str, Any]
"""One value in DynamoDB JSON, for example `{"S": "x"}`; binary as bytes or as base64 text."""


def item_size_bytes(item: Mapping[str, AttributeValue]) -> int:
    """Size of an item: its attribute names and values.

    Source: Amazon DynamoDB Developer Guide, "DynamoDB Item sizes and formats".
    """
    return sum(len(name.encode()) + value_size_bytes(value) for name, value in item.items())


def value_size_bytes(value: AttributeValue) -> int:
    """Size of one attribute value without its name."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(str(content).encode())
        case "N":
            return _number_size_bytes(str(content))
        case "B":
            return _binary_size_bytes(content)
        case "BOOL" | "NULL":
            return 1
        case "SS" | "NS" | "BS":
            return sum(value_size_bytes({kind[0]: each}) for each in content)
        case _:
            return _document_size_bytes(kind, content)


def _document_size_bytes(kind: str, content: Any) -> int:
    """Lists and maps: three bytes, and one more for each element."""
    match kind:
        case "L":
            return 3 + sum(1 + value_size_bytes(_plain(each)) for each in content)
        case "M":
            return 3 + sum(
                1 + len(name.encode()) + value_size_bytes(_plain(each))
                for name, each in content.items()
            )
        case _:
            raise ValueError(f"unknown attribute type {kind}")


def _plain(value: Any) -> AttributeValue:
    return cast(AttributeValue, value if isinstance(value, Mapping) else value.to_json())


def _number_size_bytes(number: str) -> int:
    """About one byte for two significant digits, one more, and one for a minus sign."""
    mantissa = number.lower().split("e")[0]
    digits = mantissa.lstrip("-+").replace(".", "").strip("0")
    return math.ceil(len(digits) / 2) + 1 + mantissa.startswith("-")


def _binary_size_bytes(content: bytes | str) -> int:
    match content:
        case bytes() | bytearray():
            return len(content)
        case str():
            return len(base64.b64decode(content))
        case _:
            assert_never(content)


def write_units(
    old_bytes: int | None, new_bytes: int | None, *, transactional: bool = False
) -> float:
    """Write request units of one item change; None is an absent item.

    A write that meets no item and leaves none still costs one unit.
    Source: Amazon DynamoDB Developer Guide, "Capacity unit consumption for write operations".
    """
    units = max(1, math.ceil(max(old_bytes or 0, new_bytes or 0) / WRITE_UNIT_BYTES))
    return float(units * (2 if transactional else 1))


def index_write_units(
    old: Mapping[str, AttributeValue] | None,
    new: Mapping[str, AttributeValue] | None,
    *,
    moved: bool,
) -> float:
    """Write units that one change costs in an index; `old` and `new` are the projected entries.

    None is an item without an entry. `moved` says that the index key changed: one delete and one
    put. Source: Amazon DynamoDB Developer Guide, "Global secondary indexes", write capacity.
    """
    if old is None and new is None:
        return 0.0
    old_bytes = None if old is None else item_size_bytes(old)
    new_bytes = None if new is None else item_size_bytes(new)
    if old is not None and new is not None:
        if old == new:
            return 0.0
        if moved:
            return write_units(old_bytes, None) + write_units(None, new_bytes)
    return write_units(old_bytes, new_bytes)


def read_units(size_bytes: int, *, consistent: bool, transactional: bool = False) -> float:
    """Read request units of one item, or of one Query page by its summed size.

    Source: Amazon DynamoDB Developer Guide, "Capacity unit consumption for read operations".
    """
    units = max(1, math.ceil(size_bytes / READ_UNIT_BYTES))
    if transactional:
        return float(units * 2)
    return float(units) if consistent else units / 2
