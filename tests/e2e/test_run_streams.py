"""The stream of a run over sockets: windows, cursors, drops, ends that are read again. F28."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from mantyx.client import RunEvent

from e2e.client import Client
from e2e.run_paths import ENDS, ended, start, until_call, window, windows
from e2e.runs_client import KIND, check_stream, note_sessions, published
from e2e.waiting import until


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


def test_a_run_outlives_three_windows(client: Client, short_windows: float) -> None:
    path = start(client, prompt=f"[[say:a]][[sleep:{int(short_windows * 3500)}]][[say:b]]")

    answers = list(windows(client, path))

    assert [] in answers
    assert len(answers) > 3
    frames = [frame for answer in answers for frame in answer]
    assert [one["seq"] for one in frames] == sorted({one["seq"] for one in frames})
    assert frames[-1]["text"] == "ab"


def test_the_published_client_sees_nothing_of_windows(client: Client, short_windows: float) -> None:
    events: list[RunEvent] = []
    with published(client) as runs:
        result = runs.run_agent(
            system_prompt=KIND,
            prompt=f"[[say:a]][[sleep:{int(short_windows * 3500)}]][[say:b]]",
            on_event=events.append,
        )

    note_sessions(client, result.run_id)
    check_stream(events)
    assert result.text == "ab"


def test_a_dropped_stream_goes_on_behind_its_cursor_as_often_as_asked(client: Client) -> None:
    """F28."""
    path = start(client, prompt="[[say:one two three four five six]]")
    whole = ended(client, path)
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


def test_a_call_is_told_once_and_its_first_result_counts(client: Client) -> None:
    path = start(
        client,
        prompt="[[call:look]][[say:{{result}}]]",
        tools=[{"kind": "local", "name": "look"}],
    )
    call = until_call(client, path)
    answer = {"toolUseId": call["toolUseId"], "result": "seen"}

    first = client.http.post(f"{path}/tool-results", json=answer)
    second = client.http.post(f"{path}/tool-results", json={**answer, "result": "other"})

    assert (first.status_code, first.json()) == (200, {"ok": True})
    assert (second.status_code, second.json()["code"]) in {
        (404, "unknown_tool_use"),
        (409, "run_terminal"),
    }
    rest = ended(client, path)
    assert rest[-1]["text"] == "seen"
    assert sum(one["type"] == "local_tool_call" for one in rest) == 1
    late = client.http.post(f"{path}/tool-results", json=answer)
    assert (late.status_code, late.json()["code"]) == (409, "run_terminal")


def test_a_credential_of_another_workspace_finds_nothing(client: Client) -> None:
    path = start(client, prompt="x")
    ended(client, path)

    foreign = path.replace(client.tenant, "somebody-else")
    answer = client.http.get(foreign)

    assert answer.status_code == httpx.codes.NOT_FOUND
    assert answer.json()["code"] == "not_found"
    assert answer.json()["hint"]
