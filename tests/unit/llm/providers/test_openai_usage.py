"""Counts and costs of OpenAI's kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.providers.openai_usage import cost_of, usage_of
from everturn.protocol.llm import Usage
from unit.llm.providers.openai_kit import ANYTHING

CHAT = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 50},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
RESPONSES = {
    "input_tokens": 100,
    "output_tokens": 20,
    "total_tokens": 120,
    "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 50},
    "output_tokens_details": {"reasoning_tokens": 5},
}
USED = Usage(
    input_tokens=20,
    output_tokens=20,
    cache_read_tokens=30,
    cache_write_tokens=50,
    reasoning_tokens=5,
)


@pytest.mark.parametrize("given_usage", [CHAT, RESPONSES])
def test_counts_do_not_overlap(given_usage: dict[str, Any]) -> None:
    """Y-2."""
    assert usage_of(given_usage) == USED


def test_reasoning_beside_the_output_is_added_to_it() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 20,
        "completion_tokens_details": {"reasoning_tokens": 7},
    }

    assert usage_of(usage).output_tokens == 10
    assert usage_of({**usage, "total_tokens": 13}).output_tokens == 3


@pytest.mark.parametrize("odd", [None, "5", -1, True, 1.5, 10**12, [], {}])
def test_what_is_no_count_counts_nothing(odd: Any) -> None:
    assert usage_of({"prompt_tokens": odd, "prompt_tokens_details": odd}) == Usage(
        input_tokens=0,
        output_tokens=0,
        cache_read_tokens=0,
        cache_write_tokens=0,
        reasoning_tokens=0,
    )


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (0.00078, "0.00078"),
        (1.5e-07, "0.00000015"),
        (2, "2"),
        (0, "0"),
        (0.0, "0"),
        ("0.5", "0.5"),
        ("1E-7", "0.0000001"),
        (None, None),
        (True, None),
        (-1, None),
        (1e30, None),
        (1e-30, None),
        (float("nan"), None),
        (float("inf"), None),
        ("sNaN", None),
        ("free", None),
        ("9" * 50, None),
        ([], None),
    ],
)
def test_a_cost_is_a_plain_decimal(cost: Any, told: str | None) -> None:
    """Y-1."""
    assert cost_of({"cost": cost}) == told


@given(st.dictionaries(st.sampled_from([*CHAT, *RESPONSES, "cost"]), ANYTHING))
def test_any_usage_is_read(given_usage: dict[str, Any]) -> None:
    assert usage_of(given_usage).input_tokens >= 0
    cost_of(given_usage)
