"""Anthropic's events, read: whole, cut anywhere, wordy, silent, and wrong."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.assemble import Answer, Assembler
from everturn.llm.chunks import (
    Chunk,
    ExtensionBlock,
    Finished,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    UsageReported,
)
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.anthropic import FINAL_REPORT, EventReader
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.names import ToolNames
from everturn.outbound.sse import SseFrame
from everturn.protocol.llm import Usage


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def start(index: int, **block: Any) -> dict[str, Any]:
    return event("content_block_start", index=index, content_block=block)


def piece(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return event("content_block_delta", index=index, delta={"type": kind, **more})


def stop(index: int) -> dict[str, Any]:
    return event("content_block_stop", index=index)


def ended(reason: str, **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [event("message_delta", delta=delta, usage=usage), event("message_stop")]


BEGUN = event(
    "message_start",
    message={
        "id": "msg_1",
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 6,
            "output_tokens": 1,
        },
    },
)
WHOLE = [
    BEGUN,
    event("ping"),
    start(0, type="thinking", thinking="", signature=""),
    piece(0, "thinking_delta", thinking="Let me "),
    piece(0, "thinking_delta", thinking="see."),
    piece(0, "signature_delta", signature="si"),
    piece(0, "signature_delta", signature="g"),
    stop(0),
    start(1, type="redacted_thinking", data="xyz"),
    stop(1),
    start(2, type="text", text=""),
    piece(2, "text_delta", text="I look."),
    stop(2),
    start(3, type="tool_use", id="toolu_1", name="get_weather", input={}),
    piece(3, "input_json_delta", partial_json=""),
    piece(3, "input_json_delta", partial_json='{"ci'),
    start(4, type="tool_use", id="toolu_2", name="look", input={}),
    piece(4, "input_json_delta", partial_json="{}"),
    piece(3, "input_json_delta", partial_json='ty":"Bern"}'),
    stop(3),
    stop(4),
    *ended("tool_use", output_tokens=30, output_tokens_details={"thinking_tokens": 12}),
]


def reader(final: str | None = None) -> EventReader:
    return EventReader(Blocks(ToolNames(["get_weather", "look"]), final_tool=final))


def read(events: list[dict[str, Any]], final: str | None = None) -> list[Chunk]:
    """Return what a stream of `events` comes to, as `HttpModel` reads it."""
    read_by = reader(final)
    chunks: list[Chunk] = []
    for one in events:
        chunks += read_by.read(SseFrame("message", json.dumps(one)))
        if read_by.is_done:
            break
    return [*chunks, *read_by.end()]


def answer(events: list[dict[str, Any]], final: str | None = None) -> Answer:
    assembler = Assembler()
    for chunk in read(events, final):
        assembler.feed(chunk)
    return assembler.answer()


def test_a_whole_answer() -> None:
    made = answer(WHOLE)

    assert made.blocks == (
        ReasoningBlock("Let me see.", "sig"),
        ExtensionBlock("redacted_thinking", '{"data": "xyz"}'),
        TextBlock("I look."),
        ToolCallBlock("toolu_1", "get_weather", '{"city":"Bern"}'),
        ToolCallBlock("toolu_2", "look", "{}"),
    )
    assert made.finish_reason == "tool_calls"
    assert made.usage == Usage(
        input_tokens=10,
        output_tokens=30,
        cache_read_tokens=4,
        cache_write_tokens=6,
        reasoning_tokens=12,
    )


@pytest.mark.parametrize("frames", range(len(WHOLE) - 2))
def test_a_stream_that_is_cut_is_no_answer_and_says_what_was_used(frames: int) -> None:
    chunks = read(WHOLE[:frames])

    assert not [chunk for chunk in chunks if isinstance(chunk, Finished)]
    used = [chunk.usage.input_tokens for chunk in chunks if isinstance(chunk, UsageReported)]
    assert used == ([10] if frames else [])


def test_an_answer_is_whole_without_its_last_event() -> None:
    assert answer(WHOLE[:-1]) == answer(WHOLE)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_why_a_model_stopped(reason: str, finish: str) -> None:
    text = [start(0, type="text", text="Hi"), stop(0)]

    assert answer([BEGUN, *text, *ended(reason)]).finish_reason == finish


def test_a_refusal_is_a_failure() -> None:
    with pytest.raises(ModelFailed) as failed:
        answer([BEGUN, *ended("refusal", output_tokens=1)])

    assert failed.value.code is FailureCode.REFUSED


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("overloaded_error", FailureCode.OVERLOADED),
        ("rate_limit_error", FailureCode.RATE_LIMIT),
        ("api_error", FailureCode.SERVER),
        ("something_new", FailureCode.SERVER),
    ],
)
def test_an_error_in_the_stream_ends_it(kind: str, code: FailureCode) -> None:
    error = event("error", error={"type": kind, "message": "No."}, request_id="req_1")

    with pytest.raises(ModelFailed) as failed:
        read([*WHOLE[:12], error])

    assert (failed.value.code, failed.value.request_id) == (code, "req_1")
    assert failed.value.provider_message == "No."


def test_a_final_report_is_the_text() -> None:
    report = [
        start(0, type="text", text=""),
        piece(0, "text_delta", text="Here it is."),
        stop(0),
        start(1, type="tool_use", id="toolu_9", name=FINAL_REPORT, input={}),
        piece(1, "input_json_delta", partial_json='{"sum":'),
        piece(1, "input_json_delta", partial_json="3}"),
        stop(1),
    ]

    made = answer([BEGUN, *report, *ended("tool_use")], FINAL_REPORT)

    assert (made.content, made.tool_calls, made.finish_reason) == ('{"sum":3}', (), "stop")


def test_what_nobody_knows_yet_is_passed_over() -> None:
    new = [
        event("content_block_start", index=9, content_block={"type": "server_tool_use"}),
        piece(9, "citations_delta", citation={}),
        event("something_new", x=1),
        {"no": "type"},
    ]

    assert answer([*WHOLE[:10], *new, *WHOLE[10:]]) == answer(WHOLE)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["", "text", "x"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["type", "index", "delta", "content_block", "usage", "message", "error", "text"]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(sorted({one["type"] for one in WHOLE} | {"error"}))
FIELDS = ["index", "delta", "content_block", "usage", "message", "error"]
ODD = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    KINDS,
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4),
)


@given(st.lists(ODD, max_size=5))
def test_odd_frames_end_the_attempt_or_say_nothing(events: list[dict[str, Any]]) -> None:
    with suppress(ModelFailed):
        read(events)
