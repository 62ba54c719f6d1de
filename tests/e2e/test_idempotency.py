"""The same thing twice, at once or later, is the same thing once."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from e2e.client import PATIENT, Client, Ended, Turn, new_id
from e2e.scripted_worker import ScriptedWorker, after, result, tool
from e2e.timers import FAR_S, far, messages_in_flight, wait_for_timer
from e2e.waiting import until
from everturn_local.faults import Delivery
from everturn_local.runtime import LocalRuntime


def only_for(
    tenant: str, fate: Delivery, step: str = ""
) -> Callable[[Mapping[str, Any]], Delivery]:
    """Return a hook for the queue messages of one tenant, of one kind where it is named."""

    def hook(record: Mapping[str, Any]) -> Delivery:
        wake = json.loads(record["body"])
        mine = wake["tenant"] == tenant and step in {"", wake["step"]}
        return fate if mine else Delivery.DELIVER

    return hook


def test_one_turn_posted_twenty_times_at_once_runs_once(
    client: Client, worker: ScriptedWorker
) -> None:
    """Conformance 4: T-5."""
    client.put_agent("till", worker=worker.url, tools=[tool("charge", "non_idempotent_write")])
    session_id, turn_id = new_id("session"), new_id("turn")
    text = "[[call:charge]][[say:paid: {{result}}]]"

    def post(_: int) -> tuple[int, dict[str, Any]]:
        response = client.say(text, session_id, turn_id, agent_id="till")
        return response.status_code, response.json()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(post, range(20)))
    ended = client.end_of(Turn(session_id, turn_id))

    assert {status for status, _ in answers} == {202}
    assert {(body["session_id"], body["turn_id"]) for _, body in answers} == {(session_id, turn_id)}
    assert sum("duplicate" not in body for _, body in answers) == 1
    assert len(worker.deliveries) == 1
    assert (
        len([e for e in client.events(session_id) if e["payload"]["type"] == "turn.started"]) == 1
    )
    roles = [message["role"] for message in client.messages(session_id)]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert ended.answer == "paid: fine"


def test_a_turn_posted_again_while_it_runs_is_told_as_running(client: Client) -> None:
    """Conformance 3: T-4."""
    turn = client.start("[[sleep:500]][[say:ok]]", turn_id=new_id("turn"))

    again = client.say("whatever", turn.session_id, turn.turn_id)

    assert again.status_code == 202
    assert again.json() == {
        "session_id": turn.session_id,
        "turn_id": turn.turn_id,
        "duplicate": True,
        "turn_status": "running",
    }
    assert client.end_of(turn).answer == "ok"


def test_a_turn_posted_again_after_its_end_is_told_as_completed(client: Client) -> None:
    """Conformance 3: T-4."""
    ended = client.run("hello", turn_id=new_id("turn"))
    client.run("another", ended.session_id)
    seq = client.session(ended.session_id)["seq"]

    again = client.say("hello", ended.session_id, ended.turn.turn_id)

    assert again.status_code == 202
    assert again.json() == {
        "session_id": ended.session_id,
        "turn_id": ended.turn.turn_id,
        "duplicate": True,
        "turn_status": "completed",
    }
    assert client.session(ended.session_id)["seq"] == seq


def test_of_two_turns_posted_at_once_one_runs_and_the_other_is_told(client: Client) -> None:
    for _ in range(3):
        session_id = client.run("hello").session_id

        with ThreadPoolExecutor(2) as pool:
            texts = ("[[sleep:300]][[say:left]]", "[[sleep:300]][[say:right]]")
            left, right = pool.map(lambda text, to=session_id: client.say(text, to), texts)
        client.idle(session_id)

        assert sorted([left.status_code, right.status_code]) == [202, 409]
        winner, loser = (left, right) if left.status_code == 202 else (right, left)
        assert loser.json()["code"] == "turn_already_active"
        assert loser.json()["turn_id"] == winner.json()["turn_id"]
        assert len(client.messages(session_id)) == 4


def test_of_many_first_messages_into_one_new_session_one_runs(client: Client) -> None:
    session_id = new_id("session")

    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda n: client.say(f"[[sleep:300]][[say:{n}]]", session_id), range(8))
        )
    client.idle(session_id)

    assert sorted(one.status_code for one in answers) == [202] + [409] * 7
    assert len(client.messages(session_id)) == 2


def whole_turn(client: Client, worker: ScriptedWorker) -> Ended:
    """Run a turn with two model calls and two tools."""
    client.put_agent(
        "clerk",
        worker=worker.url,
        tools=[tool("look"), tool("file", "non_idempotent_write")],
        retry=PATIENT,
    )
    worker.plays("look", after(0.2, result("seen")))
    return client.run(
        "[[say:well ]][[call:look]][[call:file]][[say:{{results}}]]", agent_id="clerk"
    )


def assert_once(client: Client, worker: ScriptedWorker, ended: Ended) -> None:
    """Assert that the turn of `whole_turn` left exactly its traces."""
    assert ended.answer == "seen | fine"
    assert [one.tool for one in worker.sent("file")] == ["file"]
    roles = [message["role"] for message in client.messages(ended.session_id)]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    assert len(ended.all("llm.call.requested")) == 2
    assert len(ended.all("tool.call.completed")) == 2


@pytest.mark.parametrize("fate", [Delivery.DUPLICATE, Delivery.LOSE_ANSWER])
def test_a_wake_up_that_comes_twice_changes_nothing(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime, fate: Delivery
) -> None:
    seen: list[str] = []

    def disturb(record: Mapping[str, Any]) -> Delivery:
        first = record["attributes"]["ApproximateReceiveCount"] == "1"
        if json.loads(record["body"])["tenant"] != client.tenant or not first:
            return Delivery.DELIVER
        seen.append(record["messageId"])
        return fate

    runtime.faults.queue = disturb

    ended = whole_turn(client, worker)

    assert seen
    assert_once(client, worker, ended)


def test_a_wake_up_that_is_lost_is_made_up_for_by_the_sweep(
    client: Client, runtime: LocalRuntime
) -> None:
    lost: list[str] = []

    def lose_first(record: Mapping[str, Any]) -> Delivery:
        mine = json.loads(record["body"])["tenant"] == client.tenant
        if not mine or lost:
            return Delivery.DELIVER
        lost.append(record["messageId"])
        return Delivery.DROP

    runtime.faults.queue = lose_first

    turn = client.start("hello")
    until(lambda: lost)
    until(lambda: time.time() > turn_due(client, turn))
    (sweep,) = runtime.topology.schedules
    runtime.scheduler.fire(sweep)

    assert client.end_of(turn).answer == "echo: hello"


def turn_due(client: Client, turn: Turn) -> int:
    """Return the epoch second from which on the sweep looks after a session."""
    store = importlib.import_module("everturn.wiring.adapters").store()
    key = importlib.import_module("everturn.ports.sessions").SessionKey(
        client.tenant, turn.session_id
    )
    due: int = store.head(key).due_epoch_s
    return due


def test_a_stream_record_delivered_twice_changes_nothing(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime
) -> None:
    seen: list[Any] = []

    def twice(record: Mapping[str, Any]) -> Delivery:
        seen.append(record)
        return Delivery.DUPLICATE

    runtime.faults.stream = twice

    ended = whole_turn(client, worker)

    assert seen
    assert_once(client, worker, ended)


def test_a_timer_that_fires_twice_starts_one_attempt(client: Client, runtime: LocalRuntime) -> None:
    client.put_agent("patient", retry={**PATIENT, **far(runtime)})
    runtime.faults.queue = only_for(client.tenant, Delivery.DUPLICATE, "timer")

    before = messages_in_flight(runtime)
    turn = client.start("[[flaky:1 overloaded]][[say:there]]", agent_id="patient")
    wait_for_timer(runtime, turn, before)
    runtime.skip_time(FAR_S)
    ended = client.end_of(turn)

    assert ended.answer == "there"
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1, 2]
