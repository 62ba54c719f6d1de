"""Runs over plain HTTP: start one, read its stream answer by answer, to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import httpx

from e2e.client import Client

ENDS: Final = {"result", "error", "cancelled"}


def workspace(client: Client, path: str) -> str:
    """Return a path of the runs API."""
    return f"/api/v1/workspaces/{client.tenant}/{path}"


def start(client: Client, **body: Any) -> str:
    """Start a run; return its path."""
    given = client.http.post(workspace(client, "agent-runs"), json=body)
    assert given.status_code == httpx.codes.ACCEPTED, given.text
    told = given.json()
    client.touched[told["sessionId"]] = None
    path: str = told["streamUrl"]
    return path.removesuffix("/stream")


def window(client: Client, path: str, after: int = 0) -> list[dict[str, Any]]:
    """Read one answer of a run's stream: its frames."""
    headers = {"accept": "text/event-stream"}
    query = {}
    if after:
        headers["last-event-id"], query["lastSeq"] = str(after), str(after)
    answer = client.http.get(f"{path}/stream", headers=headers, params=query)
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.text.endswith("\n\n")
    return [
        json.loads(line.removeprefix("data: "))
        for line in answer.text.splitlines()
        if line.startswith("data: ")
    ]


def windows(client: Client, path: str) -> Iterator[list[dict[str, Any]]]:
    """Read a run's stream to its end, answer by answer."""
    after = 0
    while True:
        frames = window(client, path, after)
        yield frames
        if frames:
            after = frames[-1]["seq"]
            if frames[-1]["type"] in ENDS:
                return


def ended(client: Client, path: str) -> list[dict[str, Any]]:
    """Return all frames of a run once it has ended."""
    return [frame for answer in windows(client, path) for frame in answer]


def until_call(client: Client, path: str) -> dict[str, Any]:
    """Return the first call of a local tool, once it is there."""
    for frames in windows(client, path):
        for frame in frames:
            if frame["type"] == "local_tool_call":
                return frame
    raise AssertionError("the run ended without a call of a local tool")
