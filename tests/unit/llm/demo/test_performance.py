"""The chunks of a turn: words, blocks, calls, failures, cuts and usage."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.llm.assemble import Assembler, assemble
from everturn.llm.chunks import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finished,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    UsageReported,
)
from everturn.llm.demo.model import DemoModel
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.protocol.llm import LlmRequest, ReasoningConfig, Usage
from unit.llm.demo.playing import (
    TOOLS,
    ask,
    assistant,
    calls,
    no_wait,
    request_of,
    stream,
    tool,
    user,
)


def attempt_of(script: str, attempt: int = 1) -> tuple[str, Usage | None, FailureCode]:
    """Return what a failing attempt leaves: its text, its usage, its cause."""
    assembler = Assembler()
    chunks = DemoModel(no_wait).stream(request_of(script), attempt=attempt, cancelled=bool)
    with pytest.raises(ModelFailed) as caught:  # noqa: PT012 - the stream fails while it is read
        for chunk in chunks:
            assembler.feed(chunk)
        assembler.answer()
    return assembler.partial_text, assembler.usage, caught.value.code


def test_words_are_deltas_and_blocks_have_ends() -> None:
    chunks = stream(request_of('[[think:well]][[say:It is ]][[say:noon.]][[call:add {"a": 1}]]'))

    call_id = next(chunk.id for chunk in chunks if isinstance(chunk, ToolCallDelta))
    assert chunks == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "well"),
        BlockEnd(0, ReasoningBlock("well")),
        BlockStart(1, "text"),
        TextDelta(1, "It "),
        TextDelta(1, "is "),
        TextDelta(1, "noon."),
        BlockEnd(1, TextBlock("It is noon.")),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, call_id, "add", '{"a": '),
        ToolCallDelta(2, call_id, None, "1}"),
        BlockEnd(2, ToolCallBlock(call_id, "add", '{"a": 1}')),
        UsageReported(Usage(input_tokens=5, output_tokens=6, reasoning_tokens=1)),
        Finished("tool_calls"),
    ]


def test_a_call_without_arguments_is_one_delta() -> None:
    deltas = [
        chunk
        for chunk in stream(request_of("[[rawcall:clock]]"))
        if isinstance(chunk, ToolCallDelta)
    ]

    assert [(delta.name, delta.arguments_delta) for delta in deltas] == [("clock", "")]


@pytest.mark.parametrize(
    "reasoning",
    [
        ReasoningConfig(effort="none"),
        ReasoningConfig(enabled=False),
        ReasoningConfig(effort="high", exclude=True),
    ],
)
def test_thinking_is_dropped_where_there_is_none_or_nobody_sees_it(
    reasoning: ReasoningConfig,
) -> None:
    answer = ask("[[think:hm]][[say:a]]", reasoning=reasoning)

    assert answer.blocks == (TextBlock("a"),)


def test_thinking_between_words_parts_them_into_blocks() -> None:
    answer = ask("[[say:a]][[think:b]][[say:c]]")

    assert answer.blocks == (TextBlock("a"), ReasoningBlock("b"), TextBlock("c"))
    assert answer.content == "ac"


def test_call_ids_differ_within_a_session_and_not_between_attempts() -> None:
    first = [user("[[call:clock]][[call:clock]]")]
    later = [*first, assistant(None, "x", "y"), tool("x", "1"), tool("y", "2"), *first]

    ids = [call.id for messages in (first, later) for call in ask(messages).tool_calls]

    assert len(set(ids)) == 4
    assert [call.id for call in ask(first, attempt=2).tool_calls] == ids[:2]


@pytest.mark.parametrize(
    ("error_class", "code", "status"),
    [
        ("rate_limit", FailureCode.RATE_LIMIT, 429),
        ("overloaded", FailureCode.OVERLOADED, 529),
        ("server", FailureCode.SERVER, 500),
        ("context_window", FailureCode.CONTEXT_WINDOW_EXCEEDED, 400),
        ("auth", FailureCode.AUTH, 401),
        ("timeout", FailureCode.TIMEOUT, None),
        ("invalid_request", FailureCode.INVALID_REQUEST, 400),
        ("refused", FailureCode.REFUSED, None),
    ],
)
def test_each_error_class_fails_as_a_provider_would(
    error_class: str, code: FailureCode, status: int | None
) -> None:
    with pytest.raises(ModelFailed, match="my words") as caught:
        stream(request_of(f"[[error:{error_class} my words]]"))

    assert (caught.value.code, caught.value.status) == (code, status)


def test_an_error_without_words_has_some_of_its_own() -> None:
    with pytest.raises(ModelFailed, match="demo: the provider is overloaded"):
        stream(request_of("[[error:overloaded]]"))


def test_an_error_class_that_does_not_exist_is_named_an_invalid_request() -> None:
    with pytest.raises(ModelFailed, match="there are rate_limit, overloaded") as caught:
        stream(request_of("[[error:boom]]"))

    assert caught.value.code is FailureCode.INVALID_REQUEST


def test_what_was_said_before_an_error_is_the_partial_text() -> None:
    assert attempt_of("[[say:half a sen]][[error:server]]") == (
        "half a sen",
        None,
        FailureCode.SERVER,
    )


def test_a_failing_attempt_reports_usage_only_where_the_script_does() -> None:
    usage = Usage(input_tokens=9, output_tokens=1)

    assert attempt_of("[[usage:in=9,out=1]][[error:server]]") == ("", usage, FailureCode.SERVER)


def test_flaky_attempts_fail_and_the_next_one_plays_on() -> None:
    script = "[[say:a]][[flaky:2 rate_limit]][[say:b]]"

    codes = [attempt_of(script, attempt) for attempt in (1, 2)]

    assert codes == [("a", None, FailureCode.RATE_LIMIT)] * 2
    assert ask(script, attempt=3).content == "ab"


@pytest.mark.parametrize(
    ("deltas", "text"), [(0, ""), (1, "one "), (2, "one two "), (3, "one two three")]
)
def test_a_cut_stream_ends_without_a_finish_on_the_first_attempt(deltas: int, text: str) -> None:
    script = f"[[say:one two three]][[cut:{deltas}]]"

    assert attempt_of(script) == (text, None, FailureCode.STREAM_ENDED)
    assert ask(script, attempt=2).content == "one two three"


def test_a_cut_beyond_the_end_cuts_nothing() -> None:
    assert ask("[[cut:4]][[say:one two three]]").content == "one two three"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("[[say:a]]", "stop"),
        ("[[call:clock]]", "tool_calls"),
        ("[[say:a]][[finish:max_tokens]]", "length"),
        ("[[call:clock]][[finish:max_tokens]]", "length"),
        ("[[say:a]][[finish:end_turn]]", "stop"),
        ("[[say:a]][[finish:malformed_function_call]]", "malformed_function_call"),
        ("[[finish:max_tokens]]", "length"),
    ],
)
def test_a_turn_ends_with_its_reason(script: str, reason: str) -> None:
    assert ask(script).finish_reason == reason


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("[[say:I cannot]][[finish:refusal]]", FailureCode.REFUSED),
        ("[[say:]]", FailureCode.EMPTY_RESPONSE),
        ("[[finish:stop]]", FailureCode.EMPTY_RESPONSE),
    ],
)
def test_refusals_and_empty_answers_fail(script: str, code: FailureCode) -> None:
    assert attempt_of(script)[2] is code


def test_usage_is_counted_in_words() -> None:
    messages = [user('tell me more [[call:add {"a": 2}]]'), assistant("sure thing", "c1")]

    answer = ask([*messages, tool("c1", "it is done"), user("[[think:a b]][[say:c d e]]")])

    assert answer.usage == Usage(input_tokens=16, output_tokens=5, reasoning_tokens=2)


def test_usage_is_reported_as_the_script_says() -> None:
    answer = ask("[[say:a b]][[usage:in=100,out=20,cached=50,reasoning=5]]")

    assert answer.usage == Usage(
        input_tokens=100, output_tokens=20, cache_read_tokens=50, reasoning_tokens=5
    )


BITS = st.sampled_from(
    [
        "[[say:a b ]]",
        "[[say:{{results}}]]",
        "[[think:hm  hm]]",
        '[[call:clock {"a": "]]"}]]',
        "[[rawcall:add {x ]]",
        "[[turn]]",
        "[[finish:max_tokens]]",
        "[[finish:refusal]]",
        "[[error:server x]]",
        "[[flaky:1 auth]]",
        "[[cut:2]]",
        "[[sleep:1]]",
        "[[usage:in=1]]",
        "[[judge:finalize]]",
        "[[odd]]",
        " and ",
    ]
)
SCRIPTS = st.lists(BITS, max_size=12).map("".join) | st.text()


@settings(deadline=None)
@given(script=SCRIPTS, attempt=st.integers(1, 3), with_tools=st.booleans())
def test_deltas_and_blocks_of_any_script_add_up_to_the_same_answer(
    script: str, attempt: int, with_tools: bool
) -> None:
    request = request_of(script, tools=TOOLS if with_tools else None)
    chunks, failure = played(request, attempt)

    assert played(request, attempt) == (chunks, failure)
    if failure or not (chunks and isinstance(chunks[-1], Finished)):
        assert any(bit in script for bit in ("error", "flaky", "cut"))
        return
    deltas = [chunk for chunk in chunks if not isinstance(chunk, BlockStart | BlockEnd)]
    assert outcome(deltas) == outcome(chunks)


def played(request: LlmRequest, attempt: int) -> tuple[list[Chunk], FailureCode | None]:
    """Return the chunks up to the end, and the failure that it was, if it was one."""
    chunks: list[Chunk] = []
    stream_of_it = DemoModel(no_wait).stream(request, attempt=attempt, cancelled=bool)
    try:
        chunks.extend(stream_of_it)
    except ModelFailed as failure:
        return chunks, failure.code
    return chunks, None


def outcome(chunks: Sequence[Chunk]) -> object:
    """Return content, calls and reason of the answer, or why there is none."""
    try:
        answer = assemble(chunks)
    except ModelFailed as failure:
        return failure.code
    return answer.content, calls(answer), answer.reasoning, answer.finish_reason


@settings(deadline=None)
@given(script=SCRIPTS)
def test_no_script_can_say_that_we_broke_it_off(script: str) -> None:
    chunks, _ = played(request_of(script), 1)

    assert Finished("aborted") not in chunks
