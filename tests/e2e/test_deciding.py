"""Agents that their worker decides, over real sockets: what a worker's author would see."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from e2e.client import Client, Ended, Turn
from e2e.deciding_worker import Answer, DecidingWorker, deciding_worker, echo
from e2e.scripted_worker import tool
from e2e.socket_client import watched_turn
from e2e.waiting import until

OPENAI_REPLY = {
    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Far."}}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3},
}


@pytest.fixture
def boss() -> Iterator[DecidingWorker]:
    """A worker that decides; it echoes until it is told otherwise."""
    with deciding_worker() as worker:
        yield worker


def decided_by(client: Client, worker: DecidingWorker, **more: Any) -> None:
    """Write the agent that this worker decides for."""
    written = client.put_agent(
        "boss", worker=worker.url, decides="worker", **{"tools": [tool("go", "read")], **more}
    )
    assert written.status_code in {200, 201}, written.text


def later(request: dict[str, Any]) -> Answer:
    """Leave tools open, echo the rest."""
    return {} if request["trigger"]["type"] == "tool.execute" else echo(request)


def post(client: Client, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    """Post to a route; return status and body."""
    response = client.http.post(path, json=body)
    return response.status_code, response.json()


def test_a_worker_that_echoes_is_like_none(client: Client, boss: DecidingWorker) -> None:
    """Conformance 1 and 2."""
    decided_by(client, boss)

    ended = client.run("[[say:Hello there]]", agent_id="boss")
    again = client.run("still there?", ended.session_id, agent_id="boss")

    assert (ended.answer, again.answer) == ("Hello there", "echo: still there?")
    assert boss.triggers()[:3] == ["session.start", "client.messages", "llm.finished"]
    assert len(ended.all("turn.completed")) == 1
    request = boss.last("llm.finished")
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]


def test_a_tool_that_was_left_open_is_settled_through_the_api(
    client: Client, boss: DecidingWorker
) -> None:
    """Conformance 9: once."""
    decided_by(client, boss)
    boss.answer = later
    turn = client.start("[[call:go]][[say:{{result}}]]", agent_id="boss")
    until(lambda: "tool.execute" in boss.triggers())
    call_id = boss.last("tool.execute")["trigger"]["id"]

    path = f"/v1/sessions/{turn.session_id}/calls/settle"
    body = {"type": "tool.result", "id": call_id, "result": "by phone"}
    first = post(client, path, body)
    again = post(client, path, body)

    assert first == (200, {"ok": True})
    assert (again[0], again[1]["code"]) == (409, "call_not_open")
    assert client.end_of(turn).answer == "by phone"


def test_an_answer_is_sent_later(client: Client, boss: DecidingWorker) -> None:
    """D-7, D-11, D-12, F-1."""
    decided_by(client, boss)
    boss.answer = lambda request: (
        None if request["trigger"]["type"] == "llm.finished" else echo(request)
    )
    turn = client.start("[[say:Hello there]]", agent_id="boss")
    until(lambda: "llm.finished" in boss.triggers())
    asked = boss.last("llm.finished")
    decision = asked["decision_id"]
    until(lambda: "decision.deferred" in types(client, turn))

    body = {"session_id": turn.session_id, "decision_id": decision, **asked["proposed"]}
    first = post(client, "/v1/workers/submit", body)
    again = post(client, "/v1/workers/submit", body)
    never = post(client, "/v1/workers/submit", {**body, "decision_id": "never"})

    assert (first, again) == ((200, {"ok": True}), (200, {"ok": True, "duplicate": True}))
    assert (never[0], never[1]["code"]) == (404, "unknown_decision")
    assert client.end_of(turn).answer == "Hello there"


def types(client: Client, turn: Turn) -> list[str]:
    """Return the types of a turn's events so far."""
    return [one["payload"]["type"] for one in client.events(turn.session_id, turn.turn_id)]


def test_a_client_runs_the_tools_that_it_brings(client: Client, boss: DecidingWorker) -> None:
    """Conformance 32 and 33: K-4, U-6, U-7."""
    decided_by(client, boss, tools=[])
    view = {
        "type": "client.messages",
        "agent_id": "boss",
        "messages": [{"role": "user", "content": "[[call:pick]][[say:{{result}}]]"}],
        "client": {"tools": [{"name": "pick", "description": "Picks a colour."}]},
    }
    accepted = client.post({"input": view}).json()
    turn = Turn(accepted["session_id"], accepted["turn_id"])
    idle = until(lambda: client.session(turn.session_id), lambda one: one["status"] == "idle")

    answered = client.post(
        {
            "session_id": turn.session_id,
            "input": {"type": "tool.result", "id": idle["calls"][0]["id"], "result": "blue"},
        }
    )

    assert (answered.status_code, answered.json()["ok"]) == (202, True)
    assert client.end_of(turn).answer == "blue"


def test_a_worker_pauses_and_somebody_resumes(client: Client, boss: DecidingWorker) -> None:
    """Conformance 25: I-8, I-13."""
    decided_by(client, boss)

    def careful(request: dict[str, Any]) -> Answer:
        match request["trigger"]["type"]:
            case "tool.execute":
                return {"actions": [{"type": "interrupt", "reason": "may_i"}]}
            case "interrupt.resumed":
                said = request["trigger"]["payload"]
                return {"actions": [{"type": "tool.result", "result": said}]}
            case _:
                return echo(request)

    boss.answer = careful
    turn = client.start("[[call:go]][[say:{{result}}]]", agent_id="boss")
    paused = until(
        lambda: client.session(turn.session_id), lambda one: one["status"] == "interrupted"
    )
    (interrupt,) = paused["interrupts"]
    refused = client.say("Hello?", turn.session_id, agent_id="boss")

    path = f"/v1/sessions/{turn.session_id}/resume"
    body = {"interrupt_id": interrupt["interrupt_id"], "payload": "yes"}
    first, again = post(client, path, body), post(client, path, body)

    assert (interrupt["reason"], interrupt["origin"]) == ("may_i", "frontend")
    assert (refused.status_code, refused.json()["code"]) == (409, "session_interrupted")
    assert (first[0], first[1]["resumed"], again[1]["resumed"]) == (202, True, False)
    assert client.end_of(turn).answer == "yes"


def test_a_worker_calls_its_own_model_and_streams(client: Client, boss: DecidingWorker) -> None:
    """W-1, W-8, W-10."""
    decided_by(client, boss, handler="worker", model="m-large")
    reply = {"model": "m-large", "content": "It is clear."}
    result = {"type": "llm.result", "response": reply}
    boss.answer = lambda request: (
        {"actions": [result]} if request["trigger"]["type"] == "llm.execute" else echo(request)
    )
    session_id = client.run("Are you there?", agent_id="boss").session_id
    is_watched = Event()

    def streaming(request: dict[str, Any]) -> Answer:
        if request["trigger"]["type"] != "llm.execute":
            return echo(request)
        is_watched.wait(10)
        return [
            ("llm.token.delta", {"text": "It is "}),
            ("llm.token.delta", {"text": "clear."}),
            ("decision.result", {"actions": [result]}),
        ]

    boss.answer = streaming
    with client.connect() as socket:
        turn, frames = watched_turn(
            socket,
            session_id,
            lambda: client.start("How is it?", session_id, agent_id="boss"),
            is_watched,
        )

    deltas = [frame["delta"].get("text", "") for frame in frames if frame["type"] == "delta"]
    assert "".join(deltas) == "It is clear."
    assert client.end_of(turn).answer == "It is clear."
    assert boss.last("llm.execute")["trigger"]["stream"] is True


def test_a_worker_speaks_openais_bodies(client: Client, boss: DecidingWorker) -> None:
    """Conformance 18: W-4, W-5, Y-2."""
    decided_by(client, boss, handler="worker", format="openai", model="m-large", system="Be brief.")

    def native(request: dict[str, Any]) -> Answer:
        if request["trigger"]["type"] != "llm.execute":
            return echo(request)
        return {"actions": [{"type": "llm.result", "response": OPENAI_REPLY}]}

    boss.answer = native
    ended = client.run("How is it?", agent_id="boss")

    sent = boss.last("llm.execute")["trigger"]
    assert sent["format"] == "openai"
    assert [message["role"] for message in sent["request"]["messages"]] == ["system", "user"]
    assert sent["request"]["tools"][0]["type"] == "function"
    assert ended.answer == "Far."
    assert ended.completed["usage"]["input_tokens"] == 12


def test_a_worker_that_talks_nonsense_fails_the_turn_readably(
    client: Client, boss: DecidingWorker
) -> None:
    """Conformance 14: D-8, D-14; the session lives on."""
    decided_by(client, boss)
    boss.answer = lambda request: (
        {"actions": [{"type": "fly"}]}
        if request["trigger"]["type"] == "llm.finished"
        else echo(request)
    )

    ended = client.run("Hello.", agent_id="boss", within_s=40)
    boss.answer = echo
    again = client.run("still there?", ended.session_id, agent_id="boss")

    assert ended.completed["outcome"] == "failed"
    assert ended.completed["error"]["message"].startswith("/actions/0: unknown type")
    assert again.completed["outcome"] == "done"


def test_an_action_reaches_the_worker_as_it_is(client: Client, boss: DecidingWorker) -> None:
    """Conformance 5: 8.3."""
    decided_by(client, boss)
    action = {"type": "client.action", "agent_id": "boss", "name": "mode", "args": {"a": [1]}}

    accepted = client.post({"input": action}).json()
    turn = Turn(accepted["session_id"], accepted["turn_id"])
    until(lambda: "turn.stalled" in types(client, turn))
    again = client.run("Hello.", turn.session_id, agent_id="boss")

    assert boss.last("client.action")["trigger"] == {
        "type": "client.action",
        "name": "mode",
        "args": {"a": [1]},
    }
    assert outcome_of(client, turn) == "quiescent"
    assert again.completed["outcome"] == "done"


def outcome_of(client: Client, turn: Turn) -> str:
    """Return how a turn ended."""
    ended = Ended(turn, client.events(turn.session_id, turn.turn_id))
    return str(ended.completed["outcome"])
