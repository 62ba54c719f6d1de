"""The seven kinds of tool references, and that no two become tools of one name."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.runs.bodies import read_run
from everturn.protocol.runs.tool_refs import names_of
from unit.protocol.runs.shapes import (
    ALL_TOOLS,
    CATALOGUE,
    LOCAL,
    PEER,
    PLUGIN,
    REGISTERED,
    REMOTE_CATALOGUE,
    REMOTE_PEER,
    refusal,
)


def with_tools(*refs: Any) -> dict[str, Any]:
    return {"prompt": "Hi", "tools": list(refs)}


@pytest.mark.parametrize("ref", ALL_TOOLS, ids=lambda ref: ref["kind"])
def test_each_kind_is_kept_as_it_came(ref: dict[str, Any]) -> None:
    assert read_run(with_tools(ref)).spec == {"tools": [ref]}


@pytest.mark.parametrize(
    "ref",
    [
        {"kind": "local", "name": "t"},
        {"kind": "local", "name": "T_9", "parameters": [], "outputSchema": "x"},
        {"kind": "local", "name": "t", "parameters": False, "description": ""},
        {"kind": "a2a_local", "name": "t", "agentCard": {}, "description": "Mine."},
        {"kind": "mcp_local", "name": "my server", "tools": []},
        {"kind": "mcp_local", "name": "s", "tools": [{"name": "t", "inputSchema": 3}]},
        {"kind": "mcp_local", "name": "s", "tools": [{"name": "t", "title": "T", "x": None}]},
        {"kind": "mantyx_plugin", "name": "search-repos"},
        {"kind": "mantyx_plugin", "name": "@a-b.c/search_repos"},
        {"kind": "mantyx", "id": "tool_clx 1"},
        {"kind": "a2a", "name": "t", "agentCardUrl": "http://localhost:9/"},
        {"kind": "mcp", "name": "t", "url": "https://a.b"},
    ],
)
def test_each_kind_needs_little(ref: dict[str, Any]) -> None:
    assert read_run(with_tools(ref)).spec == {"tools": [ref]}


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("local", "/tools/0: "),
        ({"name": "t"}, "/tools/0: kind is required"),
        ({"kind": "shell"}, "/tools/0: unknown kind; known: local, a2a_local, mcp_local, mantyx"),
        ({"kind": "local"}, "/tools/0/name: is required"),
        ({**LOCAL, "name": ""}, "/tools/0/name: "),
        ({**LOCAL, "name": "send-email"}, "/tools/0/name: "),
        ({**LOCAL, "name": "send.email"}, "/tools/0/name: "),
        ({**LOCAL, "name": "größe"}, "/tools/0/name: "),
        ({**LOCAL, "name": "t\n"}, "/tools/0/name: "),
        ({**LOCAL, "description": 1}, "/tools/0/description: "),
        ({**LOCAL, "longRunning": "yes"}, "/tools/0/longRunning: "),
        ({"kind": "a2a_local", "name": "t"}, "/tools/0/agentCard: is required"),
        ({**PEER, "agentCard": None}, "/tools/0/agentCard: should be an object"),
        ({**PEER, "agentCard": "https://a.b"}, "/tools/0/agentCard: should be an object"),
        ({**PEER, "name": "h-r"}, "/tools/0/name: "),
        ({"kind": "mcp_local", "name": "s"}, "/tools/0/tools: is required"),
        ({**CATALOGUE, "name": ""}, "/tools/0/name: "),
        ({**CATALOGUE, "tools": {}}, "/tools/0/tools: should be a list"),
        ({**CATALOGUE, "tools": [{}]}, "/tools/0/tools/0/name: is required"),
        ({**CATALOGUE, "tools": [{"name": "a-b"}]}, "/tools/0/tools/0/name: "),
        ({**CATALOGUE, "serverInfo": "x"}, "/tools/0/serverInfo: should be an object"),
        (
            {**CATALOGUE, "tools": [{"name": "t", "annotations": []}]},
            "/tools/0/tools/0/annotations: should be an object",
        ),
        ({"kind": "mantyx"}, "/tools/0/id: is required"),
        ({**REGISTERED, "id": ""}, "/tools/0/id: "),
        ({**REGISTERED, "id": 7}, "/tools/0/id: "),
        ({**PLUGIN, "name": ""}, "/tools/0/name: "),
        ({**PLUGIN, "name": "@github"}, "/tools/0/name: "),
        ({**PLUGIN, "name": "@github/a/b"}, "/tools/0/name: "),
        ({**PLUGIN, "name": "github/a"}, "/tools/0/name: "),
        ({**PLUGIN, "name": "@" + "x" * 140 + "/" + "y" * 60}, "/tools/0/name: "),
        ({**REMOTE_PEER, "agentCardUrl": "ftp://a"}, "/tools/0/agentCardUrl: "),
        ({**REMOTE_PEER, "headers": {"a": 1}}, "/tools/0/headers/a: "),
        ({**REMOTE_CATALOGUE, "url": "a.b"}, "/tools/0/url: "),
        ({**REMOTE_CATALOGUE, "url": "https://a.b/" + "x" * 2048}, "/tools/0/url: "),
        ({**REMOTE_CATALOGUE, "toolFilter": [1]}, "/tools/0/toolFilter/0: "),
    ],
)
def test_what_a_kind_needs_is_asked_for_by_its_path(ref: Any, told: str) -> None:
    assert refusal(read_run, with_tools(ref)).startswith(told)


def test_the_place_of_a_bad_reference_is_told() -> None:
    assert refusal(read_run, with_tools(LOCAL, {**PEER, "name": "-"})).startswith("/tools/1/name: ")


@pytest.mark.parametrize(
    ("refs", "told"),
    [
        ([LOCAL, LOCAL], "/tools/1/name: /tools/0/name has"),
        ([LOCAL, {**PEER, "name": "send_email"}], "/tools/1/name: /tools/0/name has"),
        (
            [{**LOCAL, "name": "fs_roots"}, CATALOGUE],
            "/tools/1/tools/1/name: /tools/0/name has",
        ),
        (
            [CATALOGUE, {**CATALOGUE, "name": "other"}],
            "/tools/1/tools/0/name: /tools/0/tools/0/name has",
        ),
        (
            [{**CATALOGUE, "tools": [{"name": "t"}, {"name": "t"}]}],
            "/tools/0/tools/1/name: /tools/0/tools/0/name has",
        ),
        ([REGISTERED, REGISTERED], "/tools/1/id: /tools/0/id has"),
        (
            [{"kind": "mantyx", "id": "search_repos"}, PLUGIN],
            "/tools/1/name: /tools/0/id has",
        ),
        (
            [PLUGIN, {**PLUGIN, "name": "@gitlab/search_repos"}],
            "/tools/1/name: /tools/0/name has",
        ),
        ([REMOTE_PEER, {**LOCAL, "name": "peer"}], "/tools/1/name: /tools/0/name has"),
    ],
)
def test_two_tools_of_one_name_are_refused_and_both_named(
    refs: list[dict[str, Any]], told: str
) -> None:
    assert refusal(read_run, with_tools(*refs)) == f"{told} the same name; each should be its own"


def test_a_label_of_a_server_is_no_name_of_a_tool() -> None:
    refs = [{**LOCAL, "name": "fs"}, CATALOGUE, {**REMOTE_CATALOGUE, "name": "fs"}]

    read_run(with_tools(*refs))

    assert [name for name, _ in names_of(refs)] == ["fs", "fs_read_file", "fs_roots"]
