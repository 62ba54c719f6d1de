"""The published Python client of the runs API, its async half, over sockets: MCP, sessions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from mantyx import (
    AsyncMantyxClient,
    MantyxError,
    MantyxRunError,
    define_local_mcp,
    define_local_tool,
)
from mantyx.tools import collect_local_handlers

from e2e.client import Client
from e2e.runs_client import KIND, check_stream, note_sessions, of_type

Story = Callable[[AsyncMantyxClient], Coroutine[Any, Any, Any]]


def played(client: Client, story: Story) -> Any:
    """Play a story with the published client and return what it returns."""

    async def play() -> Any:
        async with AsyncMantyxClient(
            api_key=client.api_key, workspace_slug=client.tenant, base_url=client.http_url
        ) as runs:
            return await story(runs)

    return asyncio.run(play())


def test_a_run_with_an_async_tool(client: Client) -> None:
    async def look(args: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return f"seen {args['place']}"

    async def story(runs: AsyncMantyxClient) -> Any:
        return await runs.run_agent(
            system_prompt=KIND,
            prompt='[[call:look {"place": "attic"}]][[say:{{result}}]]',
            tools=[define_local_tool(name="look", execute=look)],
        )

    result = played(client, story)

    note_sessions(client, result.run_id)
    check_stream(result.events)
    assert result.text == "seen attic"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('[[call:fs_read_file {"path": "/etc/hosts"}]]', "content of /etc/hosts"),
        ("[[call:fs_fail]]", "ERROR: Local tool 'fs/fs_fail' failed"),
    ],
)
def test_a_local_mcp_server_is_asked_by_the_caller(client: Client, script: str, said: str) -> None:
    async def story(runs: AsyncMantyxClient) -> Any:
        path = Path(__file__).parent / "mcp_files.py"
        server = define_local_mcp(name="fs", command=sys.executable, args=[str(path)])
        return await runs.run_agent(
            system_prompt=KIND, prompt=f"{script}[[say:{{{{result}}}}]]", tools=[server]
        )

    result = played(client, story)

    note_sessions(client, result.run_id)
    assert said in result.text
    (call,) = of_type(result.events, "local_tool_call")
    assert (call["kind"], call["mcpServer"]) == ("mcp_local", "fs")
    assert call["mcpToolName"] == call["name"]
    assert call["mcpServerInfo"]["name"] == "files"


def test_a_session_remembers_and_is_found_by_its_metadata(client: Client) -> None:
    async def story(runs: AsyncMantyxClient) -> Any:
        session = await runs.create_session(
            system_prompt=KIND, name="desk", metadata={"customer": "acme", "env": "test"}
        )
        other = await runs.create_session(system_prompt=KIND, metadata={"customer": "other"})
        client.touched[session.id] = client.touched[other.id] = None
        first = await session.send("[[say:I am {{system}}]]")
        second = await session.send("[[say:before you said: {{prev}}]]")
        found = await runs.list_sessions(metadata={"customer": "acme", "env": "test"})
        info, events = await session.info(), await session.events()
        page = await session.events_page(last_messages=1)
        older = await session.events_page(last_messages=3, before_seq=page.next_before_seq)
        await session.end()
        ended = await runs.list_sessions(status="ended")
        with pytest.raises(MantyxError) as late:
            await session.send("anybody?")
        return session.id, first, second, found, info, events, page, older, ended, late.value

    told = played(client, story)

    session_id, first, second, found, info, events, page, older, ended, late = told
    assert first.text == "I am Be kind."
    assert second.text == "before you said: [[say:I am {{system}}]]"
    assert [one.session_id for one in found.sessions] == [session_id]
    assert found.total == 1
    assert found.sessions[0].summary == "desk"
    assert (info.status, info.name, info.metadata["env"]) == ("active", "desk", "test")
    assert info.agent_spec["systemPrompt"] == KIND
    assert [one["role"] for one in info.messages] == ["user", "assistant"] * 2
    assert [one.type for one in events] == ["user_message", "assistant_message"] * 2
    assert [one.data["text"] for one in page.events] == [second.text]
    assert page.truncated
    assert page.total == 4
    assert [one.type for one in older.events] == [
        "user_message",
        "assistant_message",
        "user_message",
    ]
    assert not older.truncated
    assert [one.session_id for one in ended.sessions] == [session_id]
    assert late.status == 409


def test_what_a_message_says_otherwise_holds_for_its_run_alone(client: Client) -> None:
    async def story(runs: AsyncMantyxClient) -> Any:
        session = await runs.create_session(system_prompt=KIND, reasoning_level="low")
        client.touched[session.id] = None
        script = "[[say:{{reasoning}}]]"
        texts = [(await session.send(script)).text]
        texts.append((await session.send(script, reasoning_level="high")).text)
        texts.append((await session.send(script)).text)
        return texts

    low, high, again = played(client, story)

    assert low == again
    assert int(high) > int(low)


async def sent(runs: AsyncMantyxClient, session_id: str, prompt: str) -> str:
    """Send a message to a session, and return its run; nobody waits for it."""
    path = f"/agent-sessions/{session_id}/messages"
    answer = await runs._request("POST", path, {"prompt": prompt})
    assert answer is not None
    return str(answer["runId"])


async def driven(runs: AsyncMantyxClient, run_id: str) -> Any:
    """Return what comes of a run."""
    return await runs._drive_run(run_id=run_id, handlers=collect_local_handlers(None))


def test_messages_that_come_while_a_run_is_open_wait_in_their_order(client: Client) -> None:
    async def story(runs: AsyncMantyxClient) -> Any:
        session = await runs.create_session(system_prompt=KIND)
        client.touched[session.id] = None
        run_ids = [
            await sent(runs, session.id, f"[[say:{name}]][[sleep:400]][[say:, {{{{messages}}}}]]")
            for name in ("one", "two", "three")
        ]
        waiting = await runs._request("GET", f"/agent-runs/{run_ids[2]}")
        assert waiting is not None
        results = await asyncio.gather(*(driven(runs, run_id) for run_id in run_ids))
        return waiting["status"], results

    status, results = played(client, story)

    assert status == "queued"
    assert [one.text.partition(",")[0] for one in results] == ["one", "two", "three"]
    counts = [int(one.text.rpartition(" ")[2]) for one in results]
    assert counts == [counts[0], counts[0] + 2, counts[0] + 4]
    for one in results:
        check_stream(one.events)


def test_a_run_that_waits_can_be_cancelled(client: Client) -> None:
    async def story(runs: AsyncMantyxClient) -> Any:
        session = await runs.create_session(system_prompt=KIND)
        client.touched[session.id] = None
        first = await sent(runs, session.id, "[[say:a]][[sleep:700]][[say:b]]")
        waiting = await sent(runs, session.id, "never")
        await runs.cancel_run(waiting)
        with pytest.raises(MantyxRunError) as stopped:
            await driven(runs, waiting)
        return stopped.value.subtype, (await driven(runs, first)).text

    assert played(client, story) == ("cancelled", "ab")


def test_a_session_that_ends_takes_its_runs_along(client: Client) -> None:
    async def story(runs: AsyncMantyxClient) -> Any:
        session = await runs.create_session(system_prompt=KIND)
        client.touched[session.id] = None
        run_ids = [await sent(runs, session.id, "[[sleep:60000]]x") for _ in range(2)]
        await session.end()
        ends = []
        for run_id in run_ids:
            with pytest.raises(MantyxRunError) as stopped:
                await driven(runs, run_id)
            ends.append(stopped.value.subtype)
        return ends

    assert played(client, story) == ["cancelled", "cancelled"]
