"""What OpenAI's models take, told by their ids."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.providers.openai_models import (
    cache_key,
    chat_effort_for,
    effort_for,
    effort_of,
    reasons,
    takes_none,
    takes_parallel_choice,
    version_of,
)


@pytest.mark.parametrize(
    ("model", "does"),
    [
        ("o1", True),
        ("o3-mini-2025-01-31", True),
        ("o4-mini-deep-research", True),
        ("gpt-5", True),
        ("gpt-5-nano-2025-08-07", True),
        ("gpt-5.6-sol", True),
        ("gpt-6-astra", True),
        ("gpt-10", True),
        ("openai/gpt-5.4", True),
        ("ft:o4-mini:org::1", True),
        ("codex-mini-latest", True),
        ("gpt-oss-120b", True),
        ("gpt-rosalind-research", True),
        ("gpt-5-chat-latest", False),
        ("gpt-5.3-chat-latest", True),
        ("gpt-35-turbo", False),
        ("gpt-4o", False),
        ("gpt-4.1-mini-2025-04-14", False),
        ("ft:gpt-4.1-mini:org::1", False),
        ("gpt-3.5-turbo", False),
        ("gpt-audio-mini", False),
        ("chatgpt-4o-latest", False),
        ("omni", False),
        ("llama-3", False),
    ],
)
def test_which_models_reason(model: str, does: bool) -> None:
    assert reasons(model) is does


def test_versions() -> None:
    assert [
        version_of(one) for one in ("gpt-5", "gpt-5.6-sol", "ft:gpt-4.1:o", "gpt-4o", "o3")
    ] == [
        (5, 0),
        (5, 6),
        (4, 1),
        (4, 0),
        (0, 0),
    ]


@pytest.mark.parametrize(
    ("model", "does"),
    [
        ("gpt-5.1", True),
        ("gpt-5.6-sol", True),
        ("gpt-6-sol", True),
        ("openai/gpt-6-luna-2026-09-01", True),
        ("gpt-6-astra", False),
        ("gpt-6.1-terra", True),
        ("gpt-6.1-sol", False),
        ("gpt-7-unheard-of", False),
        ("gpt-5", False),
        ("gpt-5.5-pro", False),
        ("gpt-5.1-codex", False),
        ("o3", False),
    ],
)
def test_which_models_can_be_told_not_to_reason(model: str, does: bool) -> None:
    assert takes_none(model) is does


@pytest.mark.parametrize(
    ("reasoning", "effort"),
    [
        ({}, None),
        ({"exclude": True}, None),
        ({"effort": "xhigh"}, "xhigh"),
        ({"effort": "low", "max_tokens": 20000}, "low"),
        ({"max_tokens": 100}, "low"),
        ({"max_tokens": 2048}, "low"),
        ({"max_tokens": 2049}, "medium"),
        ({"max_tokens": 9000}, "high"),
        ({"max_tokens": 99000}, "high"),
        ({"enabled": True}, "medium"),
        ({"enabled": False, "effort": "high"}, "none"),
        ({"effort": "none"}, "none"),
    ],
)
def test_an_effort_is_what_is_asked_for(reasoning: dict[str, Any], effort: str | None) -> None:
    """W-6."""
    assert effort_of(reasoning) == effort


@pytest.mark.parametrize(
    ("model", "reasoning", "effort"),
    [
        ("gpt-4.1", {"effort": "high"}, None),
        ("gpt-5", {"effort": "high"}, "high"),
        ("gpt-5", {"enabled": False}, None),
        ("gpt-5.6-sol", {"enabled": False}, "none"),
        ("gpt-6-astra", {"enabled": False}, None),
        ("gpt-6.1-sol", {"effort": "none"}, None),
        ("gpt-5.6-sol", None, None),
    ],
)
def test_an_effort_goes_where_it_has_a_place(
    model: str, reasoning: Any, effort: str | None
) -> None:
    assert effort_for({"model": model, "reasoning": reasoning}) == effort


@pytest.mark.parametrize(
    ("model", "tools", "reasoning", "effort"),
    [
        ("gpt-5.6-sol", [{}], None, "none"),
        ("gpt-5.4", [{}], {}, "none"),
        ("gpt-5.6-sol", [], None, None),
        ("gpt-5.6-sol", [{}], {"effort": "high"}, "high"),
        ("gpt-6-luna", [{}], None, "none"),
        ("gpt-6-astra", [{}], None, None),
        ("gpt-5.2", [{}], None, None),
        ("gpt-5.5-pro", [{}], None, None),
        ("o3", [{}], None, None),
        ("gpt-4.1", [{}], None, None),
    ],
)
def test_chat_completions_take_tools_from_new_models_only_without_reasoning(
    model: str, tools: list[Any], reasoning: Any, effort: str | None
) -> None:
    request = {"model": model, "tools": tools, "reasoning": reasoning}

    assert chat_effort_for(request) == effort


def test_the_o_series_is_not_told_how_many_calls_it_may_make() -> None:
    assert not takes_parallel_choice("o3-mini")
    assert takes_parallel_choice("gpt-5")


def test_a_cache_key_is_short_and_its_own() -> None:
    assert cache_key("s" * 64) == "s" * 64
    assert len(cache_key("s" * 65)) == 64
    assert cache_key("s" * 65) == cache_key("s" * 65) != cache_key("s" * 66)
