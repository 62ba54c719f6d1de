"""A reasoning level becomes an effort that the model offers."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.protocol.llm import ReasoningEffort
from everturn.runs.reasoning import STRENGTH, effort_of, level_of, reasoning_of, word_of

EVERY = ("medium", "low", "high", "xhigh", "minimal", "none")


@pytest.mark.parametrize(
    ("said", "level"),
    [("off", 0), ("low", 30), ("medium", 50), ("high", 80), (0, 0), (37, 37), (100, 100)],
)
def test_a_word_stands_for_a_number(said: str | int, level: int) -> None:
    assert level_of(said) == level


@pytest.mark.parametrize(
    ("level", "word"),
    [
        (0, "off"),
        (1, "low"),
        (30, "low"),
        (35, "low"),
        (36, "medium"),
        (50, "medium"),
        (65, "medium"),
        (66, "high"),
        (80, "high"),
        (100, "high"),
    ],
)
def test_a_number_is_the_word_that_it_is_near(level: int, word: str) -> None:
    assert word_of(level) == word


def test_the_strengths_are_those_of_all_efforts_that_think() -> None:
    assert {*STRENGTH, "none"} == set(get_args(ReasoningEffort))


@pytest.mark.parametrize(
    ("said", "efforts", "effort"),
    [
        ("low", EVERY, "low"),
        ("medium", EVERY, "medium"),
        ("high", EVERY, "high"),
        (100, EVERY, "high"),
        ("off", EVERY, "none"),
        (0, ("none", "low"), "none"),
        ("off", ("low",), None),
        ("off", (), None),
        ("low", (), "low"),
        (50, (), "medium"),
        ("low", ("medium", "high"), "medium"),
        ("medium", ("high", "low"), "low"),
        ("medium", ("xhigh", "high"), "high"),
        ("high", ("minimal", "xhigh"), "xhigh"),
        ("low", ("high", "minimal"), "minimal"),
        ("low", ("medium", "minimal"), "medium"),
        ("low", ("minimal", "medium"), "minimal"),
        ("high", ("none",), None),
        ("high", ("turbo", "low"), "low"),
    ],
)
def test_the_nearest_effort_that_is_offered_is_taken(
    said: str | int, efforts: tuple[str, ...], effort: str | None
) -> None:
    assert effort_of(said, efforts) == effort


@pytest.mark.parametrize(
    ("said", "efforts", "reasoning"),
    [
        ("high", EVERY, {"effort": "high"}),
        ("off", EVERY, {"effort": "none"}),
        ("off", ("low", "high"), {"enabled": False}),
        (0, (), {"enabled": False}),
        (10, ("none",), None),
    ],
)
def test_a_model_without_an_effort_for_off_is_told_so_in_other_words(
    said: str | int, efforts: tuple[str, ...], reasoning: dict[str, Any] | None
) -> None:
    assert reasoning_of(said, efforts) == reasoning


@given(
    said=st.sampled_from(("low", "medium", "high")) | st.integers(1, 100),
    efforts=st.lists(st.sampled_from(EVERY), unique=True, min_size=1),
)
def test_what_is_chosen_is_offered_and_thinks(said: str | int, efforts: list[str]) -> None:
    effort = effort_of(said, efforts)

    assert effort in set(efforts) - {"none"} or (effort is None and efforts == ["none"])
