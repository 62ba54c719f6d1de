"""Token counts and costs as OpenAI's APIs and their kin report them; prices nothing."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from everturn.llm.providers.loose import count_of
from everturn.protocol.llm import Usage

MAX_COST_CHARS: Final = 40
_DIGITS: Final = range(-20, 10)
"""Places of a cost's first digit that make sense in dollars."""


def usage_of(given: Mapping[str, Any]) -> Usage:
    """Return disjoint counts, of chat completions or of Responses. Source: Y-2.

    Both count what was read from a cache, or written to one, within the input. xAI counts
    reasoning beside the output, as its total shows.
    """
    about_input = _part(given, "prompt_tokens_details", "input_tokens_details")
    about_output = _part(given, "completion_tokens_details", "output_tokens_details")
    read, written = (
        count_of(about_input, "cached_tokens"),
        count_of(about_input, "cache_write_tokens"),
    )
    whole_input = count_of(given, "prompt_tokens", "input_tokens")
    output = count_of(given, "completion_tokens", "output_tokens")
    reasoning = count_of(about_output, "reasoning_tokens")
    if reasoning and count_of(given, "total_tokens") == whole_input + output + reasoning:
        output += reasoning
    return Usage(
        input_tokens=max(0, whole_input - read - written),
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def cost_of(given: Mapping[str, Any]) -> str | None:
    """Return `cost` in dollars as a plain decimal, nothing where it is none.

    Source: OpenRouter API, "Usage accounting"; Y-1.
    """
    value = given.get("cost")
    is_number = isinstance(value, float | str) or type(value) is int
    try:
        dollars = Decimal(str(value)) if is_number and len(str(value)) <= MAX_COST_CHARS else None
    except InvalidOperation:
        return None
    if dollars is None or not dollars.is_finite() or dollars < 0:
        return None
    if dollars == 0:
        return "0"
    return f"{dollars:f}" if dollars.adjusted() in _DIGITS else None


def _part(given: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((given[name] for name in names if isinstance(given.get(name), Mapping)), {})
