"""Workers that answer nonsense: what their author reads in the log, and what the session keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from e2e.client import Client, Ended, Turn
from e2e.deciding_worker import Answer, DecidingWorker, deciding_worker, echo
from e2e.scripted_worker import tool
from e2e.stage import Setup
from e2e.waiting import until
from everturn.protocol.limits import MAX_STATE_BYTES

DEEP = 500


def action(**fields: Any) -> bytes:
    """Return an answer with one action."""
    return json.dumps({"actions": [fields]}).encode()


INVALID: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"hello", "invalid_json"),
    "nothing": (b"", "invalid_json"),
    "not UTF-8": (b'{"state": "\xff"}', "invalid_json"),
    "NaN": (b'{"state": NaN}', "invalid_json"),
    "a key twice": (b'{"state": 1, "state": 2}', "invalid_json"),
    "too deep": (b'{"state": ' + b"[" * DEEP + b"]" * DEEP + b"}", "invalid_json"),
    "a list": (b"[]", "schema_violation"),
    "a field of its own": (b'{"session_id": "another"}', "schema_violation"),
    "a state too large": (
        b'{"state": "' + b"x" * MAX_STATE_BYTES + b'"}',
        "schema_violation",
    ),
    "an action of its own": (action(type="fly"), "schema_violation"),
    "a call that never was": (
        action(type="tool.result", id="nobody", result=1),
        "unknown_call",
    ),
    "a result for nothing": (action(type="tool.result", result=1), "missing_call_id"),
    "a call on the server": (
        action(type="tool.call", name="go", arguments={}, handler="server"),
        "invalid_handler",
    ),
    "a message without content": (b'{"messages": [{"role": "user"}]}', "invalid_message"),
    "two ends": (b'{"actions": [{"type": "done"}, {"type": "done"}]}', "multiple_done"),
}


@pytest.fixture(scope="module")
def setup() -> Setup:
    """More deliveries than invalid answers are borne."""
    attempts = ("EVERTURN_DELIVERY_ATTEMPTS", "5")
    return Setup(environment=(attempts, ("EVERTURN_RUNNABLE_SECONDS", "1")))


@pytest.fixture
def boss(client: Client) -> Iterator[DecidingWorker]:
    """A worker that decides for the agent `boss`."""
    with deciding_worker() as worker:
        tools = [tool("go", "read")]
        written = client.put_agent("boss", worker=worker.url, decides="worker", tools=tools)
        assert written.is_success, written.text
        yield worker


def said(request: dict[str, Any]) -> str:
    """Return the news of an input."""
    return str(request["trigger"]["messages"][-1]["content"])


def asked_about_inputs(answer: Callable[[str], Answer]) -> Callable[[dict[str, Any]], Answer]:
    """Return a worker that answers inputs so, and else what is proposed."""
    return lambda request: (
        answer(said(request)) if request["trigger"]["type"] == "client.messages" else echo(request)
    )


def test_an_invalid_answer_is_asked_for_three_times_and_applied_not_at_all(
    client: Client, boss: DecidingWorker
) -> None:
    """P-2, P-3, D-8, D-14: every kind at once, each in a session of its own."""
    boss.answer = asked_about_inputs(lambda name: INVALID[name][0])

    turns = {name: client.start(name, agent_id="boss") for name in INVALID}
    ended = {name: client.end_of(turn, within_s=60) for name, turn in turns.items()}

    assert {name: codes(one) for name, one in ended.items()} == {
        name: [code] * 3 for name, (_, code) in INVALID.items()
    }
    assert {one.completed["outcome"] for one in ended.values()} == {"failed"}
    assert not any(one.all("worker.state.updated") for one in ended.values())
    assert all("xxxxx" not in str(one.completed["error"]) for one in ended.values())


def codes(ended: Ended) -> list[str]:
    """Return the codes of the answers that were refused in a turn."""
    return [one["code"] for one in ended.all("decision.errored")]


def test_a_result_for_a_call_of_another_session_is_refused(
    client: Client, boss: DecidingWorker
) -> None:
    boss.answer = lambda request: (
        {} if request["trigger"]["type"] == "tool.execute" else echo(request)
    )
    other = client.start("[[call:go]][[say:{{result}}]]", agent_id="boss")
    until(lambda: "tool.execute" in boss.triggers())
    foreign = boss.last("tool.execute")["trigger"]["id"]
    boss.answer = asked_about_inputs(lambda _: action(type="tool.result", id=foreign, result="!"))

    ended = client.run("mine?", agent_id="boss", within_s=60)

    assert codes(ended) == ["unknown_call"] * 3
    assert client.session(other.session_id)["calls"][0]["status"] == "pending"
    settle(client, other, foreign, "by its own")
    assert client.end_of(other).answer == "by its own"


def settle(client: Client, turn: Turn, call_id: str, result: Any) -> None:
    """End a call from outside."""
    path = f"/v1/sessions/{turn.session_id}/calls/settle"
    body = {"type": "tool.result", "id": call_id, "result": result}
    assert client.http.post(path, json=body).json() == {"ok": True}


def test_an_answer_sent_later_for_another_session_is_refused(
    client: Client, boss: DecidingWorker
) -> None:
    boss.answer = asked_about_inputs(lambda _: None)
    turns = [client.start(text, agent_id="boss") for text in ("one", "two")]
    until(lambda: boss.triggers().count("client.messages") == len(turns))
    asked = {
        one["session_id"]: one for one in boss.asked if one["trigger"]["type"] != "session.start"
    }
    first, second = (asked[turn.session_id] for turn in turns)

    refused = submit(client, first, second["session_id"])

    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_decision")
    for one in (first, second):
        assert submit(client, one, one["session_id"]).json() == {"ok": True}
    assert [client.end_of(turn).answer for turn in turns] == ["echo: one", "echo: two"]


def submit(client: Client, asked: dict[str, Any], session_id: str) -> httpx.Response:
    """Answer a question about an input with what is proposed; the model is named, by F-1."""
    actions = [{"type": "llm.call", "model": "demo"}]
    answer = {"messages": asked["proposed"]["messages"], "actions": actions}
    body = {"session_id": session_id, "decision_id": asked["decision_id"], **answer}
    return client.http.post("/v1/workers/submit", json=body)


def test_tools_of_any_name_are_called_and_read_by_the_model(
    client: Client, boss: DecidingWorker
) -> None:
    """U-3, U-4: what a worker calls itself needs no declaration."""
    names = ["mail.send", "größe/№ 5", "x" * 300]

    functions = {f"call-{n}": {"name": one, "arguments": "{}"} for n, one in enumerate(names)}

    def calling(request: dict[str, Any]) -> Answer:
        match request["trigger"]:
            case {"type": "client.messages"}:
                calls = [
                    {"id": one, "type": "function", "function": function}
                    for one, function in functions.items()
                ]
                reply = {"role": "assistant", "tool_calls": calls}
                actions = [
                    {"type": "tool.call", "id": one, **function}
                    for one, function in functions.items()
                ]
                messages = [*request["proposed"]["messages"], reply]
                return {"messages": messages, "actions": actions}
            case {"type": "tool.execute", "name": name}:
                return {"actions": [{"type": "tool.result", "result": f"did {name}"}]}
            case _:
                return echo(request)

    boss.answer = calling
    ended = client.run("Do it.", agent_id="boss")

    results = [one["result"] for one in ended.all("tool.call.completed")]
    assert results == [f"did {name}" for name in names]
    assert ended.completed["outcome"] == "done"
