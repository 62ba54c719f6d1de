"""Bodies and streams of workers' model answers, as the core takes them."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.formats import openai
from everturn.llm.formats.bodies import delta_reader
from everturn.llm.formats.reading import read_reply
from everturn.llm.formats.usage import usage_of
from everturn.rejections import InvalidLlmResponse
from everturn.session.commands import ModelAnswered, ModelFailure
from everturn.session.events.shape import Usage

CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Tokyo"}'},
}
OPENAI = {
    "choices": [
        {
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]},
        }
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
    },
}
ANTHROPIC = {
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": "Let me "},
        {"type": "text", "text": "see."},
        {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Tokyo"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 40, "output_tokens": 20, "cache_read_input_tokens": 60},
}
NEUTRAL = {
    "model": "m",
    "content": "Let me see.",
    "tool_calls": [CALL],
    "finish_reason": "tool_calls",
    "usage": {"input_tokens": 40, "output_tokens": 20, "cache_read_tokens": 60},
}


@pytest.mark.parametrize(
    ("format_name", "body"), [("openai", OPENAI), ("anthropic", ANTHROPIC), (None, NEUTRAL)]
)
def test_an_answer_means_the_same_in_every_format(
    format_name: str | None, body: dict[str, Any]
) -> None:
    """W-3, W-5, W-7, Y-2."""
    reply = read_reply(format_name, body)

    assert isinstance(reply, ModelAnswered)
    assert reply.message == {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [CALL],
    }
    assert reply.finish_reason == "tool_calls"
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.cache_read_tokens) == (40, 60)


@pytest.mark.parametrize(
    ("format_name", "body"),
    [
        ("openai", {"choices": [{"message": {"refusal": "no"}, "finish_reason": "stop"}]}),
        ("openai", {"choices": [{"message": {"content": "x"}, "finish_reason": "content_filter"}]}),
        ("anthropic", {"content": [], "stop_reason": "refusal"}),
        (None, {"model": "m", "content": "x", "finish_reason": "content_filter"}),
    ],
)
def test_a_refusal_is_a_failure(format_name: str | None, body: dict[str, Any]) -> None:
    """W-5, W-7, L-9."""
    reply = read_reply(format_name, body)

    assert isinstance(reply, ModelFailure)
    assert (reply.code, reply.retryable) == ("refused", False)


def test_nothing_at_all_is_tried_again_and_a_cut_off_reply_kept() -> None:
    """L-9, G-4."""
    empty = read_reply("anthropic", {"content": [], "stop_reason": "end_turn"})
    cut = read_reply("anthropic", {"content": [], "stop_reason": "max_tokens"})

    assert isinstance(empty, ModelFailure)
    assert (empty.retryable, empty.detail) == (True, {"reason": "empty_response"})
    assert isinstance(cut, ModelAnswered)
    assert cut.finish_reason == "length"


def test_images_of_a_neutral_answer_are_parts() -> None:
    """W-3."""
    reply = read_reply(None, {"model": "m", "content": "Here.", "images": [{"url": "u"}]})

    assert isinstance(reply, ModelAnswered)
    assert reply.message["content"] == [
        {"type": "text", "text": "Here."},
        {"type": "image_url", "image_url": {"url": "u"}},
    ]


@pytest.mark.parametrize(
    ("format_name", "body"),
    [
        (None, {"content": "no model"}),
        (None, None),
        (None, {"model": "m", "tool_calls": [CALL, CALL]}),
        ("openai", {"choices": []}),
        ("openai", []),
        ("openai", {"choices": [{"message": {"content": [1]}}]}),
        ("openai", {"choices": [{"message": {"tool_calls": [{"id": "x"}]}}]}),
        ("anthropic", {"content": "text"}),
        ("anthropic", {"content": [{"type": "tool_use"}]}),
    ],
)
def test_a_body_of_another_shape_is_refused(format_name: str | None, body: Any) -> None:
    """P-3 `invalid_llm_response`."""
    with pytest.raises(InvalidLlmResponse):
        read_reply(format_name, body)


def test_counts_of_any_other_shape_are_none() -> None:
    """Y-2."""
    assert usage_of({"tokens": 1}) is None
    assert usage_of("many") is None
    assert usage_of({"prompt_tokens": True, "completion_tokens": -1}) == Usage()


def test_openais_chunks_become_deltas() -> None:
    """W-9."""
    read = delta_reader("openai")
    chunks = [
        '{"choices":[{"delta":{"content":"It "}}]}',
        '{"choices":[{"delta":{"reasoning_content":"hm"}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f"}}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}',
        '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
        '{"choices":[]}',
        "no json",
        '{"choices":[{"delta":{"tool_calls":5}}]}',
    ]

    deltas = [read(chunk) for chunk in chunks]

    shown = [one.model_dump(exclude_none=True) if one else None for one in deltas]
    assert shown[:5] == [
        {"text": "It "},
        {"reasoning": "hm"},
        {"tool_calls": ({"id": "c1", "name": "f"},)},
        {"tool_calls": ({"id": "c1", "arguments": "{}"},)},
        {"finish_reason": "stop"},
    ]
    assert shown[5:] == [None, None, None]


def test_anthropics_events_become_deltas() -> None:
    """W-9."""
    read = delta_reader("anthropic")
    events = [
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It"}}',
        '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"f"}}',
        '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}',
        '{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"hm"}}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
        '{"type":"ping"}',
    ]

    deltas = [read(event) for event in events]

    shown = [one.model_dump(exclude_none=True) if one else None for one in deltas]
    assert shown == [
        None,
        {"text": "It"},
        {"tool_calls": ({"id": "c1", "name": "f"},)},
        {"tool_calls": ({"id": "c1", "arguments": "{"},)},
        {"reasoning": "hm"},
        {"finish_reason": "stop"},
        None,
    ]


def test_neutral_deltas_are_taken_as_they_are() -> None:
    read = delta_reader(None)

    delta = read('{"text":"It"}')

    assert delta is not None
    assert delta.text == "It"
    assert read('{"text":5}') is None
    assert openai.to_body({"model": "m", "messages": []}) == {"model": "m", "messages": []}
