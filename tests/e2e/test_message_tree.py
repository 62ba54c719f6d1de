"""Edits, regeneration and switches over real sockets, and what others see of them."""

from __future__ import annotations

from typing import Any

import httpx

from e2e.client import Client, Ended, Turn
from e2e.deciding_worker import DecidingWorker, deciding_worker
from e2e.scripted_worker import ScriptedWorker, result, tool
from e2e.socket_client import Follower


def view_of(client: Client, session_id: str, view: list[dict[str, Any]], **more: Any) -> Ended:
    """Send a view, which is to be accepted, and wait for the end of its turn."""
    wanted = {"type": "client.messages", "agent_id": "demo", "messages": view, **more}
    response = client.post({"session_id": session_id, "input": wanted})
    assert response.status_code == httpx.codes.ACCEPTED, response.text
    return client.end_of(Turn(session_id, response.json()["turn_id"]))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def contents(client: Client, session_id: str) -> list[Any]:
    return [message.get("content") for message in client.messages(session_id)]


def tree_of(client: Client, session_id: str) -> dict[str, Any]:
    answer = client.http.get(f"/v1/sessions/{session_id}", params={"tree": 1}).json()
    tree: dict[str, Any] = answer["message_tree"]
    return tree


def test_an_edited_message_is_answered_and_the_old_branch_can_be_gone_back_to(
    client: Client,
) -> None:
    """V-2, V-5, V-8, G-1, conformance 20 to 22."""
    session = client.run("[[say:one]]").session_id
    client.run("[[say:two]]", session)
    old = client.messages(session)

    edited = view_of(client, session, [*old[:2], user("[[say:{{messages}} shown]]")])
    regenerated = view_of(client, session, client.messages(session)[:3])
    back = view_of(client, session, old)
    after = client.run("[[say:{{prev}}]]", session)

    assert edited.answer == "4 shown"
    moved = regenerated.only("head.moved")
    assert moved["from"] == edited.only("llm.call.completed")["id"]
    assert regenerated.answer == "4 shown"
    assert (back.answer, back.all("llm.call.requested")) == ("two", [])
    assert after.answer == "[[say:two]]"
    assert contents(client, session) == [
        "[[say:one]]",
        "one",
        "[[say:two]]",
        "two",
        "[[say:{{prev}}]]",
        "[[say:two]]",
    ]
    tree = tree_of(client, session)
    parents = {node["message"]["id"]: node.get("parent_id") for node in tree["nodes"]}
    assert len(parents) == 9
    assert sum(parent == old[1]["id"] for parent in parents.values()) == 2
    assert tree["head_id"] == client.messages(session)[-1]["id"]


def test_a_reader_of_the_stream_sees_the_head_move(client: Client) -> None:
    """E-7, V-5: `head.moved` where nothing was written, `parent_id` where something was."""
    session = client.run("[[say:one]]").session_id
    first, _ = client.messages(session)
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(session)
        follower.until_end(socket)

        again = view_of(client, session, [first])
        follower.until_end(socket, turns=2)

    moved = [one for one in follower.events if one["type"] == "head.moved"]
    assert [one["to"] for one in moved] == [first["id"]]
    written = again.all("message.new")
    assert [one["parent_id"] for one in written] == [first["id"]]


def test_a_new_root_forgets_everything_but_the_agent(client: Client) -> None:
    """V-4: a view without ids begins anew."""
    session = client.run("[[say:one]]").session_id

    ended = view_of(client, session, [user("[[say:{{messages}}]]")])

    assert ended.answer == "2"  # the system prompt, and the message
    assert contents(client, session) == ["[[say:{{messages}}]]", "2"]


def test_a_workers_state_is_that_of_the_branch(client: Client, worker: ScriptedWorker) -> None:
    """Z-2, Z-4, conformance 24."""
    client.put_agent(worker=worker.url, tools=[tool("count", "idempotent_write")])
    worker.plays("count", *(result("ok", state={"n": n}) for n in (1, 2, 3)))
    session = client.run("[[call:count]][[say:one]]").session_id
    base = client.messages(session)
    client.run("[[call:count]][[say:two]]", session)

    view_of(client, session, [*base, user("[[call:count]][[say:edited]]")])

    assert [one.request["state"] for one in worker.deliveries] == [None, {"n": 1}, {"n": 1}]


def test_a_worker_that_decides_is_sent_every_branch(client: Client) -> None:
    """Q-1, V-3, V-7."""
    with deciding_worker() as worker:
        asked = _deciding(client, worker)

    last = [one for one in asked if one["trigger"]["type"] == "client.messages"][-1]
    assert [m["content"] for m in last["messages"]] == ["[[say:one]]", "one", "[[say:two]]", "two"]
    assert [m["content"] for m in last["trigger"]["messages"]] == [
        "[[say:one]]",
        "one",
        "[[say:edited]]",
    ]
    assert last["trigger"]["new_from"] == 2
    assert len(asked[-1]["message_tree"]["nodes"]) == 5


def _deciding(client: Client, worker: DecidingWorker) -> list[dict[str, Any]]:
    client.put_agent(worker=worker.url, decides="worker")
    session = client.run("[[say:one]]").session_id
    client.run("[[say:two]]", session)
    base = client.messages(session)
    edited = view_of(client, session, [*base[:2], user("[[say:edited]]")])
    assert edited.answer == "edited"
    assert contents(client, session)[2:] == ["[[say:edited]]", "edited"]
    return worker.asked


def test_a_paused_branch_is_left_and_found_paused_again(client: Client) -> None:
    """I-6, I-7, T-13, conformance 26."""
    client.put_agent()
    session = client.run("[[say:one]]").session_id
    base = client.messages(session)
    paused = client.start("[[sleep:60000]][[say:never]]", session)
    stopped = client.http.post(f"/v1/sessions/{session}/interrupt", json={"reason": "wait"})
    interrupt_id = stopped.json()["interrupt_id"]

    refused = client.say("more", session)
    away = view_of(client, session, [*base, user("[[say:elsewhere]]")])
    again = client.say("x", session, paused.turn_id).json()
    resumed = client.http.post(
        f"/v1/sessions/{session}/resume", json={"interrupt_id": interrupt_id}
    )

    assert (refused.status_code, refused.json()["code"]) == (409, "session_interrupted")
    assert away.answer == "elsewhere"
    assert (again["duplicate"], again["turn_status"]) == (True, "parked")
    assert resumed.json()["resumed"] is True
    assert client.end_of(paused).completed["outcome"] == "abandoned"
    assert client.session(session)["status"] == "done"
