"""Chunks of a chat completion: what comes in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.assemble import Answer, assemble
from everturn.llm.chunks import (
    Finished,
    ReasoningBlock,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    UsageReported,
)
from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.blocks import Blocks
from everturn.llm.providers.chat_stream import ChunkReader
from everturn.llm.providers.names import ToolNames
from everturn.protocol.llm import Usage
from unit.llm.providers.openai_kit import bent, cut_at, frame, said, survives

USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
USED = Usage(
    input_tokens=7,
    output_tokens=2,
    cache_read_tokens=0,
    cache_write_tokens=0,
    reasoning_tokens=0,
)
DONE = "[DONE]"


def reader(*, keeps_details: bool = False, shows_reasoning: bool = True) -> ChunkReader:
    """Return a reader that knows the tools `add` and `math.add`."""
    blocks = Blocks(ToolNames(["add", "math.add"]), shows_reasoning=shows_reasoning)
    return ChunkReader("OpenAI", blocks, keeps_details=keeps_details)


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    """Return a chunk."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **more}


def piece(index: Any = None, call_id: Any = None, name: Any = None, arguments: Any = None) -> Any:
    """Return a delta with a piece of a call; what is None is absent."""
    function = {"name": name, "arguments": arguments}
    told = {"index": index, "id": call_id, "function": function}
    function = {key: value for key, value in function.items() if value is not None}
    one = {key: value for key, value in told.items() if value is not None}
    return {"tool_calls": [{**one, "function": function}]}


def answer(*values: Any, **how: bool) -> Answer:
    """Return what a stream adds up to."""
    return assemble(said(reader(**how), [*values, DONE]))


def calls(*pieces: Any, finish: str = "tool_calls") -> list[tuple[str, str, str]]:
    """Return the calls that pieces add up to."""
    found = answer(*map(chunk, pieces), chunk(finish=finish)).tool_calls
    return [(one.id, one.function.name, one.function.arguments) for one in found]


WHOLE = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Let me "}, usage=None),
    chunk({"content": "add."}),
    chunk(piece(0, "c1", "add", "")),
    chunk(piece(0, arguments='{"a"')),
    chunk(piece(1, "c2", "add", "{")),
    chunk(piece(0, arguments=":1}")),
    chunk(piece(1, arguments="}")),
    chunk({}, "tool_calls"),
    {"id": "chatcmpl-1", "choices": [], "usage": USAGE},
    DONE,
]


def test_text_and_two_calls_that_come_in_turns() -> None:
    told = answer(*WHOLE)

    assert told.content == "Let me add."
    assert told.blocks == (
        TextBlock("Let me add."),
        ToolCallBlock("c1", "add", '{"a":1}'),
        ToolCallBlock("c2", "add", "{}"),
    )
    assert told.finish_reason == "tool_calls"
    assert told.usage == USED
    assert told.replay_state is None


@pytest.mark.parametrize("cut", range(len(WHOLE) + 1))
def test_a_stream_is_whole_once_it_says_why_it_ended(cut: int) -> None:
    assert cut_at(reader(), WHOLE[:cut]) == (cut >= 9, cut >= 10)


def test_the_provider_has_said_all_with_its_last_mark() -> None:
    whole = reader()

    done = [([*whole.read(frame(value))], whole.is_done)[1] for value in WHOLE]

    assert done == [*[False] * 10, True]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("function_call", "stop"),
        ("tool_calls", "stop"),
        ("Insufficient_System_Resource", "insufficient_system_resource"),
    ],
)
def test_reasons_of_an_end(finish: str, reason: str) -> None:
    assert answer(chunk({"content": "a"}), chunk(finish=finish)).finish_reason == reason


def test_a_stop_with_calls_is_for_the_calls() -> None:
    assert calls(piece(0, "c1", "add", "{}"), finish="stop") == [("c1", "add", "{}")]
    told = answer(chunk(piece(0, "c1", "add", "{}")), chunk(finish="stop"))
    assert told.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "values",
    [
        [chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk(finish="stop")],
        [chunk({"content": "a"}), chunk(finish="content_filter")],
    ],
)
def test_a_refusal(values: list[Any]) -> None:
    with pytest.raises(ModelFailed) as failed:
        answer(*values)

    assert failed.value.code == FailureCode.REFUSED


def test_a_tool_is_called_by_its_own_name() -> None:
    wire = ToolNames(["math.add"]).to_wire("math.add")

    assert calls(piece(0, "c1", wire, "{}")) == [("c1", "math.add", "{}")]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([piece(0, "c1", "add")], [("c1", "add", "")]),
        ([piece(0, None, "add", "{}")], [("call_0", "add", "{}")]),
        ([piece(0, "c1", "add", "{}"), piece(0, "c2", "add", "[]")], [("c1", "{}"), ("c2", "[]")]),
        ([piece(None, "c1", "add", "{"), piece(None, "c1", None, "}")], [("c1", "add", "{}")]),
        ([piece(None, "c1", "add", "{"), piece(arguments="}")], [("c1", "add", "{}")]),
        ([piece(None, "c1", "add"), piece(None, "c2", "add", "{}")], [("c1", ""), ("c2", "{}")]),
        ([piece(None, None, "add", "{}")], [("call_0", "add", "{}")]),
        ([piece(0, "c1"), piece(0, arguments="{"), piece(0, None, "add", "}")], [("c1", "{}")]),
        ([piece(0, "c1", "add", "{"), piece(0, "c1", "add", "}")], [("c1", "add", "{}")]),
        ([piece(0, "c1", "add", "{"), piece(0, "x9", None, "}")], [("c1", "add", "{}")]),
        ([piece(0, "c1", "add", {"a": "é"})], [("c1", "add", '{"a":"é"}')]),
        ([piece(0, "c1", "add", "{}"), piece(1)], [("c1", "add", "{}")]),
        ([piece(0, "c1", "add", "{}"), {"tool_calls": "x"}], [("c1", "add", "{}")]),
        ([piece(1, "c2", "add", "2"), piece(0, "c1", "add", "1")], [("c2", "2"), ("c1", "1")]),
    ],
)
def test_calls_however_they_come(pieces: list[Any], found: list[tuple[str, ...]]) -> None:
    told = [one if len(one) == 3 else (one[0], "add", one[1]) for one in found]

    assert calls(*pieces) == told


def test_a_call_without_a_name_cannot_be_read() -> None:
    nameless = chunk(piece(0, "c1", None, "{}"))

    assert answer(chunk({"content": "a"}), nameless, chunk(finish="tool_calls")).finish_reason == (
        "malformed_function_call"
    )
    cut = answer(chunk({"content": "a"}), nameless, chunk(finish="length"))
    assert cut.finish_reason == "length"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_comes_in_a_field_and_goes_back_in_it(name: str) -> None:
    told = answer(
        chunk({name: "Hm"}), chunk({name: "."}), chunk({"content": "Yes."}), chunk(finish="stop")
    )

    assert told.blocks == (ReasoningBlock("Hm."), TextBlock("Yes."))
    assert json.loads(told.replay_state or "") == {"v": 1, "reasoning": name}


def test_thinking_that_is_not_to_be_shown_is_kept() -> None:
    chunks = said(
        reader(shows_reasoning=False),
        [chunk({"reasoning": "Hm"}), chunk({"content": "a"}), chunk(finish="stop")],
    )

    assert chunks[0] == TextDelta(1, "a")
    assert assemble(chunks).reasoning == (ReasoningBlock("Hm"),)


DETAILS: list[dict[str, Any]] = [
    {"type": "reasoning.text", "text": "Let ", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "text": "me.", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "signature": "sig", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.summary", "summary": "Sum.", "id": None, "index": 1},
    {"type": "reasoning.encrypted", "data": "x==", "id": "rs_1", "index": 1},
    {"type": "reasoning.encrypted", "data": "y==", "id": "rs_2", "index": 1},
]


def detailed() -> list[Any]:
    """Return a stream with details, each beside its text once more."""
    thinking = [
        chunk({"content": "", "reasoning": one.get("text"), "reasoning_details": [one]})
        for one in DETAILS
    ]
    return [*thinking, chunk({"content": "a", "reasoning_details": []}), chunk(finish="stop")]


def test_details_are_kept_as_blocks_for_the_server_that_wants_them() -> None:
    told = answer(*detailed(), keeps_details=True)

    kept = [json.loads(one.signature or "") for one in told.reasoning]
    assert [one.thinking for one in told.reasoning] == ["Let me.", "Sum.", "", ""]
    assert kept == [
        {
            "v": 1,
            "detail": {
                "type": "reasoning.text",
                "format": "anthropic-claude-v1",
                "index": 0,
                "signature": "sig",
            },
        },
        {"v": 1, "detail": {"type": "reasoning.summary", "index": 1}},
        {"v": 1, "detail": DETAILS[4]},
        {"v": 1, "detail": DETAILS[5]},
    ]
    assert told.content == "a"
    assert told.replay_state is None


def test_details_are_text_alone_for_others() -> None:
    told = answer(*detailed())

    assert told.reasoning == (ReasoningBlock("Let me."), ReasoningBlock("Sum."))


def test_parts_of_a_content_are_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "reference"}, {"type": "text", "text": "b"}]

    assert answer(chunk({"content": parts}), chunk(finish="stop")).content == "ab"


def test_a_cost_is_told_with_the_counts() -> None:
    last = chunk({"content": "a"}, "stop", usage={**USAGE, "cost": 0.00002})

    assert said(reader(), [last, DONE])[-2:] == [UsageReported(USED, "0.00002"), Finished("stop")]


def test_the_latest_counts_stand() -> None:
    early = chunk({"content": "a"}, usage={"prompt_tokens": 7, "completion_tokens": 1})

    assert answer(early, chunk(finish="stop", usage=USAGE)).usage == USED


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (
            {"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}},
            FailureCode.RATE_LIMIT,
            "rate_limit_exceeded",
        ),
        (chunk({"content": ""}, "error", error={"code": 502, "message": "x"}), "SERVER", None),
        (chunk({"content": ""}, "error"), FailureCode.SERVER, None),
        ({"object": "error", "message": "No.", "code": 400}, FailureCode.INVALID_REQUEST, None),
        ({"error": {"code": "insufficient_quota", "message": "x"}}, "AUTH", "insufficient_quota"),
        ({"id": 5, "error": "broken"}, FailureCode.SERVER, None),
        ("{", FailureCode.SERVER, None),
        ([], FailureCode.SERVER, None),
    ],
)
def test_errors_within_a_stream(value: Any, code: str, words: str | None) -> None:
    broken = reader()

    with pytest.raises(ModelFailed) as failed:
        said(broken, [chunk({"content": "a"}, usage=USAGE), value])

    assert failed.value.code == code
    assert failed.value.provider_code == words
    assert [*broken.end()] == [UsageReported(USED)]


SAMPLE = [
    chunk({"content": "a", "reasoning": "b", "refusal": None, "reasoning_details": DETAILS[2:5]}),
    chunk(piece(0, "c1", "add", "{}"), "stop", usage={**USAGE, "cost": 0.1}),
    {"choices": [], "usage": USAGE, "error": None},
]


@given(st.lists(st.sampled_from(SAMPLE).flatmap(bent), max_size=4), st.booleans())
def test_nothing_that_comes_in_does_harm(values: list[Any], keeps_details: bool) -> None:
    survives(reader(keeps_details=keeps_details), values)
