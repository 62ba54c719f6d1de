"""Tools, agents and files of runs over sockets: registered tools, time that passes, attachments."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from e2e.client import Client, Turn
from e2e.run_paths import ended, start, until_call, workspace
from e2e.scripted_worker import ScriptedWorker, result
from e2e.stage import Setup
from e2e.timers import wait_for_timer
from everturn_local.runtime import LocalRuntime

LOOK = {"name": "look", "description": "Look.", "effect": "read"}


@pytest.fixture(scope="module")
def setup() -> Setup:
    """A runtime of its own: its clock is moved."""
    return Setup(name="runs whose time passes")


def register(client: Client, worker: ScriptedWorker, agent_id: str = "runs", **more: Any) -> None:
    """Register tools that a worker of the tenant runs."""
    given = client.put_agent(agent_id, model="demo:demo", worker=worker.url, tools=[LOOK], **more)
    assert given.status_code in {200, 201}, given.text


@pytest.mark.parametrize(
    "ref",
    [
        {"kind": "mantyx", "id": "look"},
        {"kind": "mantyx_plugin", "name": "look"},
        {"kind": "mantyx_plugin", "name": "@acme/look"},
    ],
)
def test_a_registered_tool_is_run_by_the_tenants_worker(
    client: Client, worker: ScriptedWorker, ref: dict[str, Any]
) -> None:
    register(client, worker)
    worker.plays("look", result("a view"))
    path = start(client, prompt='[[call:look {"at": 1}]][[say:{{result}}]]', tools=[ref])

    frames = ended(client, path)

    kinds = [frame["type"] for frame in frames if not frame["type"].endswith("_delta")]
    assert kinds == [
        "started",
        "assistant_message",
        "tool_call",
        "tool_result",
        "assistant_message",
        "result",
    ]
    (asked,) = [frame for frame in frames if frame["type"] == "tool_call"]
    (told,) = [frame for frame in frames if frame["type"] == "tool_result"]
    assert (asked["name"], asked["args"]) == ("look", {"at": 1})
    assert (told["result"], told["ok"], told["toolUseId"]) == (
        "a view",
        True,
        asked["toolUseId"],
    )
    assert frames[-1]["text"] == "a view"


def test_a_tool_that_is_not_registered_is_named(client: Client) -> None:
    body = {"prompt": "x", "tools": [{"kind": "mantyx", "id": "nope"}]}

    answer = client.http.post(workspace(client, "agent-runs"), json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert "nope" in answer.json()["message"]
    assert answer.json()["message"].startswith("/tools/0/id")


def test_a_run_of_an_agent_has_its_instructions_and_its_tools(
    client: Client, worker: ScriptedWorker
) -> None:
    register(client, worker, "scout", system="Scout ahead.")
    worker.plays("look", result("trees"))
    path = start(
        client,
        agentId="scout",
        prompt="[[call:look]][[say:{{system}} {{tools}} {{result}}]]",
        tools=[{"kind": "local", "name": "mine"}],
    )

    frames = ended(client, path)

    assert frames[-1]["text"] == "Scout ahead. look, mine trees"


def test_an_unknown_agent_is_not_found(client: Client) -> None:
    answer = client.http.post(
        workspace(client, "agent-runs"), json={"prompt": "x", "agentId": "nobody"}
    )

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_agent")


def test_a_local_tool_that_is_not_answered_times_out_and_the_model_goes_on(
    client: Client, runtime: LocalRuntime
) -> None:
    path = start(
        client,
        prompt="[[call:slow]][[say:{{result}}]]",
        tools=[{"kind": "local", "name": "slow"}],
    )
    call = until_call(client, path)
    session_id = next(iter(client.touched))
    wait_for_timer(runtime, Turn(session_id, path.rpartition("/")[2]))

    runtime.skip_time(301)
    frames = ended(client, path)

    (back,) = [frame for frame in frames if frame["type"] == "local_tool_result_in"]
    assert back["toolUseId"] == call["toolUseId"]
    assert "Timed out waiting" in back["error"]
    assert frames[-1]["type"] == "result"
    assert "Timed out waiting" in frames[-1]["text"]
    late = client.http.post(
        f"{path}/tool-results", json={"toolUseId": call["toolUseId"], "result": "late"}
    )
    assert (late.status_code, late.json()["code"]) == (409, "run_terminal")


def test_files_come_with_a_message_and_are_told_of_without_their_bytes(client: Client) -> None:
    made = client.http.post(workspace(client, "agent-sessions"), json={"systemPrompt": "Be kind."})
    session_id = made.json()["sessionId"]
    client.touched[session_id] = None
    content = base64.b64encode(b"%PDF-1.7 hello").decode()
    message = {
        "role": "user",
        "content": "[[say:{{files}}]]",
        "attachments": [
            {
                "type": "input_file",
                "mimeType": "application/pdf",
                "filename": "report.pdf",
                "data": content,
            }
        ],
    }
    sent = client.http.post(
        workspace(client, f"agent-sessions/{session_id}/messages"), json={"messages": [message]}
    )
    frames = ended(client, sent.json()["streamUrl"].removesuffix("/stream"))

    replay = client.http.get(workspace(client, f"agent-sessions/{session_id}/events")).json()

    assert frames[-1]["text"] == "report.pdf"
    (asked,) = [one for one in replay["events"] if one["type"] == "user_message"]
    assert asked["attachments"] == [
        {
            "type": "input_file",
            "mimeType": "application/pdf",
            "filename": "report.pdf",
            "size": 14,
        }
    ]
    assert content not in str(replay)


def test_a_file_of_a_kind_that_is_not_taken_is_named(client: Client) -> None:
    attachment = {
        "type": "input_file",
        "mimeType": "application/x-msdownload",
        "filename": "a.exe",
        "data": "AAAA",
    }
    message = {"role": "user", "content": "x", "attachments": [attachment]}

    answer = client.http.post(workspace(client, "agent-runs"), json={"messages": [message]})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert answer.json()["message"].startswith("/messages/0/attachments/0/mimeType")
