"""Budgets over real sockets: what stops, who hears of it, how it goes on. Conformance 37: Y-4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from e2e.client import Client, Turn
from e2e.deciding_worker import Answer, DecidingWorker, deciding_worker, echo
from e2e.waiting import until

TWO_CALLS = "[[usage:in=60,out=40]][[call:go]][[usage:in=5,out=5]][[say:{{result}}]]"
"""A hundred tokens, then ten."""

NO_WORKER = "ERROR: no worker can run this tool"


@pytest.fixture
def boss() -> Iterator[DecidingWorker]:
    """A worker that decides; it echoes until it is told otherwise."""
    with deciding_worker() as worker:
        yield worker


def limited(client: Client, **budgets: Any) -> None:
    """Give the tenant's agent budgets; it has a tool that nobody runs."""
    written = client.put_agent(tools=[{"name": "go"}], budgets=budgets)
    assert written.status_code == httpx.codes.OK, written.text


def is_paused(client: Client, turn: Turn) -> bool:
    return bool(client.session(turn.session_id)["status"] == "interrupted")


def dispatched(client: Client, turn: Turn) -> list[tuple[str, int]]:
    """Return the attempts of model calls that started."""
    return [
        (one["payload"]["id"], one["payload"]["attempt"])
        for one in client.events(turn.session_id, turn.turn_id)
        if one["payload"]["type"] == "llm.call.dispatched"
    ]


def giving_up(request: dict[str, Any]) -> Answer:
    """End the turn where a model call failed; the tool works."""
    trigger = request["trigger"]
    if trigger["type"] == "tool.execute":
        return {"actions": [{"type": "tool.result", "result": "went"}]}
    if trigger["type"] == "llm.finished" and not trigger["ok"]:
        return {"actions": [{"type": "done", "data": trigger["code"]}]}
    return echo(request)


def test_a_turn_over_its_budget_fails_and_the_next_one_runs(client: Client) -> None:
    limited(client, turn={"tokens": 100}, mode="fail")

    ended = client.run(TWO_CALLS)
    again = client.run("still there?", ended.session_id)

    shown = {"scope": "turn", "limit": {"tokens": 100}, "spent": {"cost": "0", "tokens": 100}}
    assert ended.completed["outcome"] == "failed"
    assert (ended.completed["error"]["code"], ended.completed["error"]["detail"]) == (
        "budget_exceeded",
        shown,
    )
    assert len(ended.all("llm.call.dispatched")) == 1
    assert again.answer == "echo: still there?"


def test_a_session_over_its_budget_fails_every_turn_until_it_is_raised(client: Client) -> None:
    limited(client, session={"tokens": 110}, mode="fail")
    session = client.run(TWO_CALLS).session_id

    refused = client.run("again", session)
    raised = client.http.put(f"/v1/sessions/{session}/budgets", json={"session": {"tokens": 111}})
    ended = client.run("and again", session)

    assert refused.completed["error"]["detail"]["scope"] == "session"
    assert raised.json()["session"]["spent"] == {"cost": "0", "tokens": 110}
    assert ended.answer == "echo: and again"


def test_a_paused_turn_goes_on_once_when_its_budget_is_raised(client: Client) -> None:
    limited(client, turn={"tokens": 100})
    turn = client.start(TWO_CALLS)
    until(lambda: is_paused(client, turn))
    before = dispatched(client, turn)
    path = f"/v1/sessions/{turn.session_id}/budgets"

    busy = client.say("hello?", turn.session_id)
    answers = [client.http.put(path, json={"turn": {"tokens": 500}}) for _ in range(3)]
    ended = client.end_of(turn)

    assert len(before) == 1
    assert (busy.status_code, busy.json()["code"]) == (409, "session_interrupted")
    assert {answer.status_code for answer in answers} == {200}
    assert ended.answer == NO_WORKER
    assert [attempt for _, attempt in dispatched(client, turn)] == [1, 1]
    assert len(ended.all("session.interrupted")) == len(ended.all("session.interrupt_resumed")) == 1


def test_a_worker_that_decides_hears_that_the_budget_is_used_up(
    client: Client, boss: DecidingWorker
) -> None:
    boss.answer = giving_up
    client.put_agent(
        "boss",
        worker=boss.url,
        decides="worker",
        tools=[{"name": "go", "effect": "read"}],
        budgets={"turn": {"tokens": 100}, "mode": "fail"},
    )

    ended = client.run(TWO_CALLS, agent_id="boss")

    heard = boss.last("llm.finished")["trigger"]
    assert (heard["ok"], heard["code"]) == (False, "budget_exceeded")
    assert (ended.completed["outcome"], ended.answer) == ("done", "budget_exceeded")
    assert len(ended.all("llm.call.dispatched")) == 1


def test_a_call_that_a_worker_asked_for_waits_and_goes_on(
    client: Client, boss: DecidingWorker
) -> None:
    boss.answer = giving_up
    client.put_agent(
        "boss",
        worker=boss.url,
        decides="worker",
        tools=[{"name": "go", "effect": "read"}],
        budgets={"turn": {"tokens": 100}},
    )
    turn = client.start(TWO_CALLS, agent_id="boss")
    until(lambda: is_paused(client, turn))

    client.http.delete(f"/v1/sessions/{turn.session_id}/budgets")

    assert client.end_of(turn).answer == "went"
    assert len(dispatched(client, turn)) == 2
    assert "interrupt.resumed" not in boss.triggers()
