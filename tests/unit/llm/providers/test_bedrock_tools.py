"""Tools, how they are chosen, and structured answers as Converse's `toolConfig`."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.llm.formats.anthropic import NO_ARGUMENTS
from everturn.llm.providers.bedrock_request import final_tool
from everturn.llm.providers.shape import WITHDRAWN
from unit.llm.providers.converse_calls import (
    ADD,
    ADD_SPEC,
    CLAUDE,
    CLAUDE_3,
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
    parameters,
    refused,
)

FINAL_SPEC = {
    "toolSpec": {
        "name": "final_report",
        "inputSchema": {"json": SCHEMA},
        "description": "Give the final answer by calling this tool once, with all of it.",
    }
}


def test_tools_are_declared_by_their_names_on_the_wire() -> None:
    bare = {"name": "send.mail", "description": " "}

    body = parameters(tools=[ADD, bare])

    [first, second] = body["toolConfig"]["tools"]
    assert first == ADD_SPEC
    assert second["toolSpec"] == {
        "name": second["toolSpec"]["name"],
        "inputSchema": {"json": NO_ARGUMENTS},
    }
    assert second["toolSpec"]["name"].startswith("send_mail_")
    assert refused(body) == []


def test_nova_is_shown_the_parts_of_a_schema_it_knows() -> None:
    schema = {**SCHEMA, "title": "Add", "additionalProperties": False, "$defs": {"x": {}}}

    body = parameters(model=NOVA, tools=[{**ADD, "input": schema}])

    [tool, *_] = body["toolConfig"]["tools"]
    assert tool["toolSpec"]["inputSchema"]["json"] == {**SCHEMA, "$defs": {"x": {}}}


@pytest.mark.parametrize(
    ("model", "request_", "choice"),
    [
        (LLAMA, {}, None),
        (LLAMA, {"tool_choice": "auto"}, None),
        (LLAMA, {"tool_choice": "required"}, {"any": {}}),
        (LLAMA, {"tool_choice": {"name": "add"}}, {"tool": {"name": "add"}}),
        (LLAMA, {"tool_choice": {"name": "gone"}}, None),
        (CLAUDE, {"tool_choice": "required"}, {"any": {}}),
        (CLAUDE, {"tool_choice": "required", "reasoning": HIGH}, None),
        (CLAUDE, {"tool_choice": {"name": "add"}, "reasoning": HIGH}, None),
        (OPUS_4_7, {"tool_choice": "required", "reasoning": HIGH}, {"any": {}}),
        (OPUS_5_5, {"tool_choice": "required"}, None),
        (NOVA_2, {"tool_choice": "required", "reasoning": HIGH}, {"any": {}}),
    ],
)
def test_a_model_is_forced_where_that_is_asked_for_and_it_can_be(
    model: str, request_: dict[str, Any], choice: dict[str, Any] | None
) -> None:
    body = parameters(model=model, tools=[ADD], **request_)

    assert body["toolConfig"].get("toolChoice") == choice
    assert refused(body) == []


def test_tools_that_must_not_be_called_are_left_out_unless_the_conversation_has_calls() -> None:
    without = parameters(tools=[ADD], tool_choice="none")
    with_calls = parameters(*LOOP, tools=[ADD], tool_choice="none")

    assert "toolConfig" not in without
    assert with_calls["toolConfig"] == {"tools": [ADD_SPEC]}


def test_tools_that_only_the_conversation_has_are_declared() -> None:
    body = parameters(*LOOP)

    assert body["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "add",
                    "inputSchema": {"json": NO_ARGUMENTS},
                    "description": WITHDRAWN,
                }
            }
        ]
    }
    assert refused(body) == []


@pytest.mark.parametrize(
    ("model", "request_", "told"),
    [
        (CLAUDE, {}, {"type": "auto", "disable_parallel_tool_use": True}),
        (CLAUDE, {"tool_choice": "required"}, {"disable_parallel_tool_use": True}),
        (CLAUDE_3, {}, None),
        (NOVA, {}, None),
    ],
)
def test_one_call_at_a_time_is_a_field_of_claude_s(
    model: str, request_: dict[str, Any], told: dict[str, Any] | None
) -> None:
    body = parameters(model=model, tools=[ADD], parallel_tool_calls=False, **request_)
    parallel = parameters(model=model, tools=[ADD], parallel_tool_calls=True)

    assert body.get("additionalModelRequestFields", {}).get("tool_choice") == told
    assert "additionalModelRequestFields" not in parallel
    assert "toolConfig" not in parameters(model=model, parallel_tool_calls=False)


@pytest.mark.parametrize(
    ("model", "request_", "tools", "choice"),
    [
        (CLAUDE_3, {}, [FINAL_SPEC], {"tool": {"name": "final_report"}}),
        (NOVA, {}, [FINAL_SPEC], {"tool": {"name": "final_report"}}),
        (CLAUDE_3, {"tools": [ADD]}, [ADD_SPEC, FINAL_SPEC], {"any": {}}),
        (
            CLAUDE_3,
            {"tools": [ADD], "tool_choice": "none"},
            [FINAL_SPEC],
            {"tool": {"name": "final_report"}},
        ),
        (
            CLAUDE_3,
            {"tools": [ADD], "tool_choice": {"name": "add"}},
            [ADD_SPEC, FINAL_SPEC],
            {"tool": {"name": "add"}},
        ),
        (MISTRAL, {}, [FINAL_SPEC], None),
        (MISTRAL, {"tool_choice": "required"}, [FINAL_SPEC], None),
        (MISTRAL, {"tools": [ADD], "tool_choice": "required"}, [ADD_SPEC, FINAL_SPEC], {"any": {}}),
    ],
)
def test_a_structured_answer_is_a_report_to_a_tool_of_ours(
    model: str, request_: dict[str, Any], tools: list[Any], choice: dict[str, Any] | None
) -> None:
    body = parameters(model=model, output_schema=SCHEMA, **request_)

    declared = [tool for tool in body["toolConfig"]["tools"] if tool != POINT]
    assert declared == tools
    assert body["toolConfig"].get("toolChoice") == choice


def test_a_model_that_thinks_or_cannot_be_forced_reports_of_its_own_accord() -> None:
    bodies = [
        parameters(model=OPUS_5_5, output_schema=SCHEMA),
        parameters(model=CLAUDE, output_schema=SCHEMA, reasoning=HIGH),
    ]

    assert [sorted(body["toolConfig"]) for body in bodies] == [["tools"], ["tools"]]


def test_a_model_that_calls_no_tools_answers_in_its_own_words() -> None:
    assert "toolConfig" not in parameters(model=LLAMA, output_schema=SCHEMA)
    assert final_tool({"model": LLAMA, "output_schema": SCHEMA}) is None
    assert final_tool({"model": CLAUDE, "output_schema": SCHEMA}) == "final_report"
    assert final_tool({"model": CLAUDE}) is None


def test_a_tool_of_the_agent_s_may_have_the_name_of_ours() -> None:
    body = parameters(
        model=CLAUDE_3, output_schema=SCHEMA, tools=[{"name": "final_report", "description": ""}]
    )

    names = [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]]
    assert len(set(names)) == 2
    assert names[1] == "final_report"
