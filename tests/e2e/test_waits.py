"""Tools that ask and tools that take long, with the worker of `examples/workers/waiting.py`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import httpx
import pytest

from e2e.client import Client, Turn, new_id
from e2e.command import everturn
from e2e.stage import ROOT, Setup
from e2e.timers import wait_for_timer
from e2e.waiting import until
from everturn_local.runtime import LocalRuntime
from integration.served import served

DAY_S = 86_400
BOOK = '[[call:book {"day":"Friday","guests":12}]][[turn]][[say:{{result}}]]'
BAKE = '[[call:bake {"cake":"plum cake"}]][[turn]][[say:{{result}}]]'


def _example() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "waiting_example", ROOT / "examples" / "workers" / "waiting.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLE = _example()
"""Loaded before any runtime starts, which imports the engine's modules afresh."""


@pytest.fixture(scope="module")
def setup() -> Setup:
    """A runtime of its own: the last tests here skip days."""
    return Setup(name="waits")


@pytest.fixture
def url() -> Iterator[str]:
    with served(EXAMPLE.app) as found:
        yield found


@pytest.fixture(params=["engine", "worker"])
def guest(client: Client, url: str, request: pytest.FixtureRequest) -> Client:
    """A client whose agent `baker` is decided by either."""
    put_baker(client, url, decides=request.param)
    return client


def put_baker(client: Client, url: str, **more: Any) -> None:
    """Write the agent."""
    tools = EXAMPLE.worker.agent_tools()
    written = client.put_agent("baker", worker=url, tools=tools, **more)
    assert written.is_success, written.text


def start(client: Client, script: str) -> Turn:
    """Start a turn with the agent."""
    return client.start(script, new_id("session"), agent_id="baker")


def question(client: Client, turn: Turn, n: int = 1) -> dict[str, Any]:
    """Wait until a call asks its n-th question; return it as the session shows it."""

    def asked() -> list[dict[str, Any]]:
        waits = client.session(turn.session_id)["waits"]
        return [one for one in waits if one["id"].endswith(f"-input-{n}")]

    return until(asked)[0]


def resolve(client: Client, turn: Turn, wait_id: str, **said: Any) -> httpx.Response:
    """Answer a question, or decline to."""
    return client.http.post(f"/v1/sessions/{turn.session_id}/approvals/{wait_id}", json=said)


def next_due(runtime: LocalRuntime, turn: Turn, before: str) -> str:
    """Wait until a session waits for another moment than before, and no driver runs; return it."""
    return until(
        lambda: str(wait_for_timer(runtime, turn)["until"]), lambda moment: moment != before
    )


def test_a_tool_asks_twice_and_then_does_its_work(guest: Client) -> None:
    turn = start(guest, BOOK)
    first = question(guest, turn)
    idle = guest.session(turn.session_id)["status"]

    wrong = resolve(guest, turn, first["id"], answer="perhaps")
    taken = resolve(guest, turn, first["id"], answer="yes")
    second = question(guest, turn, 2)
    resolve(guest, turn, second["id"], answer="Ada")
    ended = guest.end_of(turn)
    late = resolve(guest, turn, first["id"], answer="no")

    assert (idle, first["choices"], first["allows_free_text"]) == ("idle", ["yes", "no"], False)
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_answer")
    assert (taken.json(), late.json()) == ({"ok": True}, {"ok": True, "duplicate": True})
    assert ended.answer == "A table for 12 on Friday, for Ada"
    closed = ended.all("call.wait.closed")
    assert [(one["outcome"], one["answer"]) for one in closed] == [
        ("answered", "yes"),
        ("answered", "Ada"),
    ]


def test_a_declined_question_is_told_to_the_model(guest: Client) -> None:
    turn = start(guest, BOOK)
    wait = question(guest, turn)

    resolve(guest, turn, wait["id"], outcome="rejected", message="Not on a Friday.")

    ended = guest.end_of(turn)
    assert ended.answer == "ERROR: Not on a Friday."
    assert ended.only("tool.call.errored")["detail"] == {
        "reason": "rejected",
        "resolution": "declined",
    }


def test_a_task_is_polled_thrice_and_asks_in_between(guest: Client) -> None:
    turn = start(guest, BAKE)

    wait = question(guest, turn)
    resolve(guest, turn, wait["id"], answer="marzipan")

    ended = guest.end_of(turn)
    assert ended.answer == "plum cake, icing: marzipan"
    assert len(ended.all("call.wait.extended")) == 2
    assert [one["outcome"] for one in ended.all("call.wait.closed")] == ["answered", "finished"]
    assert "continuation" not in str(ended.events)


def test_a_task_hears_of_a_decline(guest: Client) -> None:
    turn = start(guest, BAKE)

    wait = question(guest, turn)
    resolve(guest, turn, wait["id"], outcome="rejected")

    assert guest.end_of(turn).answer == "plum cake, icing: none"


def test_a_person_answers_on_the_command_line(
    client: Client, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERTURN_URL", client.http_url)
    monkeypatch.setenv("EVERTURN_API_KEY", client.api_key)
    put_baker(client, url, decides="engine")
    turn = start(client, BOOK)
    wait = question(client, turn)["id"]

    shown = everturn("sessions", "show", turn.session_id)
    answered = everturn("answer", turn.session_id, wait, "yes")
    declined = everturn(
        "answer", turn.session_id, question(client, turn, 2)["id"], "--decline", "No name."
    )
    again = everturn("answer", turn.session_id, wait, "yes")
    unknown = everturn("answer", turn.session_id, "never", "yes")

    asked = f"wait          {wait} book: A table for 12 cannot be cancelled. Book it? [yes | no]"
    assert asked in shown.stdout.splitlines()
    assert answered.stdout == f"answered {wait}\n"
    assert declined.returncode == 0
    assert again.stdout == "it was over already\n"
    assert (unknown.returncode, unknown.stderr[:20]) == (1, "error: unknown_wait:")
    assert client.end_of(turn).answer == "ERROR: No name."
    followed = everturn("sessions", "tail", turn.session_id).stdout
    assert "A table for 12 cannot be cancelled. Book it? [yes | no]" in followed


def test_the_owner_answers_and_nobody_else_sees_the_question(client: Client, url: str) -> None:
    put_baker(client, url, decides="engine")
    tokens = [
        client.http.post("/v1/client-tokens", json={"identity": {"id": who}}).json()["token"]
        for who in ("ada", "eve")
    ]
    ada, eve = ({"authorization": f"Bearer {token}"} for token in tokens)
    session_id = new_id("session")
    message = {"role": "user", "content": BOOK}
    wanted = {"type": "client.message", "agent_id": "baker", "turn_id": "t", "message": message}
    body = {"session_id": session_id, "input": wanted}
    client.http.post("/v1/sessions/input", json=body, headers=ada)
    turn = Turn(session_id, "t")
    wait = question(client, turn)
    path = f"/v1/sessions/{session_id}/approvals/{wait['id']}"

    refused = client.http.post(path, json={"answer": "no"}, headers=eve)
    taken = client.http.post(path, json={"answer": "no"}, headers=ada)

    assert (refused.status_code, taken.status_code) == (404, 200)
    assert client.end_of(turn).answer == "The user does not want the table after all."


def test_a_task_goes_on_for_days(
    client: Client, url: str, runtime: LocalRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step machine waits; no driver runs meanwhile."""
    monkeypatch.setattr(EXAMPLE, "POLLS_EVERY_S", 2 * DAY_S)
    put_baker(client, url, decides="worker")
    turn = start(client, BAKE)

    due = ""
    for _ in range(3):
        due = next_due(runtime, turn, due)
        runtime.skip_time(2 * DAY_S)
    wait = question(client, turn)
    resolve(client, turn, wait["id"], answer="sugar")

    assert client.end_of(turn).answer == "plum cake, icing: sugar"


def test_a_question_that_nobody_answers_for_a_week_is_withdrawn(
    client: Client, url: str, runtime: LocalRuntime
) -> None:
    put_baker(client, url, decides="engine", question_deadline_secs=7 * DAY_S)
    turn = start(client, BOOK)
    wait = question(client, turn)
    wait_for_timer(runtime, turn)

    runtime.skip_time(7 * DAY_S)

    ended = client.end_of(turn)
    assert wait["deadline"] > ended.events[0]["occurred_at"]
    assert ended.answer == "ERROR: Nobody answered this question in time."
    assert resolve(client, turn, wait["id"], answer="yes").json()["duplicate"] is True
