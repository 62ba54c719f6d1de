"""A tenant's regular expression must not hold a driver up."""

from __future__ import annotations

import re
import time

import pytest

from everturn.tools.patterns import max_subject_chars, refusal


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^$",
        r"^\d{3}-\d{4}$",
        r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$",
        r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
        "^[a-z0-9]+(?:-[a-z0-9]+)*$",
        r"^\d+(\.\d+)*$",
        "([a-z]+-)*[a-z]+",
        r"^https?://[^\s/$.?#].[^\s]*$",
        r"^(?=.*\d)(?=.*[a-z]).{8,}$",
        "^(?:%[0-9a-f]{2}|[a-z])*$",
        r"^\s*\w+\s*=\s*\w+$",
        "^(red|green|blue)$",
        ".*",
    ],
)
def test_patterns_of_everyday_are_accepted(pattern: str) -> None:
    assert refusal(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a+)+", "the pattern repeats a repetition whose end is not clear"),
        (r"^(\w+\s?)*$", "the pattern repeats a repetition whose end is not clear"),
        ("(x+x+)+y", "the pattern repeats a repetition whose end is not clear"),
        ("(a+){2,9}", "the pattern repeats a repetition whose end is not clear"),
        ("(a?){30}a{30}", "the pattern repeats a repetition whose end is not clear"),
        ("((a*)*)*", "the pattern repeats what may be empty"),
        ("^(a|aa)*$", "the pattern repeats a choice whose branches begin alike"),
        ("(a|b|ab)*c", "the pattern repeats a choice whose branches begin alike"),
        ("a?" * 30 + "a" * 30, "the pattern can divide a text in too many ways"),
        (r"(.+)\1", "the pattern has a back reference, a condition or flags"),
        ("(?i)a", "the pattern has a back reference, a condition or flags"),
        ("(", "the pattern does not compile"),
        ("a" * 1001, "a pattern has at most 1000 characters"),
    ],
)
def test_patterns_that_may_run_for_ever_are_refused(pattern: str, reason: str) -> None:
    assert refusal(pattern) == reason


@pytest.mark.parametrize(
    ("pattern", "subject"),
    [
        (".*.*.*x", "a"),
        (r"^(?=.*\d)(?=.*[A-Z]).{8,}$", "a"),
        (r"\w{2,}[ab]+$", "a"),
        ("^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-"),
        ("^x|b+c", "b"),
    ],
)
def test_a_search_within_the_limit_ends_soon(pattern: str, subject: str) -> None:
    chars = min(max_subject_chars(pattern), 100_000)
    text = (subject * chars)[: chars - 1] + "!"

    begun = time.monotonic()
    re.search(pattern, text)

    assert time.monotonic() - begun < 20


def test_a_pattern_without_endless_repetition_searches_any_text() -> None:
    assert max_subject_chars("^[a-f]{8}$") >= 2**21
