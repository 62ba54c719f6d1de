"""Events of a response: what comes in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.assemble import Answer, assemble
from everturn.llm.chunks import (
    ReasoningBlock,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    UsageReported,
)
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.names import ToolNames
from everturn.llm.providers.responses_stream import EventReader
from everturn.protocol.llm import Usage
from unit.llm.providers.openai_kit import bent, cut_at, said, survives

USAGE = {
    "input_tokens": 9,
    "output_tokens": 5,
    "total_tokens": 14,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 3},
}
USED = Usage(
    input_tokens=5,
    output_tokens=5,
    cache_read_tokens=4,
    cache_write_tokens=0,
    reasoning_tokens=3,
)


def reader(*, shows_reasoning: bool = True) -> EventReader:
    """Return a reader that knows the tools `add` and `math.add`."""
    blocks = Blocks(ToolNames(["add", "math.add"]), shows_reasoning=shows_reasoning)
    return EventReader("OpenAI", blocks)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    """Return an event of a response."""
    return {"type": f"response.{kind}", "sequence_number": 1, **fields}


def piece(kind: str, index: int, words: str, **fields: Any) -> dict[str, Any]:
    """Return an event with a delta."""
    return event(f"{kind}.delta", output_index=index, delta=words, **fields)


def item(kind: str, index: int, told: str, **fields: Any) -> dict[str, Any]:
    """Return an event about an item."""
    return event(f"output_item.{told}", output_index=index, item={"type": kind, **fields})


def ended(kind: str = "completed", **fields: Any) -> dict[str, Any]:
    """Return the last event."""
    return event(kind, response={"id": "resp_1", "status": kind, "usage": USAGE, **fields})


def answer(*values: Any, **how: bool) -> Answer:
    """Return what a stream adds up to."""
    return assemble(said(reader(**how), values))


CALL = {"call_id": "c1", "name": "add", "id": "fc_1"}
SEALED = {"id": "rs_1", "encrypted_content": "seal"}
SIGNATURE = '{"v":1,"id":"rs_1","encrypted_content":"seal"}'
WHOLE = [
    event("created", response={"id": "resp_1", "usage": None}),
    event("in_progress", response={"id": "resp_1"}),
    item("reasoning", 0, "added", id="rs_1", encrypted_content="half"),
    piece("reasoning_summary_text", 0, "Let ", summary_index=0),
    piece("reasoning_summary_text", 0, "me.", summary_index=0),
    piece("reasoning_summary_text", 0, "Then.", summary_index=1),
    item("reasoning", 0, "done", **SEALED),
    item("message", 1, "added", id="msg_1", phase="commentary"),
    event("content_part.added", output_index=1, part={"type": "output_text", "text": ""}),
    piece("output_text", 1, "I "),
    piece("output_text", 1, "add."),
    item("message", 1, "done", content=[{"type": "output_text", "text": "I add."}]),
    item("function_call", 2, "added", arguments="", **CALL),
    item("function_call", 3, "added", arguments="", call_id="c2", name="add"),
    piece("function_call_arguments", 2, '{"a"'),
    piece("function_call_arguments", 3, "{}"),
    piece("function_call_arguments", 2, ":1}"),
    event("function_call_arguments.done", output_index=2, arguments='{"a":1}'),
    item("function_call", 2, "done", arguments='{"a":1}', **CALL),
    item("function_call", 3, "done", arguments="{}", call_id="c2", name="add"),
    ended(),
]


def test_reasoning_text_and_two_calls_that_come_in_turns() -> None:
    told = answer(*WHOLE)

    assert told.blocks == (
        ReasoningBlock("Let me.\n\nThen.", SIGNATURE),
        TextBlock("I add."),
        ToolCallBlock("c1", "add", '{"a":1}'),
        ToolCallBlock("c2", "add", "{}"),
    )
    assert told.finish_reason == "tool_calls"
    assert told.usage == USED
    assert json.loads(told.replay_state or "") == {"v": 1, "phases": ["commentary"]}


@pytest.mark.parametrize("cut", range(len(WHOLE) + 1))
def test_a_stream_is_whole_with_its_last_event(cut: int) -> None:
    is_all = cut == len(WHOLE)

    assert cut_at(reader(), WHOLE[:cut]) == (is_all, is_all)


def test_items_that_come_in_one_piece() -> None:
    told = answer(
        item(
            "reasoning",
            0,
            "done",
            summary=[{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
            **SEALED,
        ),
        item("message", 1, "done", content=[{"type": "output_text", "text": "Hi"}]),
        piece("function_call_arguments", 2, "lost, for it has not begun"),
        item("function_call", 2, "done", arguments='{"a":1}', **CALL),
        item("function_call", 3, "added", call_id="c2"),
        item("function_call", 3, "done", arguments="{}", call_id="c2", name="math.add"),
        item("web_search_call", 4, "done", id="ws_1"),
        "[DONE]",
        ended(),
    )

    assert told.blocks == (
        ReasoningBlock("a\n\nb", SIGNATURE),
        TextBlock("Hi"),
        ToolCallBlock("c1", "add", '{"a":1}'),
        ToolCallBlock("c2", "math.add", "{}"),
    )
    assert told.replay_state is None


def test_arguments_that_are_told_at_the_end_only() -> None:
    told = answer(
        item("function_call", 0, "added", **CALL),
        event("function_call_arguments.done", output_index=0, arguments="{}"),
        item("function_call", 0, "done", arguments="{}", **CALL),
        ended(),
    )

    assert told.blocks == (ToolCallBlock("c1", "add", "{}"),)


def test_reasoning_in_full_is_text_without_a_seal() -> None:
    told = answer(
        piece("reasoning_text", 0, "Hm", content_index=0),
        piece("reasoning_text", 0, ".", content_index=0),
        item("reasoning", 0, "done", id="rs_1"),
        item("reasoning", 1, "done", id="rs_2", summary=[]),
        piece("output_text", 2, "a"),
        ended(),
    )

    assert told.blocks == (ReasoningBlock("Hm."), TextBlock("a"))


def test_reasoning_that_is_not_to_be_shown_is_kept_sealed() -> None:
    chunks = said(reader(shows_reasoning=False), [*WHOLE[:6], *WHOLE[9:11], WHOLE[6], WHOLE[-1]])

    assert chunks[0] == TextDelta(1, "I ")
    assert assemble(chunks).reasoning == (ReasoningBlock("Let me.\n\nThen.", SIGNATURE),)


def test_each_text_has_its_phase() -> None:
    told = answer(
        item("message", 0, "added", phase="commentary"),
        piece("output_text", 0, "a"),
        item("message", 1, "added"),
        item("message", 2, "added"),
        piece("output_text", 2, "b"),
        item("message", 2, "done", phase="final_answer", content=[]),
        ended(),
    )

    assert json.loads(told.replay_state or "")["phases"] == ["commentary", "final_answer"]


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ({"reason": "max_output_tokens"}, "length"),
        ({"reason": "Max_Messages"}, "max_messages"),
        (None, "length"),
    ],
)
def test_an_answer_that_is_cut_off(details: Any, reason: str) -> None:
    told = answer(piece("output_text", 0, "a"), ended("incomplete", incomplete_details=details))

    assert told.finish_reason == reason
    assert told.usage == USED


def test_an_answer_is_cut_off_if_its_status_says_so() -> None:
    status = {"id": "resp_1", "status": "incomplete"}

    told = answer(piece("output_text", 0, "a"), event("completed", response=status))

    assert told.finish_reason == "length"


@pytest.mark.parametrize(
    "values",
    [
        [piece("refusal", 0, "I cannot"), ended()],
        [item("message", 0, "done", content=[{"type": "refusal", "refusal": "No."}]), ended()],
        [ended("incomplete", incomplete_details={"reason": "content_filter"})],
    ],
)
def test_a_refusal(values: list[Any]) -> None:
    with pytest.raises(ModelFailed) as failed:
        answer(*values)

    assert failed.value.code == FailureCode.REFUSED


@pytest.mark.parametrize(
    ("value", "code", "words", "request_id"),
    [
        (
            ended("failed", error={"code": "server_error", "message": "Oops."}),
            FailureCode.SERVER,
            "server_error",
            "resp_1",
        ),
        (
            ended("failed", error={"code": "rate_limit_exceeded", "message": "x"}),
            FailureCode.RATE_LIMIT,
            "rate_limit_exceeded",
            "resp_1",
        ),
        (
            ended("failed", error={"code": "bio_policy", "message": "x"}),
            FailureCode.REFUSED,
            "bio_policy",
            "resp_1",
        ),
        (
            ended("failed", error={"code": "invalid_image", "message": "x"}),
            FailureCode.INVALID_REQUEST,
            "invalid_image",
            "resp_1",
        ),
        (ended("failed", error=None), FailureCode.SERVER, "response.failed", "resp_1"),
        (ended("cancelled"), FailureCode.SERVER, "response.cancelled", "resp_1"),
        (
            {"type": "error", "code": "context_length_exceeded", "message": "x"},
            FailureCode.CONTEXT_WINDOW_EXCEEDED,
            "context_length_exceeded",
            None,
        ),
        ({"type": "error", "error": {"message": "x"}}, FailureCode.SERVER, None, None),
        ({"type": "error"}, FailureCode.SERVER, "error", None),
        (
            {"error": {"code": "insufficient_quota", "message": "x"}},
            "AUTH",
            "insufficient_quota",
            None,
        ),
        ("x", FailureCode.SERVER, None, None),
    ],
)
def test_errors_within_a_stream(
    value: Any, code: str, words: str | None, request_id: str | None
) -> None:
    broken = reader()

    with pytest.raises(ModelFailed) as failed:
        said(broken, [piece("output_text", 0, "a"), value])

    assert failed.value.code == code
    assert failed.value.provider_code == words
    assert failed.value.request_id == request_id
    used = [UsageReported(USED)] if request_id else []
    assert [*broken.end()] == used


def test_what_is_not_known_is_skipped() -> None:
    told = answer(
        {"something": "else"},
        {"type": 5},
        event("queued"),
        event("output_text.delta"),
        event("output_text.delta", output_index=None, delta="a"),
        ended(),
    )

    assert told.content == "a"


@given(st.lists(st.sampled_from(WHOLE).flatmap(bent), max_size=6))
def test_nothing_that_comes_in_does_harm(values: list[Any]) -> None:
    survives(reader(), values)
