"""Agents that the engine decides and whose model calls the worker runs; pauses of the engine's."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from e2e.client import PATIENT, Client, Turn
from e2e.deciding_worker import Answer, DecidingWorker, deciding_worker
from e2e.scripted_worker import tool
from e2e.socket_client import until_seen, watched_turn
from e2e.waiting import until

LOOK = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.fixture
def model() -> Iterator[DecidingWorker]:
    """A worker that runs model calls."""
    with deciding_worker() as worker:
        worker.answer = lambda _request: replied("From afar.")
        yield worker


def replied(content: str | None, **more: Any) -> dict[str, Any]:
    """Return what a worker answers that ran a model call."""
    reply = {"model": "m-large", "content": content, **more}
    return {"actions": [{"type": "llm.result", "response": reply}]}


def failed(error: str, **more: Any) -> dict[str, Any]:
    """Return what a worker answers whose model call failed."""
    return {"actions": [{"type": "llm.error", "error": error, **more}]}


def served_by(client: Client, worker: DecidingWorker, **more: Any) -> None:
    """Write the agent whose model calls this worker runs; the engine decides."""
    definition = {
        "model": "m-large",
        "handler": "worker",
        "worker": worker.url,
        "tools": [tool("look")],
        "retry": PATIENT,
    }
    written = client.put_agent("engine", **{**definition, **more})
    assert written.status_code in {200, 201}, written.text


def post(client: Client, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    """Post to a route; return status and body."""
    response = client.http.post(path, json=body)
    return response.status_code, response.json()


def paused(client: Client, turn: Turn) -> dict[str, Any]:
    """Wait until a session is paused; return the one interrupt."""
    read = until(
        lambda: client.session(turn.session_id), lambda one: one["status"] == "interrupted"
    )
    (interrupt,) = read["interrupts"]
    assert read["turn_id"] == turn.turn_id
    return dict(interrupt)


def test_the_worker_runs_tools_and_model_calls_and_decides_nothing(
    client: Client, model: DecidingWorker
) -> None:
    """O-10, 8.4, 8.6, W-1."""
    served_by(client, model)

    def run(request: dict[str, Any]) -> Answer:
        if request["trigger"]["type"] == "tool.execute":
            return {"actions": [{"type": "tool.result", "result": "a wall"}]}
        roles = [one["role"] for one in request["trigger"]["request"]["messages"]]
        return replied("I see a wall.") if "tool" in roles else replied(None, tool_calls=[LOOK])

    model.answer = run
    ended = client.run("Look.", agent_id="engine")

    assert model.triggers() == ["llm.execute", "tool.execute", "llm.execute"]
    assert ended.answer == "I see a wall."
    assert ended.all("llm.call.requested")[0]["handler"] == "worker"


def test_a_reply_is_streamed_to_those_who_watch(client: Client, model: DecidingWorker) -> None:
    """W-8, W-10."""
    served_by(client, model)
    model.answer = lambda _request: replied("Yes.")
    session_id = client.run("Are you there?", agent_id="engine").session_id
    is_watched = Event()

    def streaming(_request: dict[str, Any]) -> Answer:
        is_watched.wait(10)
        return [
            ("llm.token.delta", {"text": "It is "}),
            ("llm.token.delta", {"text": "clear."}),
            ("decision.result", replied("It is clear.")),
        ]

    model.answer = streaming
    with client.connect() as socket:
        turn, frames = watched_turn(
            socket,
            session_id,
            lambda: client.start("How is it?", session_id, agent_id="engine"),
            is_watched,
        )

    deltas = [frame["delta"].get("text", "") for frame in frames if frame["type"] == "delta"]
    assert "".join(deltas) == "It is clear."
    assert client.end_of(turn).answer == "It is clear."


def test_anthropics_bodies_are_spoken_both_ways(client: Client, model: DecidingWorker) -> None:
    """Conformance 18: W-6, W-7."""
    served_by(client, model, format="anthropic", system="Be brief.")
    native = {
        "content": [{"type": "text", "text": "Far."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 12, "output_tokens": 3},
    }
    model.answer = lambda _request: {"actions": [{"type": "llm.result", "response": native}]}

    ended = client.run("How is it?", agent_id="engine")

    sent = model.last("llm.execute")["trigger"]
    assert (sent["format"], sent["request"]["system"]) == ("anthropic", "Be brief.")
    assert (ended.answer, ended.completed["usage"]["input_tokens"]) == ("Far.", 12)


def test_a_model_call_that_was_left_open_is_settled_through_the_api(
    client: Client, model: DecidingWorker
) -> None:
    """8.6, U-6, U-12: once."""
    served_by(client, model)
    model.answer = lambda _request: {}
    turn = client.start("Hello.", agent_id="engine")
    until(lambda: "decision.completed" in _after_dispatch(client, turn))
    call_id = model.last("llm.execute")["trigger"]["id"]

    path = f"/v1/sessions/{turn.session_id}/calls/settle"
    reply = {"model": "m-large", "content": "By phone."}
    body = {"type": "llm.result", "id": call_id, "response": reply}
    first, again = post(client, path, body), post(client, path, body)

    assert first == (200, {"ok": True})
    assert (again[0], again[1]["code"]) == (409, "call_not_open")
    assert client.end_of(turn).answer == "By phone."


def _after_dispatch(client: Client, turn: Turn) -> list[str]:
    """Return the types of a turn's events from the delivery on."""
    types = [one["payload"]["type"] for one in client.events(turn.session_id, turn.turn_id)]
    return types[types.index("decision.dispatched") :] if "decision.dispatched" in types else []


def test_an_answer_is_sent_later(client: Client, model: DecidingWorker) -> None:
    """D-7, D-11: `202`, then `workers/submit`, once."""
    served_by(client, model)
    model.answer = lambda _request: None
    turn = client.start("Hello.", agent_id="engine")
    until(lambda: "decision.deferred" in _after_dispatch(client, turn))
    asked = model.last("llm.execute")

    answer = replied("Late.")
    answer["actions"][0]["id"] = asked["trigger"]["id"]
    body = {"session_id": turn.session_id, "decision_id": asked["decision_id"], **answer}
    first, again = (
        post(client, "/v1/workers/submit", body),
        post(client, "/v1/workers/submit", body),
    )

    assert (first, again) == ((200, {"ok": True}), (200, {"ok": True, "duplicate": True}))
    assert client.end_of(turn).answer == "Late."


def test_a_failure_that_may_pass_is_ordered_again(client: Client, model: DecidingWorker) -> None:
    """R-3: with the agent's own policy."""
    served_by(client, model)
    model.answer = lambda request: (
        failed("busy", code="rate_limited", retryable=True)
        if request["trigger"]["attempt"] < 3
        else replied("At last.")
    )

    ended = client.run("Hello.", agent_id="engine")

    assert ended.answer == "At last."
    assert [one["attempt"] for one in ended.all("llm.call.dispatched")] == [1, 2, 3]


def test_a_model_that_fails_pauses_the_session_until_somebody_resumes(
    client: Client, model: DecidingWorker
) -> None:
    """8.7, O-4, I-6, I-14: over HTTP and a WebSocket."""
    served_by(client, model, on_failure="interrupt")
    model.answer = lambda _request: failed("no such model", code="provider_error")
    turn = client.start("Hello.", agent_id="engine")
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        seen = list(until_seen(socket, "session.interrupted"))[-1]["event"]["payload"]
    interrupt = paused(client, turn)
    refused = client.say("Hello?", turn.session_id, agent_id="engine")

    model.answer = lambda _request: replied("All is well.")
    path = f"/v1/sessions/{turn.session_id}/resume"
    body = {"interrupt_id": interrupt["interrupt_id"], "payload": {"retry": True}}
    first, again = post(client, path, body), post(client, path, body)

    assert (interrupt["reason"], interrupt["origin"]) == ("llm_failed", "frontend")
    assert interrupt["payload"]["error"] == "no such model"
    assert interrupt["payload"]["code"] == "provider_error"
    assert seen["interrupt_id"] == interrupt["interrupt_id"]
    assert (refused.status_code, refused.json()["code"]) == (409, "session_interrupted")
    assert (first[1]["resumed"], again[1]["resumed"]) == (True, False)
    assert client.end_of(turn).answer == "All is well."


def test_a_reply_that_was_cut_off_pauses_and_is_asked_for_again(
    client: Client, model: DecidingWorker
) -> None:
    """8.7, G-4, I-14: resumed by an input; nothing of the half stays."""
    served_by(client, model, on_truncated="interrupt")
    model.answer = lambda _request: replied("half an ans", finish_reason="length")
    turn = client.start("Hello.", agent_id="engine")
    interrupt = paused(client, turn)

    model.answer = lambda _request: replied("A whole answer.")
    resume = {"type": "interrupt.resume", "interrupt_id": interrupt["interrupt_id"]}
    resumed = client.post({"session_id": turn.session_id, "input": resume})
    ended = client.end_of(turn)

    assert interrupt["reason"] == "llm_truncated"
    assert interrupt["payload"]["message"]["content"] == "half an ans"
    assert resumed.json()["resumed"] is True
    messages = client.session(turn.session_id)["messages"]
    assert [one["content"] for one in messages] == ["Hello.", "A whole answer."]
    assert "truncated" not in ended.completed


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("[[error:auth no key]]", "llm_failed"),
        ("[[say:half]][[finish:max_tokens]]", "llm_truncated"),
    ],
)
def test_a_provider_s_model_pauses_as_well(client: Client, script: str, reason: str) -> None:
    """8.7, I-14: each time anew."""
    client.put_agent(on_failure="interrupt", on_truncated="interrupt")
    turn = client.start(script)
    first = paused(client, turn)

    path = f"/v1/sessions/{turn.session_id}/resume"
    post(client, path, {"interrupt_id": first["interrupt_id"]})
    second = until(
        lambda: client.session(turn.session_id)["interrupts"],
        lambda found: found and found != [first],
    )[0]
    client.left_open.add(turn.session_id)

    assert (first["reason"], second["reason"]) == (reason, reason)
