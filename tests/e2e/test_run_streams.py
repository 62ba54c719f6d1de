"""The stream of a run over sockets: windows, cursors, drops, ends that are read again. F28."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from e2e.client import Client
from e2e.waiting import until

ENDS = {"result", "error", "cancelled"}


@pytest.fixture
def short_windows(client: Client, monkeypatch: pytest.MonkeyPatch) -> float:
    """Have streams of the client's runtime close after a second without news."""
    from everturn.commands.read_run import ReadRun  # noqa: PLC0415  # the runtime's own

    assert client
    window_s = 1.0
    stream = ReadRun.stream

    def shorter(self: Any, *args: Any) -> Any:
        self._wait_s = window_s
        return stream(self, *args)

    monkeypatch.setattr(ReadRun, "stream", shorter)
    return window_s


def start(client: Client, **body: Any) -> str:
    """Start a run; return its path."""
    given = client.http.post(f"/api/v1/workspaces/{client.tenant}/agent-runs", json=body)
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


def test_a_run_outlives_three_windows(client: Client, short_windows: float) -> None:
    path = start(client, prompt=f"[[say:a]][[sleep:{int(short_windows * 3500)}]][[say:b]]")

    answers = list(windows(client, path))

    assert [] in answers
    assert len(answers) > 3
    frames = [frame for answer in answers for frame in answer]
    assert [one["seq"] for one in frames] == sorted({one["seq"] for one in frames})
    assert frames[-1]["text"] == "ab"


def test_a_dropped_stream_goes_on_behind_its_cursor_as_often_as_asked(client: Client) -> None:
    """F28."""
    path = start(client, prompt="[[say:one two three four five six]]")
    whole = [frame for answer in windows(client, path) for frame in answer]
    seqs = [frame["seq"] for frame in whole]

    for seq in seqs[:-1]:
        again = window(client, path, seq)
        assert [frame["seq"] for frame in again] == [one for one in seqs if one > seq]
    assert window(client, path) == whole


def test_a_stop_comes_through_from_another_connection(client: Client) -> None:
    """F28."""
    path = start(client, prompt="[[say:a]][[sleep:60000]][[say:b]]")
    seen = until(lambda: window(client, path))

    stopped = httpx.post(f"{client.http_url}{path}/cancel", headers={"x-api-key": client.api_key})

    assert (stopped.status_code, stopped.json()) == (200, {"ok": True})
    rest = window(client, path, seen[-1]["seq"])
    assert [one["type"] for one in rest if one["type"] in ENDS] == ["cancelled"]
    assert rest[-1]["reason"] == "user"


def test_a_tool_that_nobody_answers_is_an_error_that_the_model_reads(client: Client) -> None:
    """The call is emitted once; its result is taken once, whoever is first."""
    path = start(
        client,
        prompt="[[call:look]][[say:{{result}}]]",
        tools=[{"kind": "local", "name": "look"}],
    )
    asked: list[dict[str, Any]] = []
    for frames in windows(client, path):
        asked += [one for one in frames if one["type"] == "local_tool_call"]
        if asked:
            break
    (call,) = asked
    answer = {"toolUseId": call["toolUseId"], "result": "seen"}

    first = client.http.post(f"{path}/tool-results", json=answer)
    second = client.http.post(f"{path}/tool-results", json={**answer, "result": "other"})

    assert (first.status_code, first.json()) == (200, {"ok": True})
    assert (second.status_code, second.json()["code"]) in {
        (404, "unknown_tool_use"),
        (409, "run_terminal"),
    }
    rest = [frame for answer in windows(client, path) for frame in answer]
    assert rest[-1]["text"] == "seen"
    assert sum(one["type"] == "local_tool_call" for one in rest) == 1
    late = client.http.post(f"{path}/tool-results", json=answer)
    assert (late.status_code, late.json()["code"]) == (409, "run_terminal")


def test_a_credential_of_another_workspace_finds_nothing(client: Client) -> None:
    path = start(client, prompt="x")
    list(windows(client, path))

    foreign = path.replace(client.tenant, "somebody-else")
    answer = client.http.get(foreign)

    assert answer.status_code == httpx.codes.NOT_FOUND
    assert answer.json()["code"] == "not_found"
    assert answer.json()["hint"]
