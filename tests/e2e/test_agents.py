"""Agents as their admin writes, reads and deletes them."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.client import Client
from e2e.scripted_worker import tool
from e2e.test_bad_input import refusal

INVALID_SCHEMA = "invalid_tool_schema"


def test_an_agent_is_written_read_replaced_and_deleted(client: Client) -> None:
    first = {"model": "demo", "system": "one", "decides": "engine"}
    second = {"model": "demo", "system": "two", "decides": "engine"}
    path = "/v1/agents/writer"

    answers = [
        client.http.get(path),
        client.http.put(path, json=first),
        client.http.get(path),
        client.http.put(path, json=second),
        client.http.get(path),
        client.http.delete(path),
        client.http.get(path),
        client.http.delete(path),
    ]

    assert [one.status_code for one in answers] == [404, 201, 200, 200, 200, 200, 404, 404]
    assert answers[2].json() == {"agent_id": "writer", **first}
    assert answers[4].json() == {"agent_id": "writer", **second}
    assert answers[7].json()["code"] == "unknown_agent"


def test_a_session_of_a_deleted_agent_goes_on_without_its_worker(client: Client) -> None:
    ended = client.run('[[call:convert {"value":1,"from":"m","to":"cm"}]]')
    client.http.delete("/v1/agents/demo")

    again = client.run("still here?", ended.session_id)

    assert again.answer == "echo: still here?"


def test_a_secret_of_a_worker_is_shown_as_its_place_only(client: Client) -> None:
    written = client.put_agent(
        "signed", worker="https://worker.example/decide", worker_secret={"env": "WORKER_SECRET"}
    )

    shown = client.http.get("/v1/agents/signed").json()

    assert written.status_code == 201
    assert shown["worker_secret"] == {"env": "WORKER_SECRET"}


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"model": ...}, "schema_violation", "/model"),
        ({"model": 5}, "schema_violation", "/model"),
        ({"model": ""}, "schema_violation", "/model"),
        ({"model": "nobody:model"}, "schema_violation", "/model"),
        ({"temperature": "hot"}, "schema_violation", "/temperature"),
        ({"colour": "red"}, "schema_violation", "/colour"),
        ({"tools": [{"description": "x"}]}, "schema_violation", "/tools/0/name"),
        ({"tools": [tool("a b")]}, "schema_violation", "/tools/0/name"),
        ({"tools": [tool("a"), tool("a")]}, "duplicate_tool_name", "/tools/1/name"),
        ({"tools": [tool("a") | {"effect": "danger"}]}, "schema_violation", "/tools/0/effect"),
        ({"tools": [tool("a") | {"handler": "server"}]}, "invalid_handler", "/tools/0/handler"),
        ({"tools": [tool("a") | {"input": {"type": "no"}}]}, INVALID_SCHEMA, "/tools/0/input/type"),
        ({"tools": [tool("a") | {"output": {"type": 5}}]}, INVALID_SCHEMA, "/tools/0/output/type"),
        (
            {"tools": [tool("a", "non_idempotent_write", retry={"max_retries": 3})]},
            "schema_violation",
            "/tools/0/retry",
        ),
        ({"retry": {"max_retries": 3}}, "schema_violation", "/retry"),
        ({"worker": "ftp://x"}, "schema_violation", "/worker"),
        ({"decides": "worker"}, "schema_violation", "/decides"),
        ({"worker_secret": {"env": "X"}}, "schema_violation", "/worker_secret"),
        ({"handler": "client"}, "invalid_handler", "/handler"),
        ({"handler": "worker"}, "schema_violation", "/handler"),
        ({"format": {"type": "x"}}, "schema_violation", "/format"),
    ],
)
def test_a_bad_definition_is_refused_and_told_where(
    client: Client, changes: dict[str, Any], code: str, path: str
) -> None:
    whole = {"model": "demo", "decides": "engine", **changes}
    body = {name: value for name, value in whole.items() if value is not ...}

    response = client.http.put("/v1/agents/bad", json=body)

    assert refusal(response) == (400, code)
    assert response.json()["message"].startswith(path)
    assert client.http.get("/v1/agents/bad").status_code == 404


@pytest.mark.parametrize(
    "changes",
    [
        {"guards": {"supervisor": {}}},
        {"plan_mode": True},
        {"compaction": {"threshold": 0.5}},
        {"builtins": ["ask_user"]},
        {"mcp": [{"name": "m", "url": "https://mcp.example"}]},
        {"hooks": ["step.start"]},
        {"models": {"big": "demo"}},
        {"approve_writes": True},
        {"tools": [tool("a") | {"approval": "always"}]},
    ],
    ids=str,
)
def test_a_wish_that_is_not_granted_yet_is_refused_plainly(
    client: Client, changes: dict[str, Any]
) -> None:
    body = {"model": "demo", "decides": "engine", **changes}

    response = client.http.put("/v1/agents/eager", json=body)

    assert refusal(response) == (400, "unsupported")
    assert client.http.get("/v1/agents/eager").status_code == 404


@pytest.mark.parametrize("path", ["a%20b", "a%2Fb", "x" * 201])
def test_an_agents_id_of_the_wrong_spelling_is_refused(client: Client, path: str) -> None:
    response = client.http.put(f"/v1/agents/{path}", json={"model": "demo"})

    assert refusal(response) in {(400, "invalid_id"), (404, "not_found")}


def test_a_definition_over_the_limit_is_refused(client: Client) -> None:
    response = client.put_agent("huge", system="x" * (2 * 1024 * 1024))

    assert refusal(response) == (413, "too_large")


def test_a_large_definition_works(client: Client) -> None:
    client.put_agent("large", system="x" * 1_500_000)

    ended = client.run("[[say:fine]]", agent_id="large")

    assert ended.answer == "fine"
