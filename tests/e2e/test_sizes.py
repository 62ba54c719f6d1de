"""What large things and long histories do elsewhere. Source: field cases F7, F17, F18, F19."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from e2e.aging import age, written_by
from e2e.client import Client, Ended, message_body
from e2e.scripted_worker import Act, ScriptedWorker, result, tool
from everturn_local.runtime import LocalRuntime

MB = 1024 * 1024
CONTEXT_BYTES = 800_000
TOO_LARGE = f"The result of fetch is over {2 * MB} bytes."


def test_f17_one_screenshot_over_the_item_limit_leaves_the_session_usable(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("viewer", worker=worker.url, tools=[tool("shoot")])
    worker.plays("shoot", result("s" * 450_000))
    first = client.run("[[call:shoot]][[say:shot]]", agent_id="viewer")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 300_000}}
    body = message_body("", first.session_id, agent_id="viewer")
    content: list[Any] = [{"type": "text", "text": "[[say:seen {{messages}}]]"}, *[image] * 3]
    body["input"]["message"]["content"] = content

    posted = client.post(body)
    client.idle(first.session_id)
    last = client.run("plain", first.session_id, agent_id="viewer")

    assert posted.status_code == 202
    assert last.answer == "echo: plain"
    messages = client.messages(first.session_id)
    assert [one["role"] for one in messages] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant"),
        *("user", "assistant"),
    ]
    assert messages[2]["content"] == "s" * 450_000
    assert messages[4]["content"] == content


@pytest.mark.parametrize("effect", ["read", "idempotent_write", "non_idempotent_write"])
def test_f18_an_oversize_result_is_one_typed_error_and_no_redelivery(
    client: Client, worker: ScriptedWorker, effect: str
) -> None:
    ended = fetched(client, worker, result("x" * 7 * MB), effect)

    assert len(worker.deliveries) == 1
    assert ended.answer == f"ERROR: {TOO_LARGE}"
    assert [facts_of(one) for one in ended.all("tool.call.errored")] == [
        {"error": TOO_LARGE, "attempt": 1, "retryable": False, "detail": {"reason": "too_large"}}
    ]
    assert ended.all("decision.errored") == []


def test_f18_an_answer_over_every_limit_is_one_typed_error_and_no_redelivery(
    client: Client, worker: ScriptedWorker
) -> None:
    ended = fetched(client, worker, result("x" * 9 * MB), "read")

    assert len(worker.deliveries) == 1
    assert ended.answer == "ERROR: the answer is larger than it may be"
    (errored,) = ended.all("decision.errored")
    assert (errored["code"], errored["retryable"]) == ("too_large", False)
    (failed,) = ended.all("tool.call.errored")
    assert (failed["code"], failed["detail"]) == ("provider_error", {"reason": "too_large"})


def fetched(client: Client, worker: ScriptedWorker, act: Act, effect: str) -> Ended:
    """Run a turn whose tool is answered so, and one more turn to show that one can."""
    client.put_agent("reader", worker=worker.url, tools=[tool("fetch", effect)])
    worker.plays("fetch", act)
    ended = client.run("[[call:fetch]][[say:{{result}}]]", agent_id="reader")

    assert ended.completed["outcome"] == "done"
    again = client.run("still there?", ended.session_id, agent_id="reader")
    assert again.answer == "echo: still there?"
    return ended


def facts_of(errored: dict[str, Any]) -> dict[str, Any]:
    """Return what a failed call says, without the names of things."""
    kept = ("error", "attempt", "retryable", "code", "detail")
    return {name: errored[name] for name in kept if name in errored}


def test_f7_a_large_state_is_readable_before_anything_that_follows_it(
    client: Client, worker: ScriptedWorker
) -> None:
    state = {"pages": [f"{n:04d}" * 250 for n in range(1_200)]}
    tools = [tool("keep", "non_idempotent_write"), tool("look", "non_idempotent_write")]
    client.put_agent("keeper", worker=worker.url, tools=tools)
    worker.plays("keep", result("kept", state=state))
    worker.plays("look", result("seen"))

    first = client.run("[[call:keep]][[call:look]][[turn]][[call:look]]", agent_id="keeper")
    client.run("[[call:look]]", first.session_id, agent_id="keeper")

    assert len(json.dumps(state)) > 1.2 * 1000 * 1000
    assert [one.request["state"] for one in worker.deliveries] == [None, state, state, state]
    assert [one["state"] for one in first.all("worker.state.updated")] == [state]


def test_f7_a_large_state_is_readable_at_the_moment_its_event_is_announced(
    client: Client, worker: ScriptedWorker
) -> None:
    state = {"pages": [f"{n:04d}" * 250 for n in range(1_200)]}
    client.put_agent("keeper", worker=worker.url, tools=[tool("keep", "non_idempotent_write")])
    worker.plays("keep", result("kept", state=state), result("kept again", state={"pages": []}))
    session_id = client.run("hello", agent_id="keeper").session_id
    at = client.session(session_id)["seq"]

    with client.connect() as socket:
        socket.subscribe(session_id, after=str(at))
        turn = client.start("[[call:keep]]", session_id, agent_id="keeper")
        told = next(frame for frame in socket.frames() if is_of(frame, "worker.state.updated"))
        page = client.page(session_id, after_seq=told["seq"] - 1, limit=1).json()
        shown = client.session(session_id)
    client.end_of(turn)
    next_turn = client.run("[[call:keep]]", session_id, agent_id="keeper")

    assert len(json.dumps(state)) > 1.2 * 1000 * 1000
    assert told["type"] == "event_ref"
    (event,) = page["events"]
    assert (event["seq"], event["payload"]["state"]) == (told["seq"], state)
    assert shown["seq"] >= told["seq"]
    assert worker.deliveries[-1].request["state"] == state
    assert [one["state"] for one in next_turn.all("worker.state.updated")] == [{"pages": []}]


def is_of(frame: dict[str, Any], event_type: str) -> bool:
    """Return whether a frame announces an event of that type."""
    announced = frame["event"]["payload"]["type"] if frame["type"] == "event" else None
    return event_type in {announced, frame.get("event_type")}


@pytest.mark.slow
def test_f19_a_turn_of_a_session_of_6500_events_writes_what_a_young_one_does(
    client: Client, runtime: LocalRuntime
) -> None:
    young, old = client.run("hello").session_id, client.run("hello").session_id
    age(client.tenant, young, 100)
    assert age(client.tenant, old, 6_500) >= 6_500

    first = written_by(runtime, client, young, lambda: client.run("hello again", young))
    second = written_by(runtime, client, old, lambda: client.run("hello again", old))

    assert (first.transactions, second.transactions) == (2, 2)
    assert second.units == pytest.approx(first.units, rel=0.1)
    assert sum(second.commit_bytes) == pytest.approx(sum(first.commit_bytes), rel=0.1)
    assert (first.object_bytes, second.object_bytes) == (0, 0)


@pytest.mark.slow
def test_f19_a_heavy_turn_on_a_large_context_writes_no_more_from_step_to_step(
    client: Client, worker: ScriptedWorker, runtime: LocalRuntime
) -> None:
    client.put_agent("digger", worker=worker.url, tools=[tool("dig")])
    worker.plays("dig", *(result(ore(n)) for n in range(100)))
    session_id = client.run("hello", agent_id="digger").session_id
    script = "[[call:dig]][[turn]]" * 100 + "[[say:dug]]" + "c" * CONTEXT_BYTES

    written = written_by(
        runtime,
        client,
        session_id,
        lambda: client.run(script, session_id, agent_id="digger", within_s=40),
    )

    assert len(worker.deliveries) == 100
    assert written.transactions == 202
    _, *steps, _ = written.commit_bytes
    assert max(steps[-20:]) <= 1.1 * max(steps[:20]) < 5_000
    assert written.object_bytes < CONTEXT_BYTES + 5_000
    assert written.units < 202 * 20


def ore(n: int) -> str:
    """Return 5 KB that hardly compress."""
    return "".join(sha256(f"{n} {line}".encode()).hexdigest() for line in range(80))[:5_000]
