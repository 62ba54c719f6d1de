"""Settings, thinking and cache points as Converse's parameters; tools stand elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everturn.llm.failure import ModelFailed
from everturn.ports.model import Replay
from unit.llm.providers.converse_calls import (
    ADD,
    ADD_SPEC,
    CLAUDE,
    CLAUDE_3,
    CLAUDE_3_7,
    HIDDEN,
    HIGH,
    LLAMA,
    LOOP,
    MISTRAL,
    NOVA,
    NOVA_2,
    OPUS_4_7,
    OPUS_5_5,
    POINT,
    SCHEMA,
    called,
    file,
    image,
    parameters,
    refused,
    result,
    user,
)
from unit.transcripts.bodies import neutral

MODELS = (CLAUDE, OPUS_5_5, OPUS_4_7, CLAUDE_3_7, CLAUDE_3, NOVA, NOVA_2, LLAMA, MISTRAL, HIDDEN)


def test_a_bare_request_says_nothing_that_nobody_asked_for() -> None:
    assert parameters(model=HIDDEN) == {
        "modelId": HIDDEN,
        "messages": [{"role": "user", "content": [{"text": "Hi."}]}],
    }


def test_settings_go_as_they_are() -> None:
    body = parameters(max_completion_tokens=10, temperature=0.5, stop=["END"])

    assert body["inferenceConfig"] == {
        "maxTokens": 10,
        "temperature": 0.5,
        "stopSequences": ["END"],
    }


def test_a_route_has_its_own_limit_where_the_request_names_none() -> None:
    bodies = [
        parameters(default_max_tokens=99),
        parameters(default_max_tokens=99, max_completion_tokens=10),
    ]

    assert [body["inferenceConfig"]["maxTokens"] for body in bodies] == [99, 10]


@pytest.mark.parametrize(
    ("model", "reasoning", "told", "settings"),
    [
        (
            CLAUDE,
            {"effort": "low"},
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
            {"maxTokens": 2048 + 8192},
        ),
        (
            CLAUDE_3_7,
            {"max_tokens": 3000},
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
            {"maxTokens": 3000 + 8192},
        ),
        (CLAUDE, {"effort": "none"}, None, {"temperature": 0.5}),
        (CLAUDE_3, HIGH, None, {"temperature": 0.5}),
        (
            OPUS_4_7,
            HIGH,
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
            None,
        ),
        (OPUS_4_7, None, None, None),
        (OPUS_5_5, {"effort": "none"}, {"output_config": {"effort": "low"}}, None),
        (
            "us.anthropic.claude-opus-5",
            {"enabled": False},
            {"thinking": {"type": "disabled"}},
            None,
        ),
        (NOVA, HIGH, None, {"temperature": 0.5}),
        (NOVA_2, {"effort": "none"}, None, {"temperature": 0.5}),
        (
            NOVA_2,
            {"effort": "minimal"},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}},
            None,
        ),
        (
            NOVA_2,
            {"enabled": True},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}},
            None,
        ),
        (
            NOVA_2,
            {"max_tokens": 2000},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}},
            None,
        ),
        (
            NOVA_2,
            {"effort": "xhigh"},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}},
            None,
        ),
        (LLAMA, HIGH, None, {"temperature": 0.5}),
        (HIDDEN, HIGH, None, {"temperature": 0.5}),
    ],
)
def test_thinking_is_told_in_the_words_of_each_family(
    model: str,
    reasoning: dict[str, Any] | None,
    told: dict[str, Any] | None,
    settings: dict[str, Any] | None,
) -> None:
    body = parameters(model=model, reasoning=reasoning, temperature=0.5)

    assert body.get("additionalModelRequestFields") == told
    assert body.get("inferenceConfig") == settings
    assert refused(body) == []


def test_a_limit_stays_above_the_budget_and_leaves_nova_s_highest_effort_alone() -> None:
    limits = [
        parameters(model=model, reasoning=reasoning, max_completion_tokens=2000).get(
            "inferenceConfig"
        )
        for model, reasoning in (
            (CLAUDE, HIGH),
            (OPUS_4_7, HIGH),
            (NOVA_2, {"effort": "medium"}),
            (NOVA_2, HIGH),
        )
    ]

    assert limits == [{"maxTokens": 2000}, {"maxTokens": 2000}, {"maxTokens": 2000}, None]


def test_a_loop_that_did_not_begin_with_thinking_goes_on_without() -> None:
    replay = Replay(
        "bedrock",
        CLAUDE,
        (
            {"type": "reasoning", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "tool-call", "id": "c1", "name": "add"},
        ),
    )

    bodies = [
        parameters(*LOOP, model=CLAUDE, tools=[ADD], reasoning=HIGH, replays=replays)
        for replays in ({}, {"a": replay})
    ]

    assert ["additionalModelRequestFields" in body for body in bodies] == [False, True]


def signed(model: str) -> Replay:
    """Return a call as a model thought about it."""
    thought = {"type": "reasoning", "thinking": "Hm.", "signature": "c2ln"}
    return Replay("bedrock", model, (thought, {"type": "tool-call", "id": "c1", "name": "add"}))


def test_thinking_stays_on_through_all_steps_of_a_loop() -> None:
    steps = [*LOOP, called("c2", message_id="b"), result("c2", "2")]

    body = parameters(
        *steps, model=CLAUDE, tools=[ADD], reasoning=HIGH, replays={"a": signed(CLAUDE)}
    )

    assert body["additionalModelRequestFields"]["thinking"]["type"] == "enabled"
    assert refused(body) == []


def test_thinking_leaves_room_for_the_answer() -> None:
    body = parameters(model=CLAUDE, reasoning=HIGH, max_completion_tokens=4096)

    assert body["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 2048
    assert body["inferenceConfig"] == {"maxTokens": 4096}


@pytest.mark.parametrize(("model", "goes_back"), [(OPUS_4_7, True), (OPUS_5_5, False)])
def test_thinking_of_earlier_turns_stays_away_where_it_is_bound_to_them(
    model: str, goes_back: bool
) -> None:
    under_way = parameters(*LOOP, model=model, tools=[ADD], replays={"a": signed(model)})
    over = parameters(*LOOP, user("Hm?"), model=model, tools=[ADD], replays={"a": signed(model)})

    assert "reasoningContent" in under_way["messages"][1]["content"][0]
    assert ("reasoningContent" in over["messages"][1]["content"][0]) is goes_back


@pytest.mark.parametrize(
    ("model", "in_system", "in_tools", "in_messages"),
    [
        (CLAUDE, True, False, True),
        (CLAUDE_3_7, True, False, True),
        (OPUS_5_5, True, False, True),
        (NOVA, True, False, True),
        (CLAUDE_3, False, False, False),
        (LLAMA, False, False, False),
        (HIDDEN, False, False, False),
    ],
)
def test_the_prompt_is_marked_where_it_stays_and_where_it_ends(
    model: str, in_system: bool, in_tools: bool, in_messages: bool
) -> None:
    system = {"role": "system", "content": "Be brief."}

    body = parameters(system, user("Hi."), model=model, tools=[ADD])

    assert (POINT in body["system"]) is in_system
    assert (POINT in body["toolConfig"]["tools"]) is in_tools
    assert (body["messages"][-1]["content"][-1] == POINT) is in_messages
    assert refused(body) == []


def test_without_a_system_prompt_tools_are_marked_where_that_is_known() -> None:
    claude, nova = (parameters(model=model, tools=[ADD]) for model in (CLAUDE, NOVA))

    assert claude["toolConfig"]["tools"] == [ADD_SPEC, POINT]
    assert nova["toolConfig"]["tools"] == [ADD_SPEC]


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        (["text"], ["text", "cachePoint"]),
        (["text", "file", "file"], ["text", "cachePoint", "document", "document"]),
        (["file"], ["document", "text", "cachePoint"]),
        (["file", "text"], ["document", "text", "cachePoint"]),
        (["clip"], ["video"]),
    ],
)
def test_no_mark_stands_first_or_behind_a_file_that_is_converted(
    content: list[str], kinds: list[str]
) -> None:
    parts = {
        "text": {"type": "text", "text": "See."},
        "file": file("a.pdf"),
        "clip": {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,ZGF0YQ=="}},
    }

    body = parameters(user([parts[name] for name in content]), model=CLAUDE)

    assert [next(iter(block)) for block in body["messages"][-1]["content"]] == kinds
    assert refused(body) == []


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=30)
@given(
    request=st.fixed_dictionaries(
        {},
        optional={
            "tools": st.sampled_from([[ADD], [ADD, {"name": "a.b", "description": ""}]]),
            "tool_choice": st.sampled_from(["auto", "none", "required", {"name": "add"}]),
            "parallel_tool_calls": st.booleans(),
            "output_schema": st.just(SCHEMA),
            "reasoning": st.sampled_from([HIGH, {"effort": "none"}, {"max_tokens": 100}]),
            "temperature": st.floats(0, 1),
            "max_completion_tokens": st.integers(1, 100_000),
            "stop": st.lists(st.text(min_size=1, max_size=3), max_size=2),
        },
    ),
    is_loop=st.booleans(),
)
def test_whatever_is_asked_for_is_well_formed_and_the_same_each_time(
    model: str, request: dict[str, Any], is_loop: bool
) -> None:
    said = LOOP if is_loop else (user("Hi."),)

    one, other = (parameters(*said, model=model, **request) for _ in range(2))

    assert refused(one) == []
    assert json.dumps(one) == json.dumps(other)


@pytest.mark.parametrize("model", MODELS)
def test_a_conversation_that_every_provider_takes_is_taken(model: str) -> None:
    request = neutral(model=model)

    body = parameters(*request["messages"], **{k: v for k, v in request.items() if k != "messages"})

    assert refused(body) == []


def test_what_was_sent_once_is_sent_again_as_it_was() -> None:
    system = {"role": "system", "content": "Be brief."}
    first = [system, user([{"type": "text", "text": "Sum."}, file("a.pdf")])]
    more = [called("c1"), result("c1", [file("a.pdf")]), user("And now?")]

    one, other = (
        parameters(*said, model=CLAUDE, tools=[ADD], reasoning={"effort": "low"})
        for said in (first, [*first, *more])
    )

    [before] = one["messages"]
    assert [block for block in before["content"] if block != POINT] == other["messages"][0][
        "content"
    ]
    assert (one["system"], one["toolConfig"]) == (other["system"], other["toolConfig"])


def test_a_picture_in_a_system_message_is_refused_and_does_not_vanish() -> None:
    with pytest.raises(ModelFailed, match="image_url in a system message") as raised:
        parameters({"role": "system", "content": [image()]}, user("Hi."))

    assert raised.value.reason == "unsupported_content"
