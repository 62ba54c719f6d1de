"""A model that is not there is answered with those that are called nearly so."""

from __future__ import annotations

import pytest

from everturn.errors import to_http
from everturn.runs.models import MAX_CANDIDATES, candidates, no_model

KNOWN = (
    "openai:gpt-6-sol",
    "openai:gpt-6-luna",
    "openai:gpt-5.6",
    "openai:gpt-5.6-sol",
    "anthropic:claude-opus-5",
    "anthropic:claude-sonnet-5",
    "demo:demo",
)


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("openai:gpt-6-sole", "openai:gpt-6-sol"),
        ("gpt-5.6", "openai:gpt-5.6"),
        ("GPT-6-Luna", "openai:gpt-6-luna"),
        ("claude-opus", "anthropic:claude-opus-5"),
        ("anthropic:claude-sonet-5", "anthropic:claude-sonnet-5"),
        ("platform:demo", "demo:demo"),
    ],
)
def test_the_closest_stands_first(wanted: str, first: str) -> None:
    found = candidates(wanted, KNOWN)

    assert found[0] == first
    assert len(found) == MAX_CANDIDATES


@pytest.mark.parametrize("wanted", ["", "x" * 100_000, "日本", "\x00"])
def test_any_text_may_be_wanted(wanted: str) -> None:
    assert len(candidates(wanted, KNOWN)) == MAX_CANDIDATES


def test_of_nothing_nothing_is_near() -> None:
    assert candidates("gpt", ()) == []


def test_each_model_is_named_once() -> None:
    assert candidates("a", ["a:a", "a:a"]) == ["a:a"]


def test_the_order_of_the_known_is_no_matter() -> None:
    assert candidates("sol", reversed(KNOWN)) == candidates("sol", KNOWN)


def test_the_error_names_the_field_and_the_candidates() -> None:
    answer = to_http(no_model("gpt-9", KNOWN[:2], at="/fallbackModelId"))

    assert answer == (
        400,
        {
            "error": "invalid_model",
            "code": "invalid_model",
            "message": "/fallbackModelId: there is no model gpt-9",
            "candidates": ["openai:gpt-6-sol", "openai:gpt-6-luna"],
        },
    )
