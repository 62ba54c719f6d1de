"""Neutral model requests, answers, pieces and counts."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from everturn.protocol.llm import LlmRequest, LlmResponse, StreamDelta, Usage
from everturn.protocol.wire import WireModel, parse, to_json
from everturn.rejections import SchemaViolation

EXAMPLES: list[tuple[type[WireModel], dict[str, Any]]] = [
    (LlmRequest, {"model": "m", "messages": []}),
    (
        LlmRequest,
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"name": "t", "description": "d", "input": {"type": "object"}}],
            "temperature": 1,
            "max_completion_tokens": 10,
            "reasoning": {"effort": "xhigh"},
            "stop": ["END"],
            "output_schema": {"type": "string"},
        },
    ),
    (
        LlmResponse,
        {
            "model": "m",
            "content": "c",
            "tool_calls": [
                {"id": "a/b", "type": "function", "function": {"name": "f", "arguments": "{"}}
            ],
            "finish_reason": "stop",
            "usage": {"any": None},
            "cost": "-0.5",
            "images": [{"url": "data:"}],
        },
    ),
    (
        StreamDelta,
        {
            "text": "t",
            "reasoning": "r",
            "tool_calls": [{"id": "c1"}, {"id": "c1", "name": "f", "arguments": "{"}],
            "finish_reason": "stop",
        },
    ),
    (StreamDelta, {}),
    (Usage, {"input_tokens": 0, "output_tokens": 0}),
    (
        Usage,
        {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_tokens": 3,
            "cache_write_tokens": 4,
            "reasoning_tokens": 5,
            "provider": {"x": 1},
        },
    ),
]


@pytest.mark.parametrize(("model", "data"), EXAMPLES)
def test_every_form_is_read_and_written_alike(model: type[WireModel], data: dict[str, Any]) -> None:
    read = parse(TypeAdapter(model), data)

    assert to_json(read) == data


@pytest.mark.parametrize("cost", ["", "1.", ".5", "1e3", "+1", "1,0", "\u0661", "1\n"])
def test_money_is_a_plain_decimal(cost: str) -> None:
    with pytest.raises(SchemaViolation, match="/cost: "):
        parse(TypeAdapter(LlmResponse), {"model": "m", "cost": cost})


def test_counts_are_not_negative() -> None:
    with pytest.raises(SchemaViolation, match="/input_tokens: should be greater than or equal"):
        parse(TypeAdapter(Usage), {"input_tokens": -1, "output_tokens": 0})
