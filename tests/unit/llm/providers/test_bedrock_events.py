"""Events of ConverseStream as chunks: text, calls, thinking, the end, counts, nonsense."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.assemble import assemble
from everturn.llm.chunks import (
    BlockEnd,
    Chunk,
    ExtensionBlock,
    Finished,
    ReasoningBlock,
    ReasoningDelta,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    UsageReported,
)
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.bedrock_events import ConverseReader, usage_of
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.names import ToolNames
from everturn.protocol.llm import Usage

Event = dict[str, Any]


def start(index: int, **call: Any) -> Event:
    """Return the beginning of a tool call."""
    return {"contentBlockStart": {"start": {"toolUse": call}, "contentBlockIndex": index}}


def delta(index: int, **piece: Any) -> Event:
    """Return a piece of a block."""
    return {"contentBlockDelta": {"delta": piece, "contentBlockIndex": index}}


def thought(index: int, **piece: Any) -> Event:
    """Return a piece of thinking."""
    return delta(index, reasoningContent=piece)


def stop(index: int) -> Event:
    """Return the end of a block."""
    return {"contentBlockStop": {"contentBlockIndex": index}}


def stopped(reason: str) -> Event:
    """Return the end of the message."""
    return {"messageStop": {"stopReason": reason}}


BEGUN: Event = {"messageStart": {"role": "assistant"}}
COUNTS: Event = {
    "metadata": {
        "usage": {
            "inputTokens": 5,
            "outputTokens": 7,
            "totalTokens": 112,
            "cacheReadInputTokens": 60,
            "cacheWriteInputTokens": 40,
        },
        "metrics": {"latencyMs": 3},
    }
}
USED = Usage(input_tokens=5, output_tokens=7, cache_read_tokens=60, cache_write_tokens=40)

WHOLE: list[Event] = [
    BEGUN,
    thought(0, text="H"),
    thought(0, text="m."),
    thought(0, signature="c2"),
    thought(0, signature="ln"),
    stop(0),
    thought(1, redactedContent=b"sec"),
    thought(1, redactedContent=b"ret"),
    stop(1),
    delta(2, text="I "),
    delta(2, text="add."),
    stop(2),
    start(3, toolUseId="c1", name="add"),
    delta(3, toolUse={"input": '{"a"'}),
    start(4, toolUseId="c2", name="add_00"),
    delta(4, toolUse={"input": ""}),
    delta(3, toolUse={"input": ": 1}"}),
    stop(4),
    stop(3),
    stopped("tool_use"),
    COUNTS,
]


def reader(*, final_tool: str | None = None, shows_reasoning: bool = True) -> ConverseReader:
    """Return a reader of an answer to a request with one tool."""
    names = ToolNames(["add"])
    return ConverseReader(Blocks(names, final_tool=final_tool, shows_reasoning=shows_reasoning))


def chunks(events: Iterable[Event], reading: ConverseReader | None = None) -> Iterator[Chunk]:
    """Yield what events say, to the end."""
    reading = reading or reader()
    for event in events:
        yield from reading.read(event)
    yield from reading.end()


def test_an_answer_is_read_piece_by_piece() -> None:
    redacted = json.dumps({"data": base64.b64encode(b"secret").decode()})

    said = list(chunks(WHOLE))

    assert said == [
        ReasoningDelta(0, "H"),
        ReasoningDelta(0, "m."),
        BlockEnd(0, ReasoningBlock("Hm.", "c2ln")),
        BlockEnd(1, ExtensionBlock("redacted_thinking", redacted)),
        TextDelta(2, "I "),
        TextDelta(2, "add."),
        ToolCallDelta(3, "c1", "add", ""),
        ToolCallDelta(3, "c1", None, '{"a"'),
        ToolCallDelta(4, "c2", "add_00", ""),
        ToolCallDelta(3, "c1", None, ": 1}"),
        UsageReported(USED),
        Finished("tool_calls"),
    ]
    assert assemble(said).blocks[3:] == (
        ToolCallBlock("c1", "add", '{"a": 1}'),
        ToolCallBlock("c2", "add_00", ""),
    )


@pytest.mark.parametrize("cut", range(len(WHOLE) + 1))
def test_an_answer_that_is_cut_has_no_finish_until_its_end_is_known(cut: int) -> None:
    reading = reader()

    said = list(chunks(WHOLE[:cut], reading))

    finished = [one for one in said if isinstance(one, Finished)]
    used = [one for one in said if isinstance(one, UsageReported)]
    assert (reading.is_whole, reading.is_done) == (cut >= 20, cut == 21)
    assert len(finished) == (cut >= 20)
    assert len(used) == (cut == 21)


def test_counts_may_come_before_the_end() -> None:
    reading = reader()

    said = list(chunks([delta(0, text="Hi."), COUNTS, stopped("end_turn")], reading))

    assert said == [TextDelta(0, "Hi."), UsageReported(USED), Finished("stop")]
    assert reading.is_done


def test_thinking_that_nobody_ended_ends_with_the_answer() -> None:
    said = list(chunks([thought(0, text="Hm."), delta(1, text="Hi."), stopped("end_turn")]))

    assert said == [
        ReasoningDelta(0, "Hm."),
        TextDelta(1, "Hi."),
        BlockEnd(0, ReasoningBlock("Hm.", None)),
        Finished("stop"),
    ]


def test_thinking_may_have_a_signature_and_no_word() -> None:
    said = list(chunks([thought(0, text=""), thought(0, signature="c2ln"), stop(0)]))

    assert said == [BlockEnd(0, ReasoningBlock("", "c2ln"))]


def test_thinking_that_is_not_to_be_shown_is_kept() -> None:
    said = list(chunks(WHOLE[:6], reader(shows_reasoning=False)))

    assert said == [BlockEnd(0, ReasoningBlock("Hm.", "c2ln"))]


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("malformed_model_output", "malformed_model_output"),
        ("malformed_tool_use", "malformed_tool_use"),
        ("bored", "bored"),
    ],
)
def test_reasons_for_the_end_are_in_our_words(reason: str, ours: str) -> None:
    assert list(chunks([stopped(reason)])) == [Finished(ours)]


def test_an_answer_that_ends_its_turn_with_a_call_calls() -> None:
    said = list(chunks([start(0, toolUseId="c1", name="add"), stopped("end_turn")]))

    assert said[-1] == Finished("tool_calls")


def test_a_final_report_is_the_text_of_the_answer() -> None:
    events = [
        delta(0, text="I report."),
        start(1, toolUseId="c1", name="final_report"),
        delta(1, toolUse={"input": '{"a": '}),
        delta(1, toolUse={"input": "1}"}),
        stopped("tool_use"),
    ]

    answer = assemble(chunks(events, reader(final_tool="final_report")))

    assert (answer.content, answer.tool_calls, answer.finish_reason) == ('{"a": 1}', (), "stop")


def test_a_call_without_id_gets_one_and_pieces_of_no_call_are_dropped() -> None:
    events = [
        delta(0, toolUse={"input": "{}"}),
        start(1, toolUseId="", name="add"),
        delta(1, toolUse={"input": "{}"}),
        stopped("tool_use"),
    ]

    [call] = assemble(chunks(events)).tool_calls

    assert (call.id, call.function.arguments) == ("call_0", "{}")


def test_a_call_that_bedrock_answers_itself_is_none_of_ours() -> None:
    events = [
        start(0, toolUseId="s1", name="search", type="server_tool_use"),
        delta(0, toolUse={"input": "{}"}),
        stop(0),
        {
            "contentBlockStart": {
                "start": {"toolResult": {"toolUseId": "s1"}},
                "contentBlockIndex": 1,
            }
        },
        delta(1, toolResult=[{"text": "found"}]),
        delta(2, citation={"title": "A"}),
        delta(2, text="Found."),
        {"SDK_UNKNOWN_MEMBER": {"name": "mood"}},
        stopped("end_turn"),
    ]

    assert list(chunks(events)) == [TextDelta(0, "Found."), Finished("stop")]


def test_half_a_character_is_a_malformed_stream() -> None:
    with pytest.raises(ModelFailed, match="not Unicode") as raised:
        list(chunks([delta(0, text="\ud83d")]))

    assert raised.value.code == FailureCode.SERVER


@pytest.mark.parametrize(
    ("given_", "usage"),
    [
        ({}, None),
        ({"totalTokens": 3}, None),
        (
            {"inputTokens": True, "outputTokens": -1},
            Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0),
        ),
        (
            {"inputTokens": 3, "outputTokens": "4", "cacheReadInputTokens": None},
            Usage(input_tokens=3, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0),
        ),
    ],
)
def test_counts_that_are_none_are_not_counted(given_: Event, usage: Usage | None) -> None:
    assert usage_of(given_) == usage


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "start",
                    "delta",
                    "contentBlockIndex",
                    "toolUse",
                    "toolUseId",
                    "name",
                    "input",
                    "text",
                    "reasoningContent",
                    "signature",
                    "redactedContent",
                    "stopReason",
                    "usage",
                    "inputTokens",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    [
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
        "other",
    ]
)


@given(st.lists(st.dictionaries(KINDS, VALUES, max_size=1), max_size=8))
def test_whatever_an_event_holds_does_no_harm(events: Sequence[Event]) -> None:
    with suppress(ModelFailed):
        assemble(chunks(events))
