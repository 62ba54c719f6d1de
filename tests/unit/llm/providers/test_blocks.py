"""The chunks of an answer, whatever order a provider's pieces come in."""

from __future__ import annotations

from collections.abc import Iterable

from everturn.llm.assemble import Answer, Assembler
from everturn.llm.chunks import (
    Chunk,
    FinishReason,
    ReasoningBlock,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.names import ToolNames

NAMES = ToolNames(["get.weather", "look"])


def answer(*parts: Iterable[Chunk]) -> Answer:
    assembler = Assembler()
    for part in parts:
        for chunk in part:
            assembler.feed(chunk)
    return assembler.answer()


def called(made: Answer) -> list[tuple[str, str, str]]:
    return [(one.id, one.function.name, one.function.arguments) for one in made.tool_calls]


def test_parallel_calls_that_are_interleaved_stay_apart() -> None:
    blocks = Blocks(NAMES)

    made = answer(
        blocks.text("I look."),
        blocks.call(0, "a", NAMES.to_wire("get.weather")),
        blocks.call(1, "b", "look"),
        blocks.arguments(0, '{"ci'),
        blocks.arguments(1, '{"x":1'),
        blocks.arguments(0, 'ty":"Bern"}'),
        blocks.arguments(1, "}"),
        blocks.finish("tool_calls"),
    )

    assert made.content == "I look."
    assert called(made) == [("a", "get.weather", '{"city":"Bern"}'), ("b", "look", '{"x":1}')]


def test_a_call_without_id_gets_one_and_arguments_of_no_call_go_nowhere() -> None:
    blocks = Blocks(NAMES)

    made = answer(
        blocks.arguments(0, "{}"),
        blocks.call(0, "", "look"),
        blocks.call(0, "again", "other"),
        blocks.finish("tool_calls"),
    )

    assert called(made) == [("call_0", "look", "")]


def test_hidden_thinking_is_kept_and_shown_to_nobody() -> None:
    blocks = Blocks(NAMES, shows_reasoning=False)
    shown = [*blocks.reasoning("a "), *blocks.reasoning("b")]

    made = answer(shown, blocks.reasoning_end("signed"), blocks.text("x"), blocks.finish("stop"))

    assert shown == []
    assert made.reasoning == (ReasoningBlock("a b", "signed"),)


def test_thinking_is_shown_as_it_comes() -> None:
    blocks = Blocks(NAMES)

    assert [*blocks.reasoning("a"), *blocks.reasoning("")] == [ReasoningDelta(0, "a")]
    assert answer(blocks.reasoning_end(None), blocks.text("x"), blocks.finish("stop")).content


def test_a_final_report_is_the_text_of_the_answer() -> None:
    """Runs document, section 7: the synthetic tool never shows."""
    blocks = Blocks(NAMES, final_tool="final_report")
    shown = [
        *blocks.text("Here it is:"),
        *blocks.call(0, "f", "final_report"),
        *blocks.arguments(0, '{"sum":'),
        *blocks.arguments(0, "3}"),
    ]

    made = answer(shown, blocks.finish("tool_calls"))

    assert not [chunk for chunk in shown if isinstance(chunk, ToolCallDelta)]
    assert (made.content, made.tool_calls) == ('{"sum":3}', ())
    assert made.finish_reason == FinishReason.STOP


def test_a_report_beside_real_calls_waits_for_their_results() -> None:
    blocks = Blocks(NAMES, final_tool="final_report")

    made = answer(
        blocks.text("I look."),
        blocks.call(0, "f", "final_report"),
        blocks.arguments(0, '{"sum":0}'),
        blocks.call(1, "a", "look"),
        blocks.finish("tool_calls"),
    )

    assert (made.content, called(made)) == ("I look.", [("a", "look", "")])
    assert made.finish_reason == FinishReason.TOOL_CALLS


def test_of_two_reports_the_first_counts() -> None:
    blocks = Blocks(NAMES, final_tool="final_report")

    made = answer(
        blocks.call(0, "f", "final_report"),
        blocks.arguments(0, '{"sum":1}'),
        blocks.call(1, "g", "final_report"),
        blocks.arguments(1, '{"sum":2}'),
        blocks.finish("tool_calls"),
    )

    assert made.content == '{"sum":1}'


def test_a_report_that_was_cut_off_stays_cut_off() -> None:
    blocks = Blocks(NAMES, final_tool="final_report")

    made = answer(
        blocks.call(0, "f", "final_report"), blocks.arguments(0, '{"su'), blocks.finish("length")
    )

    assert (made.content, made.finish_reason) == ('{"su', FinishReason.LENGTH)


def test_empty_pieces_say_nothing() -> None:
    blocks = Blocks(NAMES)

    assert [*blocks.text(""), *blocks.arguments("x", "")] == []
    assert not blocks.has_calls
    assert [*blocks.text("a", 1), *blocks.text("b", 2)] == [TextDelta(0, "a"), TextDelta(1, "b")]
