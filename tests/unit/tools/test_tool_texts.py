"""8.4 and U-9: the very words that a model reads."""

from __future__ import annotations

from everturn.protocol.tool_texts import (
    invalid_arguments_text,
    invalid_result_text,
    malformed_arguments_text,
    undeclared_tool_text,
)


def test_the_texts_are_those_of_the_protocol() -> None:
    texts = [
        invalid_arguments_text("get_weather", "/city: required"),
        malformed_arguments_text("get_weather", "it is an array"),
        undeclared_tool_text("get_wether", ["get_weather", "poet"]),
        undeclared_tool_text("get_wether", []),
        invalid_result_text("get_weather", "/sky: required"),
    ]

    assert texts == [
        "Arguments for get_weather do not fit its schema: /city: required",
        "Arguments for get_weather are not a JSON object: it is an array",
        "There is no tool named get_wether. Available: get_weather, poet",
        "There is no tool named get_wether. Available: none",
        "Result of get_weather does not fit its output schema: /sky: required",
    ]
