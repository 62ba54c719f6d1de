"""Requests made fit: every conversation ends up one that all providers take."""

from __future__ import annotations

from typing import Any

from everturn.llm.providers.shape import BEGIN, BLANK, GO_ON, shaped, withdrawn_tools

OURS = "call_01984a3c-7000-7000-8000-000000000001"


def call(call_id: str, name: str = "look") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def roles(*messages: dict[str, Any], takes_turns: bool = True) -> list[tuple[str, Any]]:
    shape = shaped({"model": "m", "messages": [*messages]}, takes_turns=takes_turns)
    return [(message["role"], message.get("content")) for message in shape.messages]


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def test_a_user_speaks_first_and_last() -> None:
    assert roles(said("assistant", "Hi")) == [
        ("user", BEGIN),
        ("assistant", "Hi"),
        ("user", GO_ON),
    ]
    assert roles(said("system", "s")) == [("system", "s"), ("user", BEGIN)]
    assert roles(said("user", "Hi")) == [("user", "Hi")]


def test_where_nobody_minds_only_an_empty_conversation_is_begun() -> None:
    assert roles(takes_turns=False) == [("user", BEGIN)]
    assert roles(said("assistant", "Hi"), takes_turns=False) == [("assistant", "Hi")]


def test_blanks_are_replaced_and_blank_parts_left_out() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    blank = {"type": "text", "text": " \n"}

    assert roles(said("user", "  "), said("user", [blank]), said("user", [blank, picture])) == [
        ("user", BLANK),
        ("user", BLANK),
        ("user", [picture]),
    ]
    asks = {**said("assistant", ""), "tool_calls": [call("a")]}
    result = {"role": "tool", "tool_call_id": "a", "content": ""}
    assert roles(said("user", "x"), asks, result)[1:] == [("assistant", None), ("tool", BLANK)]


def test_ids_and_names_are_mapped_wherever_they_stand() -> None:
    messages = [
        said("user", "x"),
        {"role": "assistant", "tool_calls": [call(OURS, "a.b")]},
        {"role": "tool", "tool_call_id": OURS, "content": "ok", "name": "a.b"},
    ]
    tools = [{"name": "a.b", "description": "", "input": {"anyOf": [{"type": "object"}]}}]

    shape = shaped(
        {"messages": messages, "tools": tools, "tool_choice": {"name": "a.b"}}, takes_turns=True
    )

    made = shape.messages[1]["tool_calls"][0]
    name = shape.names.to_wire("a.b")
    assert made["id"] == shape.messages[2]["tool_call_id"] != OURS
    assert made["function"]["name"] == shape.tools[0]["name"] == name
    assert shape.tools[0]["input"] == {"type": "object", "properties": {}}
    assert shape.request["tool_choice"] == {"name": name}
    assert messages[1]["tool_calls"][0]["id"] == OURS


def test_a_choice_of_a_tool_that_is_not_offered_is_none() -> None:
    tools = [{"name": "look", "description": ""}]

    shape = shaped(
        {"messages": [], "tools": tools, "tool_choice": {"name": "gone"}}, takes_turns=True
    )

    assert shape.request["tool_choice"] == "auto"


def test_tools_that_only_the_history_has_are_declared_for_who_wants_that() -> None:
    messages = [
        said("user", "x"),
        {"role": "assistant", "tool_calls": [call("a"), call("b"), call("c", "go")]},
    ]
    request = {"messages": messages}

    assert [one["name"] for one in withdrawn_tools(shaped(request, takes_turns=True))] == [
        "look",
        "go",
    ]
    offered = {**request, "tools": [{"name": "look", "description": ""}]}
    assert withdrawn_tools(shaped(offered, takes_turns=True)) == []
