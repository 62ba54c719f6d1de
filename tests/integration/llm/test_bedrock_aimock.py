"""`BedrockModel` against aimock, whose streams nobody here wrote: calls, and refusals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everturn.llm.assemble import assemble
from everturn.llm.chunks import Chunk
from everturn.llm.failure import FailureCode, ModelFailed
from integration.llm.converse_spoken import calling
from providers.aimock import Aimock
from providers.clients import bedrock_client

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
"""A model without cache points: aimock stumbles over those."""

TOOL = {"name": "get_weather", "description": "Tells the weather."}


def told(aimock: Aimock, text: str) -> Iterator[Chunk]:
    """Yield the chunks of one call."""
    said = [{"role": "user", "content": text}]
    with bedrock_client(aimock.bedrock_url) as client:
        yield from calling(client, model=MODEL, messages=said, tools=[TOOL])


def test_two_calls_are_read(aimock: Aimock) -> None:
    answer = assemble(told(aimock, "compare"))

    assert [call.function.name for call in answer.tool_calls] == ["get_weather"] * 2
    assert [call.id for call in answer.tool_calls] == ["call_paris", "call_rome"]
    assert answer.finish_reason == "tool_calls"
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 16)


def test_a_text_that_begins_as_bedrock_begins_none_cannot_be_read(aimock: Aimock) -> None:
    with pytest.raises(ModelFailed) as raised:
        list(told(aimock, "hello"))

    assert raised.value.code == FailureCode.SERVER


@pytest.mark.parametrize(
    ("word", "code", "status"),
    [
        ("limited", FailureCode.RATE_LIMIT, 429),
        ("unavailable", FailureCode.OVERLOADED, 503),
        ("overloaded", FailureCode.OVERLOADED, 529),
    ],
)
def test_refusals_are_told(aimock: Aimock, word: str, code: FailureCode, status: int) -> None:
    with pytest.raises(ModelFailed) as raised:
        list(told(aimock, word))

    assert (raised.value.code, raised.value.status) == (code, status)
