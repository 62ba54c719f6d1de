"""Budgets of owners and tenants over real sockets. Conformance 37: Y-4."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx
import pytest

from e2e.client import Client, Ended, Turn, message_body
from e2e.waiting import until

TENANTS = "/v1/budgets/tenant"
HUNDRED = "[[usage:in=60,out=40]][[say:spent]]"


def put(client: Client, path: str = TENANTS, **budget: Any) -> dict[str, Any]:
    """Set a budget; return the answer."""
    response = client.http.put(path, json=budget)
    assert response.status_code == httpx.codes.OK, response.text
    answer: dict[str, Any] = response.json()
    return answer


def counted(client: Client, tokens: int, path: str = TENANTS) -> None:
    """Wait until so many tokens are counted."""
    until(lambda: client.http.get(path).json()["spent"]["tokens"], lambda found: found == tokens)


def start(client: Client, text: str, owner: str) -> Turn:
    """Start a turn in a new session of an owner."""
    response = client.post({**message_body(text), "identity": {"id": owner}})
    assert response.status_code == httpx.codes.ACCEPTED, response.text
    return Turn(response.json()["session_id"], response.json()["turn_id"])


def run(client: Client, text: str, owner: str) -> Ended:
    """Run a turn in a new session of an owner."""
    return client.end_of(start(client, text, owner))


def test_another_owners_session_meets_the_tenants_budget_and_a_raised_one_lets_it_run(
    client: Client,
) -> None:
    put(client, tokens=100, mode="fail")
    first = run(client, HUNDRED, "ada")
    counted(client, 100)

    refused = run(client, "hello", "bob")
    raised = put(client, tokens=1000, mode="fail")
    ended = run(client, "hello", "bob")

    assert first.answer == "spent"
    assert refused.completed["error"]["code"] == "budget_exceeded"
    assert refused.completed["error"]["detail"]["scope"] == "tenant"
    assert refused.all("llm.call.dispatched") == []
    assert raised["spent"] == {"cost": "0", "tokens": 100}
    assert ended.answer == "echo: hello"


def test_an_owners_budget_holds_up_that_owner_alone(client: Client) -> None:
    path = "/v1/budgets/owners/ada"
    put(client, path, tokens=100, mode="fail")
    run(client, HUNDRED, "ada")
    counted(client, 100, path)

    answers = [run(client, "hello", owner).completed["outcome"] for owner in ("ada", "bob")]

    assert answers == ["failed", "done"]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_paused_call_goes_on_exactly_once(client: Client, method: str) -> None:
    put(client, tokens=100)
    run(client, HUNDRED, "ada")
    counted(client, 100)
    turns = [start(client, "hello", owner) for owner in ("bob", "cleo")]
    for turn in turns:
        session = partial(client.session, turn.session_id)
        until(session, lambda found: found["status"] == "interrupted")

    for _ in range(2):
        client.http.request(method, TENANTS, json={"tokens": 1000} if method == "PUT" else None)
    ended = [client.end_of(turn) for turn in turns]

    assert [one.answer for one in ended] == ["echo: hello"] * 2
    assert [len(one.all("llm.call.dispatched")) for one in ended] == [1, 1]
    assert [len(one.all("session.interrupt_resumed")) for one in ended] == [1, 1]


def test_each_attempt_is_counted_once(client: Client) -> None:
    """Failed attempts report no usage here; the answers of many sessions at once do."""
    put(client, tokens=100_000)
    put(client, "/v1/budgets/owners/ada", tokens=100_000)

    turns = [start(client, HUNDRED, owner) for owner in ("ada", "bob", "ada", "cleo")]
    for turn in turns:
        client.end_of(turn)

    counted(client, 400)
    counted(client, 200, "/v1/budgets/owners/ada")
