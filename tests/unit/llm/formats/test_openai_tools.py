"""How tools are used, in OpenAI's body."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.formats.bodies import to_body

REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": [{"name": "stop", "description": ""}],
}


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"name": "stop"}, {"type": "function", "function": {"name": "stop"}}),
    ],
)
def test_how_tools_are_used(choice: Any, told: Any) -> None:
    """W-4."""
    settings = {"tool_choice": choice, "parallel_tool_calls": False}

    body = to_body("openai", {**REQUEST, **settings})

    assert body["tool_choice"] == told
    assert body["parallel_tool_calls"] is False


def test_without_tools_nothing_is_said_of_their_use() -> None:
    """W-4."""
    settings = {"tools": [], "tool_choice": "none", "parallel_tool_calls": True}

    body = to_body("openai", {**REQUEST, **settings})

    assert not body.keys() & settings.keys()
