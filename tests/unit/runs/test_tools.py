"""Tool references become tools of the core; a call takes back what its caller needs to run it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from everturn.protocol.agent import AgentTool
from everturn.rejections import InvalidRequest, NotYetSupported
from everturn.runs.tools import LONG_RUNNING, MAX_SKILLS, echo_of, tools_of
from unit.protocol.runs.shapes import (
    CARD,
    CATALOGUE,
    EMPTY,
    LOCAL,
    PEER,
    PLUGIN,
    REGISTERED,
    REMOTE_CATALOGUE,
    REMOTE_PEER,
)

RUN_BY_CALLER = {
    "handler": "client",
    "overlap": False,
    "retry": {
        "timeout_secs": 300,
        "max_retries": 1,
        "backoff_base_secs": 0,
        "backoff_max_secs": 0,
    },
}
TENANTS: dict[str, dict[str, Any]] = {
    "tool_1": {"name": "tool_1", "input": EMPTY, "handler": "worker"},
    "search_repos": {"name": "search_repos", "effect": "read"},
}
MINE: dict[str, Any] = {"kind": "local", "name": "t"}


def only(ref: dict[str, Any]) -> dict[str, Any]:
    """Return the one tool that a reference brings along, which the core takes."""
    (tool,) = tools_of([ref], TENANTS)
    AgentTool.model_validate(tool)
    return tool


def test_a_local_tool_is_the_clients() -> None:
    tool = only({**MINE, "description": "Does it.", "parameters": LOCAL["parameters"]})

    assert tool == {
        "name": "t",
        "description": "Does it.",
        "input": LOCAL["parameters"],
        **RUN_BY_CALLER,
    }


def test_a_local_tool_needs_no_more_than_a_name() -> None:
    assert only(MINE) == {"name": "t", "description": "", "input": EMPTY, **RUN_BY_CALLER}


def test_all_that_is_said_of_a_local_tool_is_in_its_description() -> None:
    output = LOCAL["outputSchema"]

    tool = only(LOCAL)

    assert tool["output"] == output
    assert tool["description"] == "\n\n".join(
        [
            "Send a mail.",
            f"Returns JSON that fits this schema: {json.dumps(output, separators=(',', ':'))}",
            LONG_RUNNING,
        ]
    )


def test_the_hint_of_a_long_running_tool_is_the_one_that_is_fixed() -> None:
    tool = only({**MINE, "longRunning": True})

    assert tool["description"] == (
        "NOTE: This is a long-running operation. Do not call this tool again if it has already "
        "returned an intermediate or pending status."
    )


@pytest.mark.parametrize(
    "parameters",
    [None, {}, [], "x", 3, True, {"type": "array"}, {"type": ["object"]}, {"properties": {}}],
)
def test_parameters_that_are_no_object_schema_become_an_empty_one(parameters: Any) -> None:
    assert only({**MINE, "parameters": parameters})["input"] == EMPTY


@pytest.mark.parametrize("output", [None, {}, [], "x", True, {"type": "string"}])
def test_an_output_schema_that_is_no_object_schema_is_dropped(output: Any) -> None:
    tool = only({**MINE, "outputSchema": output})

    assert ("output" in tool, tool["description"]) == (False, "")


def test_a_long_output_schema_is_not_spelled_out() -> None:
    output = {"type": "object", "title": "x" * 4000}

    tool = only({**MINE, "outputSchema": output})

    assert (tool["output"], tool["description"]) == (output, "")


def test_a_local_tool_that_only_reads_may_overlap() -> None:
    assert only({**MINE, "readOnly": True})["overlap"] is True
    assert only({**MINE, "readOnly": False})["overlap"] is False


def test_a_peer_is_described_by_its_card() -> None:
    tool = only(PEER)

    assert tool == {
        "name": "hr",
        "description": (
            "Delegate a task to Acme HR: Answers questions about HR.\n"
            "- PTO lookup: Finds days left.\n"
            "- Payslips"
        ),
        "input": tool["input"],
        **RUN_BY_CALLER,
        "overlap": True,
    }
    assert tool["input"]["required"] == ["message"]
    assert tool["input"]["properties"]["message"]["type"] == "string"


def test_a_description_of_the_reference_is_the_only_one() -> None:
    assert only({**PEER, "description": "Ask HR."})["description"] == "Ask HR."


@pytest.mark.parametrize(
    ("card", "description"),
    [
        ({}, "Delegate a task to hr"),
        ({"name": "A"}, "Delegate a task to A"),
        ({"description": "Helps."}, "Delegate a task to hr: Helps."),
        ({"name": 3, "description": [], "skills": "x"}, "Delegate a task to hr"),
        ({"skills": [3, {}, {"id": "a"}, {"name": " "}]}, "Delegate a task to hr\n- a"),
        ({"skills": [{"name": "a", "description": 1}]}, "Delegate a task to hr\n- a"),
    ],
)
def test_a_card_may_lack_anything(card: dict[str, Any], description: str) -> None:
    assert only({**PEER, "agentCard": card})["description"] == description


def test_the_first_skills_are_named() -> None:
    card = {"skills": [{"name": f"s{at}"} for at in range(MAX_SKILLS + 1)]}

    lines = only({**PEER, "agentCard": card})["description"].splitlines()

    assert lines[1:] == [f"- s{at}" for at in range(MAX_SKILLS)]


def test_a_catalogue_is_as_many_tools_with_their_own_names() -> None:
    tools = tools_of([CATALOGUE], {})

    assert tools == [
        {
            "name": "fs_read_file",
            "description": "Read a file.",
            "input": CATALOGUE["tools"][0]["inputSchema"],
            **RUN_BY_CALLER,
            "overlap": True,  # its hints say that it only reads
        },
        {"name": "fs_roots", "description": "", "input": {"type": "object"}, **RUN_BY_CALLER},
    ]


BAD: dict[str, Any] = {"type": "object", "properties": {"a": {"type": 3}}}
LOOP: dict[str, Any] = {"type": "object", "$ref": "#/$defs/a"}


@pytest.mark.parametrize("schema", [{"inputSchema": None}, {"inputSchema": {}}, {}])
def test_a_catalogued_tool_without_a_schema_takes_no_arguments(schema: dict[str, Any]) -> None:
    ref = {**CATALOGUE, "tools": [{"name": "t", **schema}]}

    assert only(ref) == {"name": "t", "description": "", **RUN_BY_CALLER}


def test_a_catalogued_schema_that_is_none_of_an_object_becomes_an_empty_one() -> None:
    ref = {**CATALOGUE, "tools": [{"name": "t", "inputSchema": {"type": "string"}}]}

    assert only(ref)["input"] == EMPTY


@pytest.mark.parametrize(
    "schema", [BAD, LOOP, {**BAD, "$schema": "https://json-schema.org/draft-07/schema"}]
)
def test_a_catalogued_schema_goes_on_as_its_server_made_it(schema: dict[str, Any]) -> None:
    ref = {**CATALOGUE, "tools": [{"name": "t", "inputSchema": schema}]}

    assert only(ref)["input"] == schema


def test_a_catalogued_schema_without_a_type_is_one_of_an_object() -> None:
    ref = {**CATALOGUE, "tools": [{"name": "t", "inputSchema": {"required": ["a"]}}]}

    assert only(ref)["input"] == {"type": "object", "required": ["a"]}


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        (REGISTERED, "tool_1"),
        (PLUGIN, "search_repos"),
        ({**PLUGIN, "name": "search_repos"}, "search_repos"),
    ],
)
def test_a_registered_tool_is_the_tenants(ref: dict[str, Any], name: str) -> None:
    assert only(ref) == TENANTS[name]


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ({**REGISTERED, "id": "tool_2"}, "/tools/1/id: there is no registered tool tool_2"),
        ({**PLUGIN, "name": "@a/b"}, "/tools/1/name: there is no registered tool b"),
    ],
)
def test_a_tool_that_nobody_registered_is_named(ref: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        tools_of([MINE, ref], TENANTS)

    assert refused.value.message == told


@pytest.mark.parametrize("ref", [REMOTE_PEER, REMOTE_CATALOGUE])
def test_remote_sides_are_not_called_yet(ref: dict[str, Any]) -> None:
    with pytest.raises(NotYetSupported) as refused:
        tools_of([MINE, ref], {})

    assert refused.value.message == f"/tools/1: tools of kind {ref['kind']} are not run yet"
    assert refused.value.hint


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ({**MINE, "parameters": BAD}, "/tools/0/parameters/properties/a/type: "),
        ({**MINE, "parameters": LOOP}, "/tools/0/parameters"),
        ({**MINE, "parameters": {"type": "object", "required": 3}}, "/tools/0/parameters/req"),
        ({**MINE, "outputSchema": BAD}, "/tools/0/outputSchema/properties/a/type: "),
        (
            {**MINE, "parameters": {"type": "object", "title": "x" * 300_000}},
            "/tools/0/parameters: the schema is larger than",
        ),
    ],
)
def test_a_schema_that_does_not_compile_is_named(ref: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        tools_of([ref], {})

    assert refused.value.message.startswith(told)


REFS = [LOCAL, PEER, CATALOGUE, REGISTERED, PLUGIN]


@pytest.mark.parametrize(
    ("name", "echo"),
    [
        ("send_email", {"kind": "local"}),
        ("hr", {"kind": "a2a_local", "agentCard": CARD}),
        (
            "fs_read_file",
            {
                "kind": "mcp_local",
                "mcpServer": "fs",
                "mcpToolName": "fs_read_file",
                "mcpServerInfo": CATALOGUE["serverInfo"],
                "annotations": CATALOGUE["tools"][0]["annotations"],
            },
        ),
        (
            "fs_roots",
            {
                "kind": "mcp_local",
                "mcpServer": "fs",
                "mcpToolName": "fs_roots",
                "mcpServerInfo": CATALOGUE["serverInfo"],
            },
        ),
        ("fs", None),
        ("tool_1", None),
        ("search_repos", None),
        ("unheard_of", None),
    ],
)
def test_a_call_takes_back_what_the_caller_sent_of_its_tool(
    name: str, echo: dict[str, Any] | None
) -> None:
    assert echo_of(REFS, name) == echo


def test_a_server_that_said_nothing_of_itself_is_not_quoted() -> None:
    ref = {"kind": "mcp_local", "name": "s", "tools": [{"name": "t"}]}

    assert echo_of([ref], "t") == {"kind": "mcp_local", "mcpServer": "s", "mcpToolName": "t"}
