"""What Anthropic's models take, by their ids on either road."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.providers.anthropic import AnthropicWire
from everturn.llm.providers.claude import (
    can_be_forced,
    effort_of,
    own_thinking,
    takes_temperature,
    version_of,
)
from everturn.llm.providers.http_model import Asked
from everturn.ports.model import Account, Beside

TOOLS = [{"name": "add", "description": "Adds."}]


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-sonnet-4-5-20250929", (4, 5)),
        ("claude-opus-4-20250514", (4, 0)),
        ("claude-opus-5", (5, 0)),
        ("claude-fable-5-1", (5, 1)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", (4, 5)),
        ("anthropic.claude-opus-4-20250514-v1:0", (4, 0)),
        ("global.anthropic.claude-opus-4-6-v1", (4, 6)),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", (0, 0)),
        ("claude-mythos-preview", (0, 0)),
        ("gpt-5", (0, 0)),
    ],
)
def test_a_version_is_read_from_ids_of_both_roads(model: str, version: tuple[int, int]) -> None:
    assert version_of(model) == version


def test_late_models_have_no_temperature() -> None:
    assert takes_temperature("claude-opus-4-6")
    assert not takes_temperature("claude-opus-4-7")


@pytest.mark.parametrize(
    ("model", "can"),
    [
        ("claude-opus-5", True),
        ("us.anthropic.claude-opus-5-5", False),
        ("claude-fable-5", True),
        ("claude-haiku-5-5", True),
        ("us.anthropic.claude-haiku-5-5", True),
        ("claude-fable-5-1", False),
        ("claude-mythos-5", False),
        ("claude-mythos-preview", False),
    ],
)
def test_late_models_cannot_be_made_to_call_a_tool(model: str, can: bool) -> None:
    assert can_be_forced(model) is can


@pytest.mark.parametrize(
    ("model", "reasoning", "told"),
    [
        ("claude-opus-4-6", None, {}),
        ("claude-opus-4-5", {"effort": "high"}, {}),
        (
            "claude-opus-4-6",
            {"effort": "minimal", "exclude": True},
            {
                "thinking": {"type": "adaptive", "display": "omitted"},
                "output_config": {"effort": "low"},
            },
        ),
        (
            "claude-opus-4-7",
            {"max_tokens": 9000},
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
        ),
        (
            "claude-opus-4-6",
            {"max_tokens": 20_000},
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
        ),
        (
            "claude-opus-4-7",
            {"max_tokens": 20_000},
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "xhigh"},
            },
        ),
        (
            "claude-opus-4-7",
            {"enabled": True},
            {"thinking": {"type": "adaptive", "display": "summarized"}},
        ),
        ("claude-opus-4-7", {"effort": "none"}, {}),
        ("claude-opus-5", {"effort": "none"}, {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5", {"enabled": False}, {"thinking": {"type": "disabled"}}),
        ("claude-opus-5-5", {"effort": "none"}, {"output_config": {"effort": "low"}}),
        ("claude-fable-5", {"effort": "none"}, {"output_config": {"effort": "low"}}),
    ],
)
def test_a_model_that_decides_itself_is_told_how_hard_to_think(
    model: str, reasoning: dict[str, Any] | None, told: dict[str, Any]
) -> None:
    assert own_thinking({"model": model, "reasoning": reasoning}) == told


def test_a_budget_stands_for_the_effort_it_fits_in() -> None:
    assert [effort_of(tokens) for tokens in (1, 2048, 2049, 100_000)] == [
        "minimal",
        "low",
        "medium",
        "xhigh",
    ]


@pytest.mark.parametrize(
    ("request_", "choice"),
    [
        ({"model": "claude-opus-4-5", "tool_choice": "required"}, {"type": "any"}),
        ({"model": "claude-opus-5-5", "tool_choice": "required"}, {"type": "auto"}),
        (
            {
                "model": "claude-opus-5-5",
                "tool_choice": {"name": "add"},
                "parallel_tool_calls": False,
            },
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
        (
            {
                "model": "claude-opus-4-5",
                "tool_choice": "required",
                "reasoning": {"effort": "low"},
            },
            {"type": "auto"},
        ),
        (
            {"model": "claude-opus-5", "tool_choice": "required", "reasoning": {"effort": "none"}},
            {"type": "any"},
        ),
        (
            {
                "model": "claude-opus-4-6",
                "tool_choice": "required",
                "reasoning": {"effort": "low"},
            },
            {"type": "any"},
        ),
        ({"model": "claude-opus-5-5", "output_schema": {"type": "object"}}, {"type": "auto"}),
        ({"model": "claude-opus-5", "output_schema": {"type": "object"}}, {"type": "any"}),
    ],
)
def test_a_model_that_cannot_be_forced_is_left_to_choose(
    request_: dict[str, Any], choice: dict[str, Any]
) -> None:
    request = {"messages": [{"role": "user", "content": "2+2?"}], "tools": TOOLS, **request_}

    sent = AnthropicWire().encode(
        Asked(request, frozenset(), Beside(account=Account(api_key="test")))
    )

    assert sent.body["tool_choice"] == choice


@pytest.mark.parametrize(
    "before", [[], [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ho."}]]
)
def test_a_result_without_its_call_goes_out_without_thinking(before: list[Any]) -> None:
    messages = [*before, {"role": "tool", "tool_call_id": "c1", "content": "4"}]
    request = {"model": "claude-opus-4-5", "messages": messages, "reasoning": {"effort": "low"}}

    sent = AnthropicWire().encode(
        Asked(request, frozenset(), Beside(account=Account(api_key="test")))
    )

    assert "thinking" not in sent.body
