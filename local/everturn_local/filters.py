"""The event filter patterns of event source mappings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_ABSENT = object()


def passes(patterns: Iterable[Mapping[str, Any]], record: Mapping[str, Any]) -> bool:
    """Whether a record meets one of `patterns`, or there is none.

    Source: AWS Lambda Developer Guide, "Control which events Lambda sends to your function".
    """
    patterns = tuple(patterns)
    return not patterns or any(_matches(pattern, record) for pattern in patterns)


def _matches(pattern: Mapping[str, Any], value: Any) -> bool:
    for key, expected in pattern.items():
        present = value.get(key, _ABSENT) if isinstance(value, Mapping) else _ABSENT
        match expected:
            case Mapping():
                if not _matches(expected, present):
                    return False
            case list():
                if not any(_meets(rule, present) for rule in expected):
                    return False
            case _:
                raise ValueError(f"a filter pattern holds lists and objects, not {expected!r}")
    return True


def _meets(rule: Any, value: Any) -> bool:
    match rule:
        case {"prefix": str(prefix)}:
            return isinstance(value, str) and value.startswith(prefix)
        case {"suffix": str(suffix)}:
            return isinstance(value, str) and value.endswith(suffix)
        case {"exists": bool(exists)}:
            return (value is not _ABSENT) is exists
        case {"anything-but": list(others)}:
            return value is not _ABSENT and value not in others
        case {"anything-but": other}:
            return value is not _ABSENT and value != other
        case dict():
            raise ValueError(f"the local runtime does not know the filter rule {rule!r}")
        case _:
            return bool(value == rule)
