"""Token counts as workers report them, made disjoint. Source: decision-protocol Y-2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.session.events.shape import Usage

OURS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def usage_of(given: Any) -> Usage | None:
    """Return the counts of a usage object in our shape, OpenAI's or Anthropic's; else nothing."""
    if not isinstance(given, Mapping):
        return None
    if "prompt_tokens" in given:
        return _openai(given)
    if "cache_creation_input_tokens" in given or "cache_read_input_tokens" in given:
        return Usage(
            input_tokens=_count(given, "input_tokens"),
            output_tokens=_count(given, "output_tokens"),
            cache_read_tokens=_count(given, "cache_read_input_tokens"),
            cache_write_tokens=_count(given, "cache_creation_input_tokens"),
        )
    if "input_tokens" in given or "output_tokens" in given:
        return Usage(**{name: _count(given, name) for name in OURS})
    return None


def _openai(given: Mapping[str, Any]) -> Usage:
    cached = _count(given.get("prompt_tokens_details"), "cached_tokens")
    return Usage(
        input_tokens=max(0, _count(given, "prompt_tokens") - cached),
        output_tokens=_count(given, "completion_tokens"),
        cache_read_tokens=cached,
        reasoning_tokens=_count(given.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(given: Any, name: str) -> int:
    value = given.get(name) if isinstance(given, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
