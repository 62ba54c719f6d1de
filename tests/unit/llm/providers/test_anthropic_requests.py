"""Requests to Anthropic: each is one that its official types and its known rules take."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.failure import FailureCode, ModelFailed
from everturn.llm.providers.anthropic import FINAL_REPORT, AnthropicWire
from everturn.ports.model import Account, Replay
from neutral_requests import REPORT, asked, requests
from providers.official_models import refusals_anthropic
from transcripts.anthropic import refusals
from transcripts.judge import unmarked
from unit.llm.providers.anthropic_calls import CALL, LOOP, OPUS, SONNET, TOOL, body

MODELS = st.sampled_from([SONNET, OPUS, "claude-3-5-haiku-latest", "claude-opus-5-5"])


@given(MODELS.flatmap(requests))
def test_every_request_is_one_that_anthropic_takes(request: dict[str, Any]) -> None:
    made = AnthropicWire().encode(asked(request)).body

    told = {"temperature"} & made.keys()  # a field of the version that we speak, not of the types'
    plain = {name: value for name, value in made.items() if name not in told}
    assert refusals_anthropic(plain) == []
    assert [str(one) for one in refusals(unmarked(made))] == []


def test_where_a_request_goes_and_with_what_key() -> None:
    encoded = AnthropicWire().encode(asked({"model": SONNET, "messages": LOOP[:1]}))
    elsewhere = AnthropicWire().encode(
        asked({"model": SONNET, "messages": LOOP[:1]}, account=Account("https://x.example/a", "k"))
    )

    assert encoded.url == "https://api.anthropic.com/v1/messages"
    assert encoded.headers == {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}
    assert elsewhere.url == "https://x.example/a/v1/messages"


def test_without_a_key_nothing_is_sent() -> None:
    with pytest.raises(ModelFailed, match="no API key for Anthropic") as failed:
        AnthropicWire().encode(asked({"model": SONNET, "messages": []}, account=Account()))

    assert failed.value.code is FailureCode.AUTH


def test_a_whole_conversation() -> None:
    made = body(
        messages=[{"role": "system", "content": "Be kind."}, *LOOP],
        tools=[TOOL],
        failed=frozenset({"toolu_1"}),
        stop=["END"],
        max_completion_tokens=500,
        temperature=0.5,
    )

    name = made["tools"][0]["name"]
    mark = {"cache_control": {"type": "ephemeral"}}
    assert made == {
        "model": SONNET,
        "max_tokens": 500,
        "system": [{"type": "text", "text": "Be kind.", **mark}],
        "messages": [
            {"role": "user", "content": "How is it in Bern?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"city": "Bern"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": "sunny",
                        "is_error": True,
                        **mark,
                    }
                ],
            },
        ],
        "tools": [
            {
                "name": name,
                "description": "Tells it.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "temperature": 0.5,
        "stop_sequences": ["END"],
        "stream": True,
    }


def test_the_prefix_stays_the_same_from_call_to_call_and_from_turn_to_turn() -> None:
    """What the cache keeps must be byte for byte what was sent before."""
    system = {"role": "system", "content": "Be kind."}
    steps: list[list[dict[str, Any]]] = [
        [system, *LOOP[:1]],
        [system, *LOOP],
        [system, *LOOP, {"id": "a2", "role": "assistant", "content": "It is sunny."}],
    ]
    steps.append([*steps[-1], {"id": "u2", "role": "user", "content": "Thanks"}])
    bodies = [body(messages=messages, tools=[TOOL]) for messages in steps if messages != steps[2]]

    for before, after in pairwise(bodies):
        assert json.dumps(before["tools"]) == json.dumps(after["tools"])
        assert json.dumps(before["system"]) == json.dumps(after["system"])
        old = unmarked(before)["messages"]
        assert [_listed(one) for one in unmarked(after)["messages"][: len(old)]] == [
            _listed(one) for one in old
        ]
    assert bodies[0] == body(messages=steps[0], tools=[TOOL])


def _listed(message: dict[str, Any]) -> dict[str, Any]:
    """A text alone is the same as one text block."""
    content = message["content"]
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": listed}


def test_tools_are_marked_where_there_is_no_system_prompt() -> None:
    made = body(tools=[TOOL, {"name": "b", "description": ""}])

    assert ["cache_control" in tool for tool in made["tools"]] == [False, True]


SIGNED = Replay(
    "anthropic",
    SONNET,
    (
        {"type": "reasoning", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data_json": '{"data":"x"}'},
        {"type": "reasoning", "thinking": "unsigned", "signature": None},
        {"type": "text", "text": "I look."},
        {"type": "text", "text": " "},
        {"type": "tool-call", "id": "toolu_1", "name": "get.weather", "arguments": "{}"},
    ),
)  # fmt: skip


def test_thinking_goes_back_signed_in_front_of_its_calls() -> None:
    made = body(messages=LOOP, tools=[TOOL], replays={"a1": SIGNED}, reasoning={"effort": "low"})

    assert made["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "I look."},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": made["tools"][0]["name"],
            "input": {"city": "Bern"},
        },
    ]
    assert made["thinking"] == {"type": "enabled", "budget_tokens": 2048}


def test_what_another_model_thought_stays_with_it() -> None:
    made = body(OPUS, messages=LOOP, tools=[TOOL], replays={"a1": SIGNED})

    assert [block["type"] for block in made["messages"][1]["content"]] == ["text", "tool_use"]


def test_a_loop_that_began_without_thinking_goes_on_without() -> None:
    """Anthropic answers 400 where thinking is on and the loop's first block is none."""
    made = body(messages=LOOP, tools=[TOOL], reasoning={"effort": "high"})
    adaptive = body(OPUS, messages=LOOP, tools=[TOOL], reasoning={"effort": "high"})

    assert "thinking" not in made
    assert adaptive["thinking"]["type"] == "adaptive"


def test_an_answer_whose_calls_were_changed_goes_as_the_public_message() -> None:
    other = [LOOP[0], {**LOOP[1], "tool_calls": None}]
    more = Replay("anthropic", SONNET, (SIGNED.blocks[3],))

    assert body(messages=[*other, LOOP[0]], replays={"a1": SIGNED})["messages"][1] == {
        "role": "assistant",
        "content": "I look.",
    }
    blocks = body(messages=LOOP, tools=[TOOL], replays={"a1": more})["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["text", "tool_use"]


def test_a_structured_answer_is_a_forced_call_where_nothing_else_is_to_do() -> None:
    """Runs document, section 7."""
    alone = body(output_schema=REPORT)
    beside = body(output_schema=REPORT, tools=[TOOL])
    thinking = body(output_schema=REPORT, reasoning={"effort": "low"})

    assert alone["tool_choice"] == {"type": "tool", "name": FINAL_REPORT}
    assert alone["tools"][-1]["input_schema"] == REPORT
    assert beside["tool_choice"] == {"type": "any"}
    assert [tool["name"] for tool in beside["tools"]][-1] == FINAL_REPORT
    assert thinking["tool_choice"] == {"type": "auto"}


@pytest.mark.parametrize(
    ("choice", "serial", "told"),
    [
        (None, None, None),
        ("auto", None, {"type": "auto"}),
        ("none", True, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("required", True, {"type": "any", "disable_parallel_tool_use": True}),
        (None, True, {"type": "auto", "disable_parallel_tool_use": True}),
    ],
)
def test_how_tools_are_chosen(choice: Any, serial: bool | None, told: Any) -> None:
    more = {"tool_choice": choice} if choice else {}
    more |= {"parallel_tool_calls": False} if serial else {}

    assert body(tools=[TOOL], **more).get("tool_choice") == told


def test_tools_of_the_past_are_declared_and_not_to_be_called() -> None:
    made = body(messages=LOOP)

    assert made["tools"][0]["name"] == made["messages"][1]["content"][1]["name"]
    assert made["tool_choice"] == {"type": "none"}


def test_the_routes_own_limit_is_sent_where_nobody_names_one() -> None:
    request = {"model": SONNET, "messages": LOOP[:1]}

    made = AnthropicWire().encode(asked(request, default_max_tokens=32_000)).body

    assert made["max_tokens"] == 32_000
    assert body()["max_tokens"] == 8192
    assert body(max_completion_tokens=5)["max_tokens"] == 5


NEXT = {**CALL, "id": "toolu_2"}
STEPS: list[dict[str, Any]] = [
    *LOOP,
    {"id": "a2", "role": "assistant", "tool_calls": [NEXT]},
    {"role": "tool", "tool_call_id": "toolu_2", "name": "get.weather", "content": "windy"},
]


def test_thinking_stays_on_through_all_steps_of_a_loop() -> None:
    """Only the first step of a loop begins with thinking: what follows a result need not."""
    made = body(messages=STEPS, tools=[TOOL], replays={"a1": SIGNED}, reasoning={"effort": "low"})

    assert made["thinking"]["type"] == "enabled"
    assert [str(one) for one in refusals(unmarked(made))] == []


@pytest.mark.parametrize("limit", [500, 64_000])
def test_a_temperature_beside_thinking_does_not_fail_the_call(limit: int) -> None:
    made = body(
        "claude-opus-4-6",
        reasoning={"effort": "low"},
        temperature=0.5,
        max_completion_tokens=limit,
    )

    assert made["thinking"]["type"] == "adaptive"
    assert "temperature" not in made


@pytest.mark.parametrize(
    "schema", [{"anyOf": [REPORT]}, {"$ref": "#/$defs/r", "$defs": {"r": REPORT}}, {"title": "R"}]
)
def test_a_structured_answer_may_have_any_schema(schema: dict[str, Any]) -> None:
    made = body(output_schema=schema)

    assert made["tools"][-1]["input_schema"]["type"] == "object"
    assert [str(one) for one in refusals(unmarked(made))] == []


BOUND = "claude-opus-5-5"


def kinds(messages: list[dict[str, Any]], model: str, *replays: str) -> list[list[str]]:
    """Return the kinds of blocks of each turn of the assistant."""
    signed = Replay("anthropic", model, SIGNED.blocks)
    made = body(model, messages=messages, tools=[TOOL], replays=dict.fromkeys(replays, signed))
    turns = [_listed(turn)["content"] for turn in made["messages"] if turn["role"] == "assistant"]
    return [[block["type"] for block in turn] for turn in turns]


def test_a_conversation_that_was_cut_since_goes_on_where_thinking_is_bound_to_it() -> None:
    """Anthropic answers 400, "bound to a different conversation", to thinking of earlier turns."""
    messages = [
        *STEPS,
        {"id": "a3", "role": "assistant", "content": "Windy."},
        {"id": "u2", "role": "user", "content": "And now?"},
        {"id": "a4", "role": "assistant", "tool_calls": [{**CALL, "id": "toolu_4"}]},
        {"role": "tool", "tool_call_id": "toolu_4", "name": "get.weather", "content": "wet"},
    ]
    thought = ["thinking", "redacted_thinking", "text", "tool_use"]

    assert kinds(messages, BOUND, "a1", "a4") == [
        ["text", "tool_use"],
        ["tool_use"],
        ["text"],
        thought,
    ]
    assert kinds(messages, OPUS, "a1", "a4") == [thought, ["tool_use"], ["text"], thought]


def test_thinking_that_came_after_an_answer_stays_away_where_it_is_bound() -> None:
    """A note of ours stood between the two, which is not there any more."""
    messages = [
        LOOP[0],
        {"id": "a0", "role": "assistant", "content": "Well."},
        *LOOP[1:],
    ]

    assert kinds(messages, BOUND, "a1") == [["text", "text", "tool_use"]]


@pytest.mark.parametrize(
    ("model", "effort", "limit"),
    [
        ("claude-opus-5", None, 32_000),
        ("claude-opus-5-5", "none", 32_000),
        ("claude-opus-5", "xhigh", 32_768 + 8192),
        (OPUS, None, 8192),
    ],
)
def test_a_model_that_thinks_unasked_has_room_for_it(
    model: str, effort: str | None, limit: int
) -> None:
    assert body(model, reasoning={"effort": effort} if effort else None)["max_tokens"] == limit
    assert body(model, max_completion_tokens=5)["max_tokens"] == 5


def test_a_blank_system_prompt_is_no_block_to_be_cached() -> None:
    made = body(messages=[{"role": "system", "content": " "}, LOOP[0]])

    assert "system" not in made
