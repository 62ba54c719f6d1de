"""The `everturn` command as a person or a script uses it, in a process of its own."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from e2e.client import Client
from e2e.command import cold_everturn, everturn, everturn_dev

STOPS_WITHIN_S = 5


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_dev_says_where_it_is_serves_and_stops_cleanly_when_told(number: signal.Signals) -> None:
    with everturn_dev() as (dev, about):
        client = Client(about["http_url"], about["ws_url"], about["api_key"], about["workspace"])
        ended = client.run("hello")
        client.close()

        dev.run.send_signal(number)
        before = time.monotonic()
        status = dev.run.wait(STOPS_WITHIN_S + 5)
        rest, errors = dev.output()

    assert sorted(about) == ["api_key", "http_url", "runs_client", "workspace", "ws_url"]
    assert ended.answer == "echo: hello"
    assert status == 0
    assert time.monotonic() - before < STOPS_WITHIN_S
    assert "Traceback" not in errors
    assert rest == ""


def test_dev_takes_its_port_its_key_and_its_workspace() -> None:
    port = free_port()
    options = ("--port", str(port), "--api-key", "evt_mine", "--workspace", "acme")
    with everturn_dev(*options) as (_, about):
        headers = {"authorization": "Bearer evt_mine"}
        agent = httpx.get(f"http://127.0.0.1:{port}/v1/agents/demo", headers=headers)

    assert about == {
        "http_url": f"http://127.0.0.1:{port}",
        "ws_url": about["ws_url"],
        "api_key": "evt_mine",
        "workspace": "acme",
        "runs_client": {**about["runs_client"], "api_key": "evt_mine", "workspace_slug": "acme"},
    }
    assert about["ws_url"].startswith(f"ws://127.0.0.1:{port}/")
    assert agent.status_code == 200


def test_dev_says_how_the_published_client_gets_in() -> None:
    told: dict[str, Any] = {}
    with everturn_dev() as (_, about):
        exec(about["runs_client"]["python"], told)  # noqa: S102  # as a user pastes it

        answer = told["client"].run_agent(system_prompt="Be kind.", prompt="hello")

    assert answer.text == "echo: hello"


def test_dev_stops_in_the_middle_of_a_turn() -> None:
    with everturn_dev() as (dev, about):
        client = Client(about["http_url"], about["ws_url"], about["api_key"], about["workspace"])
        client.start("[[say:a]][[sleep:30000]][[say:b]]")
        client.close()

        dev.run.send_signal(signal.SIGTERM)
        status = dev.run.wait(STOPS_WITHIN_S + 5)
        _, errors = dev.output()

    assert status == 0
    assert "Traceback" not in errors


def test_dev_that_is_told_to_stop_again_and_again_does_not_hang() -> None:
    """`make dev` hung where make and the terminal both passed Ctrl-C on."""
    with everturn_dev() as (dev, _):
        for _ in range(20):
            dev.run.send_signal(signal.SIGTERM)

        assert dev.run.wait(20) == 0


def test_dev_on_a_port_that_is_taken_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        run = everturn("dev", "--json", "--port", port)

    assert run.returncode != 0
    assert run.stdout == ""
    assert "in use" in run.stderr
    assert "Traceback" not in run.stderr


def test_demo_shows_a_whole_turn_and_its_cost() -> None:
    run = cold_everturn("demo")

    assert run.returncode == 0, run.stderr
    shown = run.stdout
    for part in ("says", "tool call", "clock", "convert", "result", "42.1648128", "answer"):
        assert part in shown, part
    for part in ("usage", "cost $0", "done", "What it cost on AWS", "TransactWriteItems"):
        assert part in shown, part
    assert '"_aws"' not in shown
    assert "Traceback" not in run.stderr


def test_help_is_there() -> None:
    run = cold_everturn("--help")

    assert run.returncode == 0
    assert "dev" in run.stdout
    assert "demo" in run.stdout


WORKER = """
def handler(request, context):
    trigger = request["trigger"]
    return {"actions": [{"type": "tool.result", "result": trigger["input"]["value"]["n"] + 1}]}
"""


def test_dev_runs_a_file_as_a_lambda_worker(tmp_path: Path) -> None:
    file = tmp_path / "tools.py"
    file.write_text(WORKER)
    with everturn_dev("--worker", f"everturn-worker-tools={file}:handler") as (_, about):
        client = Client(about["http_url"], about["ws_url"], about["api_key"], about["workspace"])
        arn = about["workers"]["everturn-worker-tools"]
        tools: list[dict[str, Any]] = [{"name": "quick"}, {"name": "slow", "timeout_secs": 60}]
        client.put_agent("adder", worker=arn, tools=tools)
        text = '[[call:quick {"n":1}]][[call:slow {"n":2}]][[say:{{results}}]]'
        ended = client.run(text, agent_id="adder")
        client.close()

    assert arn == "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-tools"
    assert ended.answer == "2 | 3"


@pytest.mark.parametrize(
    ("worker", "told"),
    [
        ("everturn-worker-tools=nowhere.py:handler", "there is no file"),
        (f"tools={__file__}:everturn", "the name must begin with everturn-worker-"),
    ],
)
def test_dev_says_what_is_wrong_with_a_worker(worker: str, told: str) -> None:
    run = everturn("dev", "--json", "--worker", worker)

    assert run.returncode != 0
    assert told in run.stderr
    assert "Traceback" not in run.stderr
