"""Chunks of one attempt -> its answer: order, authority of block ends, and what is no answer."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.llm.assemble import Answer, Assembler, assemble, block_type_of
from everturn.llm.chunks import (
    BlockEnd,
    BlockStart,
    BlockType,
    Chunk,
    ExtensionBlock,
    Finished,
    FinishReason,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    UsageReported,
)
from everturn.llm.failure import FailureCode, ModelAborted, ModelFailed
from everturn.protocol.llm import Usage
from everturn.protocol.message import ToolCall, ToolCallFunction

STOP = Finished("stop")
USAGE = Usage(input_tokens=3, output_tokens=2)


def failure_code(chunks: Sequence[Chunk]) -> FailureCode:
    with pytest.raises(ModelFailed) as caught:
        assemble(chunks)
    return caught.value.code


def test_a_whole_stream_becomes_an_answer_with_everything_in_it() -> None:
    chunks: list[Chunk] = [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "hm"),
        BlockEnd(0, ReasoningBlock("hm", signature="s1")),
        BlockStart(1, "text"),
        TextDelta(1, "Let me "),
        TextDelta(1, "look."),
        BlockEnd(1, TextBlock("Let me look.")),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "c1", "clock", '{"a":'),
        ToolCallDelta(2, "c1", None, "1}"),
        BlockEnd(2, ToolCallBlock("c1", "clock", '{"a":1}')),
        UsageReported(USAGE),
        Finished("tool_calls", replay_state='{"id":7}'),
    ]

    answer = assemble(chunks)

    assert answer == Answer(
        content="Let me look.",
        tool_calls=(
            ToolCall(
                id="c1",
                type="function",
                function=ToolCallFunction(name="clock", arguments='{"a":1}'),
            ),
        ),
        reasoning=(ReasoningBlock("hm", signature="s1"),),
        finish_reason="tool_calls",
        usage=USAGE,
        blocks=(
            ReasoningBlock("hm", signature="s1"),
            TextBlock("Let me look."),
            ToolCallBlock("c1", "clock", '{"a":1}'),
        ),
        replay_state='{"id":7}',
    )


def test_deltas_alone_are_a_stream() -> None:
    chunks: list[Chunk] = [
        ReasoningDelta(0, "h"),
        ReasoningDelta(0, "m"),
        TextDelta(1, "It is "),
        ToolCallDelta(2, "c1", "clock", "{"),
        TextDelta(1, "noon."),
        ToolCallDelta(2, "c1", None, "}"),
        Finished("tool_calls"),
    ]

    answer = assemble(chunks)

    assert answer.blocks == (
        ReasoningBlock("hm"),
        TextBlock("It is noon."),
        ToolCallBlock("c1", "clock", "{}"),
    )


def test_interleaved_blocks_keep_the_order_of_their_first_appearance() -> None:
    chunks: list[Chunk] = [
        BlockStart(5, "text"),
        BlockStart(2, "text"),
        TextDelta(2, "two"),
        TextDelta(5, "five "),
        BlockEnd(2, TextBlock("two")),
        BlockEnd(5, TextBlock("five ")),
        STOP,
    ]

    assert assemble(chunks).content == "five two"


def test_the_end_of_a_block_wins_over_its_deltas_and_silences_later_ones() -> None:
    chunks: list[Chunk] = [
        TextDelta(0, "draft"),
        BlockEnd(0, TextBlock("final")),
        TextDelta(0, " more"),
        ToolCallDelta(0, "c1", "clock", ""),
        BlockEnd(0, TextBlock("again")),
        STOP,
    ]

    assert assemble(chunks).blocks == (TextBlock("final"),)


def test_a_block_may_be_nothing_but_its_end() -> None:
    assert assemble([BlockEnd(0, TextBlock("all at once")), STOP]).content == "all at once"


@settings(deadline=None)
@given(text=st.text(min_size=1), cuts=st.lists(st.integers(0, 40), max_size=8))
def test_arguments_survive_any_cut_as_they_were(text: str, cuts: list[int]) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    chunks: list[Chunk] = [ToolCallDelta(0, "c1", "clock", piece) for piece in pieces]

    answer = assemble([*chunks, Finished("tool_calls")])

    assert answer.tool_calls[0].function.arguments == text


def test_an_unknown_block_that_was_closed_is_carried_along() -> None:
    image = ExtensionBlock("image", '{"url":"https://example.com/a.png"}')

    answer = assemble([BlockStart(0, "image"), BlockEnd(0, image), STOP])

    assert (answer.content, answer.blocks) == (None, (image,))


def test_an_unknown_block_that_was_never_closed_is_a_malformed_stream() -> None:
    assert failure_code([BlockStart(0, "image"), TextDelta(1, "x"), STOP]) is FailureCode.SERVER


@pytest.mark.parametrize(
    "chunks",
    [
        [TextDelta(0, "x"), STOP, TextDelta(0, "y")],
        [TextDelta(0, "x"), STOP, STOP],
        [TextDelta(0, "x"), STOP, UsageReported(USAGE)],
        [UsageReported(USAGE), UsageReported(USAGE), STOP],
        [TextDelta(0, "x"), ReasoningDelta(0, "y"), STOP],
        [TextDelta(0, "x"), BlockEnd(0, ReasoningBlock("x")), STOP],
    ],
)
def test_chunks_out_of_order_are_a_malformed_stream(chunks: list[Chunk]) -> None:
    assert failure_code(chunks) is FailureCode.SERVER


def test_a_missing_finish_is_a_failure_however_complete_the_text_looks() -> None:
    chunks: list[Chunk] = [TextDelta(0, "All done."), BlockEnd(0, TextBlock("All done."))]

    assert failure_code(chunks) is FailureCode.STREAM_ENDED


@pytest.mark.parametrize(
    "chunks",
    [
        [STOP],
        [Finished("tool_calls")],
        [TextDelta(0, ""), STOP],
        [ReasoningDelta(0, "only a thought"), STOP],
        [Finished("malformed_function_call")],
        [Finished("something_new")],
    ],
)
def test_a_normal_stop_without_content_is_a_failure(chunks: list[Chunk]) -> None:
    assert failure_code(chunks) is FailureCode.EMPTY_RESPONSE


def test_the_output_limit_without_content_is_a_success_that_keeps_its_usage() -> None:
    answer = assemble([UsageReported(USAGE), Finished(FinishReason.LENGTH)])

    assert answer == Answer(None, (), (), "length", USAGE, ())


def test_a_stop_reason_of_the_providers_own_stays_as_it_is() -> None:
    made = assemble([TextDelta(0, "I look."), Finished("malformed_function_call")])

    assert made.finish_reason == "malformed_function_call"


def test_a_refusal_is_a_failure() -> None:
    refusal = Finished(FinishReason.CONTENT_FILTER)

    assert failure_code([TextDelta(0, "I cannot"), refusal]) is FailureCode.REFUSED


def test_what_we_broke_off_is_void() -> None:
    with pytest.raises(ModelAborted):
        assemble([TextDelta(0, "half a"), Finished(FinishReason.ABORTED)])


def test_an_attempt_that_fails_still_tells_its_text_and_its_usage() -> None:
    chunks: list[Chunk] = [
        BlockEnd(0, TextBlock("One. ")),
        ReasoningDelta(1, "hidden"),
        TextDelta(2, "Two"),
        TextDelta(2, "."),
        UsageReported(USAGE),
    ]

    assembler = Assembler()
    for chunk in chunks:
        assembler.feed(chunk)

    assert (assembler.partial_text, assembler.usage) == ("One. Two.", USAGE)


def test_an_attempt_that_has_not_begun_tells_nothing() -> None:
    assembler = Assembler()

    assert (assembler.partial_text, assembler.usage) == ("", None)


def test_each_block_has_its_wire_name() -> None:
    blocks = (
        TextBlock(""),
        ReasoningBlock(""),
        ToolCallBlock("", "", ""),
        ExtensionBlock("video", "{}"),
    )

    assert [block_type_of(block) for block in blocks] == [*BlockType, "video"]
