"""The workers of `examples/workers/`, each as a process of its own, decide for a running stack."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from e2e.client import Client, Turn
from e2e.stage import ROOT
from e2e.waiting import until
from everturn.protocol.signature import signed_headers
from published import check_response

EXAMPLES = ROOT / "examples" / "workers"
VARIABLE = "EVERTURN_WORKER_SECRET"
SECRET = "whsec-of-the-examples"
HELP = "I tell your balance and send money. From 100.00 on I ask first."

UVICORN = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "library:app"]
COMMANDS = {
    "plain.py": [sys.executable, "-S", "-I", str(EXAMPLES / "plain.py"), "0"],
    "plain.mjs": ["node", str(EXAMPLES / "plain.mjs"), "0"],
    "library.py": [*UVICORN, "--port", "0"],
}
"""How each is started; plain Python without the packages that are installed here."""


@dataclass(frozen=True, slots=True)
class Example:
    """A running worker."""

    name: str
    url: str

    def ask(self, request: dict[str, Any], secret: str = SECRET) -> httpx.Response:
        """Deliver a question as the engine would."""
        return self.send(json.dumps(request).encode(), secret)

    def send(self, body: bytes, secret: str = SECRET) -> httpx.Response:
        """Send bytes, signed."""
        headers = signed_headers(secret.encode(), body, int(time.time()))
        return httpx.post(self.url, content=body, headers=headers)


@pytest.fixture(scope="module", params=COMMANDS)
def example(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Example]:
    name = str(request.param)
    said = tmp_path_factory.mktemp("example") / "said"
    environment = os.environ | {
        VARIABLE: SECRET,
        "PYTHONPATH": str(ROOT / "layers" / "engine" / "python"),
    }
    with said.open("w") as out:
        process = subprocess.Popen(  # noqa: S603  a program of ours
            COMMANDS[name], stdout=out, stderr=out, env=environment
        )
    try:
        urls = until(lambda: re.findall(r"http://127\.0\.0\.1:\d+", said.read_text()))
        yield Example(name, urls[0])
    finally:
        process.terminate()
        process.wait(10)
    assert "Traceback" not in said.read_text()


@pytest.fixture
def teller(client: Client, example: Example, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of an agent that the example decides for."""
    monkeypatch.setenv(VARIABLE, SECRET)
    definition = json.loads((EXAMPLES / "agent.json").read_text())
    definition |= {"worker": example.url, "worker_secret": {"env": VARIABLE}}
    written = client.put_agent("teller", **definition)
    assert written.is_success, written.text
    return client


def balance(client: Client) -> int:
    """Return what the account holds, as the model is told."""
    ended = client.run("[[call:get_balance]][[say:{{result}}]]", agent_id="teller")
    return int(json.loads(ended.answer)["cents"])


def asking(client: Client, cents: int) -> tuple[Turn, dict[str, Any]]:
    """Have the model send money; return the turn and what the worker asks."""
    turn = client.start(script(cents), agent_id="teller")
    paused = until(
        lambda: client.session(turn.session_id), lambda one: one["status"] == "interrupted"
    )
    (interrupt,) = paused["interrupts"]
    return turn, interrupt


def script(cents: int) -> str:
    """Return what the model does."""
    arguments = json.dumps({"to": "ada", "cents": cents})
    return f"[[call:transfer {arguments}]][[say:{{{{result}}}}]]"


def resume(client: Client, turn: Turn, interrupt: dict[str, Any], **payload: Any) -> None:
    """Say what is thought of it."""
    body = {"interrupt_id": interrupt["interrupt_id"], "payload": payload}
    response = client.http.post(f"/v1/sessions/{turn.session_id}/resume", json=body)
    assert response.json()["resumed"] is True


def test_a_small_transfer_is_made_at_once(teller: Client) -> None:
    before = balance(teller)

    ended = teller.run(script(150), agent_id="teller")

    assert json.loads(ended.answer) == {"to": "ada", "sent": 150, "left": before - 150}
    assert balance(teller) == before - 150


def test_a_large_transfer_waits_for_a_yes(teller: Client) -> None:
    before = balance(teller)
    turn, interrupt = asking(teller, 10_000)
    meanwhile = balance(teller)

    resume(teller, turn, interrupt, approved=True)

    assert json.loads(teller.end_of(turn).answer)["left"] == before - 10_000
    assert (interrupt["reason"], interrupt["payload"]["cents"], meanwhile) == (
        "approval",
        10_000,
        before,
    )


def test_a_no_leaves_the_money_where_it_is(teller: Client) -> None:
    before = balance(teller)
    turn, interrupt = asking(teller, 20_000)

    resume(teller, turn, interrupt, approved=False)

    assert teller.end_of(turn).answer == "ERROR: The user said no."
    assert balance(teller) == before


def test_help_needs_no_model(teller: Client) -> None:
    ended = teller.run("/help", agent_id="teller")

    assert ended.answer == HELP
    assert ended.all("llm.call.requested") == []


def test_arguments_that_do_not_fit_are_told_to_the_model(teller: Client) -> None:
    ended = teller.run(script(0), agent_id="teller")

    assert ended.answer.startswith("ERROR: Arguments for transfer do not fit its schema: ")


def question(arguments: dict[str, Any], call_id: str = "c1") -> dict[str, Any]:
    """Return a delivery of a tool call, cut down to what a worker needs."""
    trigger = {
        "type": "tool.execute",
        "id": call_id,
        "name": "transfer",
        "arguments": json.dumps(arguments),
        "input": {"status": "valid", "value": arguments},
        "attempt": 1,
    }
    return {
        **{"session_id": "s", "decision_id": f"d-{call_id}", "agent_id": "teller", "turn_id": "t"},
        **{"identity": {"id": "default"}, "trigger": trigger, "proposed": {}, "state": None},
        **{"agent": None, "calls": [], "pending_calls": 1, "messages": [], "ancestry": []},
        **{"message_tree": {"nodes": []}, "attempts": 1, "deadline": None},
    }


def test_a_delivery_that_comes_again_moves_no_money(example: Example) -> None:
    wanted = question({"to": "bob", "cents": 70}, "again")

    answers = [example.ask({**wanted, "attempts": attempts}).json() for attempts in (1, 2)]

    check_response(answers[0])
    assert answers[0] == answers[1]
    (action,) = answers[0]["actions"]
    assert action["type"] == "tool.result"


@pytest.mark.parametrize(
    ("body", "secret", "status"),
    [
        (json.dumps(question({"to": "eve", "cents": 1})).encode(), "guessed", 401),
        (b"{", SECRET, 400),
        (b"[]", SECRET, 400),
        (b"{}", SECRET, 400),
        (b'{"trigger": 1}', SECRET, 400),
    ],
)
def test_what_is_no_delivery_is_refused(
    example: Example, body: bytes, secret: str, status: int
) -> None:
    assert example.send(body, secret).status_code == status


def test_it_says_that_it_is_there(example: Example) -> None:
    assert httpx.get(example.url).json() == {"ok": True}


def test_the_agent_declares_what_the_library_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    declared = json.loads((EXAMPLES / "agent.json").read_text())["tools"]

    worker = importlib.import_module("library").worker

    made = {tool["name"]: tool for tool in worker.agent_tools()}
    assert {tool["name"]: tool["description"] for tool in declared} == {
        name: tool["description"] for name, tool in made.items()
    }
    assert [made[tool["name"]]["effect"] for tool in declared] == [
        tool["effect"] for tool in declared
    ]


def test_the_plain_ones_import_what_comes_with_the_language() -> None:
    python = set(re.findall(r"^(?:from|import) (\w+)", (EXAMPLES / "plain.py").read_text(), re.M))
    node = re.findall(r'^import .* from "([^"]+)"', (EXAMPLES / "plain.mjs").read_text(), re.M)

    assert python <= sys.stdlib_module_names
    assert [name for name in node if not name.startswith("node:")] == []
