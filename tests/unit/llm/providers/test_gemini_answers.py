"""Gemini's frames, read: pieces, calls, reasons, counts, errors, and cuts at any frame."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.assemble import assemble
from everturn.llm.chunks import (
    BlockEnd,
    Finished,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    UsageReported,
)
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.outbound.sse import SseFrame
from everturn.protocol.llm import Usage
from providers.gemini_calls import FLASH_2, WEATHER, answer_of, chunks_of, encoded, frame, parts

COUNTS = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 60,
    "toolUsePromptTokenCount": 5,
    "candidatesTokenCount": 7,
    "thoughtsTokenCount": 30,
    "totalTokenCount": 142,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
}
USED = Usage(input_tokens=45, output_tokens=37, cache_read_tokens=60, reasoning_tokens=30)
OSLO = {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}, "id": "x1"}}
ROME = {"functionCall": {"name": "get_weather", "args": {"city": "Rome", "at": [1, None]}}}


def thought(text: str, **more: Any) -> dict[str, Any]:
    """Return a part of thinking."""
    return {"text": text, "thought": True, **more}


def test_a_whole_answer() -> None:
    """Golden: thinking, text, two calls at once, counts that grow."""
    events = [
        parts(thought("Hm"), usageMetadata={"promptTokenCount": 100, "totalTokenCount": 100}),
        parts(thought("m."), {"text": "Let "}),
        parts({"text": "me see."}),
        parts(OSLO, ROME, usageMetadata=COUNTS),
        parts({"text": ""}, reason="STOP", modelVersion="gemini-3-flash", responseId="r1"),
    ]

    assert chunks_of(events) == [
        ReasoningDelta(0, "Hm"),
        ReasoningDelta(0, "m."),
        TextDelta(1, "Let "),
        TextDelta(1, "me see."),
        ToolCallDelta(2, "x1", "get_weather", ""),
        ToolCallDelta(2, "x1", None, '{"city":"Oslo"}'),
        ToolCallDelta(3, "call_3", "get_weather", ""),
        ToolCallDelta(3, "call_3", None, '{"city":"Rome","at":[1,null]}'),
        UsageReported(USED),
        Finished("tool_calls", '{"v":1,"parts":[{"text":11},{"call":"x1"},{"call":""}]}'),
    ]


def test_text_around_a_call_stays_in_its_order() -> None:
    answer = answer_of([parts({"text": "a"}, ROME, {"text": "b"}, reason="STOP")])

    assert answer.blocks == (
        TextBlock("a"),
        ToolCallBlock("call_1", "get_weather", '{"city":"Rome","at":[1,null]}'),
        TextBlock("b"),
    )
    assert answer.finish_reason == "tool_calls"
    assert answer.replay_state is None


@pytest.mark.parametrize(
    ("call", "ids"),
    [
        ({"name": "f"}, ["call_0"]),
        ({"name": "f", "args": None, "id": ""}, ["call_0"]),
        ({"name": "f", "args": {}, "id": 5}, ["call_0"]),
        ({"name": "", "args": {}}, []),
        ({"args": {}}, []),
        ({"name": 5}, []),
    ],
)
def test_calls_with_little_in_them(call: dict[str, Any], ids: list[str]) -> None:
    answer = answer_of([parts({"functionCall": call}, {"text": "x"}, reason="STOP")])

    assert [(one.id, one.function.arguments) for one in answer.tool_calls] == [
        (one, "{}") for one in ids
    ]


def test_ids_that_come_twice_are_two() -> None:
    answer = answer_of([parts(OSLO, OSLO, reason="STOP")])

    assert [one.id for one in answer.tool_calls] == ["x1", "call_1"]
    assert answer.replay_state == '{"v":1,"parts":[{"call":"x1"},{"call":"x1"}]}'


def test_arguments_that_are_no_object_come_as_they_are() -> None:
    event = parts({"functionCall": {"name": "f", "args": ["é", 1]}}, reason="STOP")

    (call,) = answer_of([event]).tool_calls

    assert call.function.arguments == '["é",1]'


def test_arguments_beyond_json_end_the_attempt() -> None:
    with pytest.raises(ModelFailed) as failed:
        chunks_of([parts({"functionCall": {"name": "f", "args": {"a": float("nan")}}})])

    assert failed.value.code is FailureCode.SERVER


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("FUNCTION_CALL", "tool_calls"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("IMAGE_PROHIBITED_CONTENT", "content_filter"),
        ("IMAGE_RECITATION", "content_filter"),
        ("OTHER", "other"),
        ("LANGUAGE", "language"),
        ("MALFORMED_FUNCTION_CALL", "malformed_function_call"),
        ("UNEXPECTED_TOOL_CALL", "unexpected_tool_call"),
        ("NEXT_YEARS_REASON", "next_years_reason"),
    ],
)
def test_reasons_for_the_end_after_text(reason: str, finish: str) -> None:
    *_, last = chunks_of([parts({"text": "x"}, reason=reason)])

    assert last == Finished(finish)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("OTHER", "stop"),
        ("FINISH_REASON_UNSPECIFIED", "stop"),
        ("MISSING_THOUGHT_SIGNATURE", "stop"),
        ("MALFORMED_FUNCTION_CALL", "malformed_function_call"),
        ("TOO_MANY_TOOL_CALLS", "too_many_tool_calls"),
        ("MAX_TOKENS", "length"),
    ],
)
def test_reasons_for_the_end_after_nothing(reason: str, finish: str) -> None:
    assert chunks_of([parts(reason=reason)]) == [Finished(finish)]


def test_nothing_said_is_an_empty_answer() -> None:
    with pytest.raises(ModelFailed) as failed:
        answer_of([parts(thought("Hm"), reason="OTHER")])

    assert failed.value.code is FailureCode.EMPTY_RESPONSE


def test_a_refused_prompt_is_a_refusal_that_costs() -> None:
    event = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}

    assert chunks_of([event]) == [
        UsageReported(
            Usage(input_tokens=4, output_tokens=0, cache_read_tokens=0, reasoning_tokens=0)
        ),
        Finished("content_filter"),
    ]


def test_feedback_beside_an_answer_is_no_refusal() -> None:
    event = parts({"text": "x"}, reason="STOP", promptFeedback={"blockReason": "OTHER"})

    assert chunks_of([event])[-1] == Finished("stop")


def test_thinking_is_not_shown_where_it_is_not_wanted() -> None:
    request = {"reasoning": {"effort": "low", "exclude": True}}

    chunks = chunks_of([parts(thought("Hm"), {"text": "x"}, reason="STOP")], request)

    assert chunks == [TextDelta(1, "x"), Finished("stop")]


def test_signed_thinking_is_kept_with_its_signature() -> None:
    events = [
        parts(thought("Hm", thoughtSignature="c2ln")),
        parts(thought("More")),
        parts({"text": "x"}, reason="STOP"),
    ]

    chunks = chunks_of(events)

    assert chunks == [
        ReasoningDelta(0, "Hm"),
        BlockEnd(0, ReasoningBlock("Hm", "c2ln")),
        ReasoningDelta(1, "More"),
        TextDelta(2, "x"),
        Finished("stop", '{"v":1,"parts":[{"thought":1},{"text":1}]}'),
    ]


@pytest.mark.parametrize("model", [FLASH_2])
def test_a_report_by_a_call_is_the_answer_and_nothing_else_is(model: str) -> None:
    """Runs document, section 7."""
    request = {"model": model, "tools": [WEATHER], "output_schema": {"type": "object"}}
    report = {"functionCall": {"name": "set_model_response", "args": {"sum": 1}, "id": "r"}}

    events = [
        parts({"text": "Here:"}),
        parts({**report, "thoughtSignature": "s"}, reason="STOP"),
    ]
    answer = answer_of(events, request)

    assert answer.content == '{"sum":1}'
    assert answer.tool_calls == ()
    assert answer.finish_reason == "stop"
    assert answer.replay_state is None


def test_a_report_beside_real_calls_waits() -> None:
    request = {"model": FLASH_2, "tools": [WEATHER], "output_schema": {"type": "object"}}
    report = {"functionCall": {"name": "set_model_response", "args": {"sum": 1}}}

    answer = answer_of([parts({"text": "So"}, report, OSLO, reason="STOP")], request)

    assert answer.content == "So"
    assert [one.id for one in answer.tool_calls] == ["x1"]
    assert answer.finish_reason == "tool_calls"
    assert answer.replay_state == '{"v":1,"parts":[{"text":2},{"call":"x1"}]}'


@pytest.mark.parametrize(
    ("error", "code", "wait"),
    [
        ({"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}, FailureCode.OVERLOADED, None),
        ({"code": 499, "message": "Gone.", "status": "CANCELLED"}, FailureCode.SERVER, None),
        ({"code": 500, "message": "Oh.", "status": "INTERNAL"}, FailureCode.SERVER, None),
        (
            {"code": 504, "message": "Late.", "status": "DEADLINE_EXCEEDED"},
            FailureCode.TIMEOUT,
            None,
        ),
        (
            {
                "code": 429,
                "message": "You exceeded your current quota.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"},
                ],
            },
            FailureCode.RATE_LIMIT,
            34.07,
        ),
        ({}, FailureCode.SERVER, None),
    ],
)
def test_an_error_inside_the_stream(
    error: dict[str, Any], code: FailureCode, wait: float | None
) -> None:
    reader = encoded({}).reader
    read = [*reader.read(frame(parts({"text": "x"}, usageMetadata=COUNTS)))]

    with pytest.raises(ModelFailed) as failed:
        list(reader.read(frame({"error": error})))

    assert failed.value.code is code
    assert failed.value.retry_after_s == wait
    assert [*read, *reader.end()] == [TextDelta(0, "x"), UsageReported(USED)]


EVENTS = [
    parts(thought("Hm"), usageMetadata={"promptTokenCount": 1}),
    parts({"text": "Let me "}, usageMetadata={"promptTokenCount": 2}),
    parts({"text": "see."}),
    parts(OSLO),
    parts({"text": "", "thoughtSignature": "c2ln"}, reason="STOP", usageMetadata=COUNTS),
    {"usageMetadata": COUNTS},
]


@pytest.mark.parametrize("cut", range(len(EVENTS) + 1))
def test_a_stream_that_is_cut_is_no_answer_but_counts(cut: int) -> None:
    reader = encoded({}).reader

    read = [chunk for event in EVENTS[:cut] for chunk in reader.read(frame(event))]
    end = list(reader.end())

    assert reader.is_whole == (cut >= len(EVENTS) - 1)
    assert not reader.is_done
    assert [type(chunk) for chunk in end] == (
        [*[UsageReported][:cut], Finished] if reader.is_whole else [UsageReported][:cut]
    )
    if reader.is_whole:
        assert assemble([*read, *end]).content == "Let me see."


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"candidates": None, "usageMetadata": None, "promptFeedback": None, "error": None},
        {"candidates": 5, "usageMetadata": [], "promptFeedback": "x", "error": 5},
        {"candidates": []},
        {"candidates": [5]},
        {"candidates": [{"content": 5, "finishReason": 5}]},
        {"candidates": [{"content": {"parts": 5}}]},
        {"candidates": [{"content": {"parts": [5, {}, {"text": 5}, {"functionCall": 5}]}}]},
        {"promptFeedback": {"safetyRatings": []}},
        parts({"inlineData": {"mimeType": "image/png", "data": "AA"}, "thoughtSignature": "s"}),
        parts({"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}),
    ],
)
def test_what_says_nothing_changes_nothing(event: dict[str, Any]) -> None:
    assert chunks_of([event]) == []


def test_counts_that_are_none_count_nothing() -> None:
    usage = {
        "promptTokenCount": "9",
        "candidatesTokenCount": True,
        "thoughtsTokenCount": -4,
        "cachedContentTokenCount": 3,
    }

    assert chunks_of([{"usageMetadata": usage}]) == [
        UsageReported(
            Usage(input_tokens=0, output_tokens=0, cache_read_tokens=3, reasoning_tokens=0)
        )
    ]


KEYS = st.sampled_from(
    [
        "candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall",
        "name", "args", "id", "finishReason", "usageMetadata", "promptTokenCount", "promptFeedback",
        "blockReason", "error", "message", "details", "code", "status",
    ]
)  # fmt: skip
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
PARTS = st.dictionaries(
    st.sampled_from(["text", "thought", "thoughtSignature", "functionCall"]),
    ANY | st.dictionaries(st.sampled_from(["name", "args", "id"]), ANY, max_size=3),
)
FRAMES = (
    ANY.map(json.dumps)
    | st.text(max_size=10)
    | st.lists(PARTS, max_size=3).map(lambda given: json.dumps(parts(*given, reason="STOP")))
)


@given(frames=st.lists(FRAMES, max_size=5), report=st.booleans())
def test_whatever_comes_only_an_attempt_can_fail(frames: list[str], report: bool) -> None:
    request = {"model": FLASH_2, "tools": [WEATHER], "output_schema": {"type": "object"}}
    reader = encoded(request if report else {}).reader
    read = []
    try:
        for data in frames:
            read += list(reader.read(SseFrame("message", data)))
        assemble([*read, *reader.end()])
    except ModelFailed:
        json.dumps([str(one) for one in reader.end()]).encode()
