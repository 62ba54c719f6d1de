"""A driver's process dies in the middle of its work: somebody else ends the turn as it began."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import pytest

from e2e.client import PATIENT, Client, Turn
from e2e.scripted_worker import ScriptedWorker, once, result, tool
from e2e.socket_client import Follower
from e2e.stage import Setup
from e2e.waiting import until
from everturn_local.runtime import LocalRuntime

LEASE_S = 2
SLACK_S = 15
"""For a new process and for what was left to do."""


@pytest.fixture(scope="module")
def setup() -> Setup:
    """Drivers that can be killed, and are missed soon."""
    lease = ("EVERTURN_LEASE_SECONDS", str(LEASE_S))
    base = Setup()
    return Setup((*base.environment, lease), frozenset({"driver"}))


def payload_types(client: Client, turn: Turn) -> list[str]:
    """Return the types of a turn's events so far."""
    page = client.events(turn.session_id, turn.turn_id)
    return [event["payload"]["type"] for event in page]


def test_a_driver_killed_while_the_model_speaks_is_replaced(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent(retry=PATIENT)
    turn = client.start("[[say:a]][[sleep:1500]][[say:b]]")
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        follower.read(socket, lambda one: bool(one.deltas))

        killed = until(lambda: runtime.kill("driver"))
        before = time.monotonic()
        ended = client.end_of(turn)
        follower.until_end(socket)

    assert killed == 1
    assert ended.answer == "ab"
    assert time.monotonic() - before < LEASE_S + SLACK_S
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1, 2]
    assert [m["content"] for m in client.messages(turn.session_id)][1:] == ["ab"]
    assert (
        follower.types()
        == [e["payload"]["type"] for e in client.events(turn.session_id)][: len(follower.events)]
    )
    assert follower.text(attempt=2) == "ab"


def killed_in_delivery(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime, effect: str
) -> tuple[Any, float]:
    """Kill the driver while the worker works; return the turn's end and how long that took."""
    client.put_agent("user", worker=worker.url, tools=[tool("go", effect)], retry=PATIENT)
    goes_on = threading.Event()
    worker.plays("go", once(goes_on, result("first")), result("second"))
    turn = client.start("[[call:go]][[say:{{result}}]]", agent_id="user")
    until(lambda: worker.deliveries)

    runtime.kill("driver")
    before = time.monotonic()
    goes_on.set()
    ended = client.end_of(turn)
    return ended, time.monotonic() - before


@pytest.mark.parametrize("effect", ["read", "idempotent_write"])
def test_a_driver_killed_while_a_repeatable_tool_runs_is_replaced_and_it_runs_again(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime, effect: str
) -> None:
    ended, took_s = killed_in_delivery(client, worker, runtime, effect)

    assert ended.answer == "second"
    assert took_s < LEASE_S + SLACK_S
    assert len(worker.deliveries) == 2
    roles = [message["role"] for message in client.messages(ended.session_id)]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_a_driver_killed_while_a_write_runs_is_replaced_and_the_write_is_not_repeated(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime
) -> None:
    ended, took_s = killed_in_delivery(client, worker, runtime, "non_idempotent_write")

    assert ended.answer.startswith("ERROR: The outcome of this call is unknown")
    assert took_s < LEASE_S + SLACK_S
    assert len(worker.deliveries) == 1


def test_a_driver_killed_right_after_the_model_answered_is_replaced(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent(retry=PATIENT)
    turn = client.start("[[say:one]]")
    until(lambda: "llm.call.completed" in payload_types(client, turn))

    runtime.kill("driver")
    ended = client.end_of(turn)

    assert ended.answer == "one"
    assert len(ended.all("llm.call.completed")) == 1
    assert client.run("again", turn.session_id).answer == "echo: again"


def test_a_driver_killed_between_a_tool_and_the_next_reply_is_replaced(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime
) -> None:
    client.put_agent(
        "user", worker=worker.url, tools=[tool("go", "non_idempotent_write")], retry=PATIENT
    )
    turn = client.start("[[call:go]][[sleep:1000]][[say:{{result}}]]", agent_id="user")
    until(lambda: "tool.call.completed" in payload_types(client, turn))

    runtime.kill("driver")
    ended = client.end_of(turn)

    assert ended.answer == "fine"
    assert len(worker.deliveries) == 1
    roles = [message["role"] for message in client.messages(ended.session_id)]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_a_driver_killed_again_and_again_still_gets_to_the_end(
    client: Client, runtime: LocalRuntime
) -> None:
    client.put_agent(retry={**PATIENT, "max_retries": 10})
    turn = client.start("[[say:a]][[sleep:2500]][[say:b]]")

    for attempt in (1, 2):
        until(partial(has_dispatched, client, turn, attempt))
        until(lambda: runtime.kill("driver"))
    ended = client.end_of(turn)

    assert ended.answer == "ab"
    assert len(ended.all("llm.call.completed")) == 1
    assert len(client.messages(turn.session_id)) == 2


def has_dispatched(client: Client, turn: Turn, attempts: int) -> bool:
    """Return whether the model was asked so many times."""
    return payload_types(client, turn).count("llm.call.dispatched") >= attempts
