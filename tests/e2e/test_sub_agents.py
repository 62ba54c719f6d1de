"""Sub-agents over real sockets: what a user, a worker's author and a reader of streams see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from e2e.client import Client, Ended, Turn
from e2e.deciding_worker import Answer, DecidingWorker, deciding_worker, echo
from e2e.socket_client import Follower
from e2e.tenancy import mint
from e2e.waiting import until

ASKS = '[[call:poet {"message": "[[say:Soft rain]]"}]][[turn]][[say:It says {{result}}]]'


@pytest.fixture
def boss() -> Iterator[DecidingWorker]:
    """A worker that decides; it echoes until it is told otherwise."""
    with deciding_worker() as worker:
        yield worker


def with_poet(client: Client, **of_poet: Any) -> None:
    """Write an agent that may start another one."""
    starts = {"sub_agents": [{"id": "poet", "description": "Writes poems."}]}
    assert client.put_agent("helper", **starts).is_success
    assert client.put_agent("poet", **of_poet).is_success


def child_of(client: Client, session_id: str) -> str:
    """Wait until a session has a child; return its id."""

    def asked() -> list[str]:
        return [
            event["payload"]["session_id"]
            for event in client.events(session_id)
            if event["payload"]["type"] == "sub_agent.requested"
        ]

    child = until(asked)[0]
    client.touched[child] = None
    return child


def test_a_child_answers_the_call_that_started_it_and_has_a_stream_of_its_own(
    client: Client,
) -> None:
    """Conformance 29, E-5, E-7, S-2."""
    with_poet(client)

    ended = client.run(ASKS, agent_id="helper")

    assert ended.answer == "It says Soft rain"
    child = child_of(client, ended.session_id)
    heard = ended.only("sub_agent.turn_completed")
    assert (heard["session_id"], heard["result"]) == (child, "Soft rain")
    session = client.session(child)
    assert (session["agent_id"], session["status"]) == ("poet", "done")
    assert session["ancestry"] == [ended.session_id]
    assert [one["content"] for one in session["messages"]] == ["[[say:Soft rain]]", "Soft rain"]
    created = client.events(child)[0]["payload"]
    assert created["parent"] == {
        "session_id": ended.session_id,
        "tool_call_id": ended.only("sub_agent.requested")["id"],
    }
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(child)
        follower.until_end(socket)
    assert "turn.started" in follower.types()


def test_children_are_left_out_of_lists_and_are_their_owners(client: Client) -> None:
    """S-2: a child inherits its parent's owner, whose token reads it and nobody else's."""
    with_poet(client)
    ended = client.run(ASKS, agent_id="helper")
    child = child_of(client, ended.session_id)

    listed = client.http.get("/v1/sessions", params={"limit": 200}).json()["sessions"]
    mine, others = (
        httpx.get(
            f"{client.http_url}/v1/sessions/{child}",
            headers={"authorization": f"Bearer {mint(client, owner)}"},
            timeout=10,
        ).status_code
        for owner in ("default", "u2")
    )

    assert child not in [one["session_id"] for one in listed]
    assert (mine, others) == (200, 404)


def test_a_client_token_is_shown_children_but_not_boxes(client: Client) -> None:
    """E-8, E-9."""
    with_poet(client)
    ended = client.run(ASKS, agent_id="helper")
    child = child_of(client, ended.session_id)
    token = {"authorization": f"Bearer {mint(client, 'default')}"}

    def shown(session_id: str) -> set[str]:
        page = httpx.get(
            f"{client.http_url}/v1/sessions/{session_id}/events",
            params={"limit": 500},
            headers=token,
            timeout=10,
        )
        return {event["payload"]["type"] for event in page.json()["events"]}

    assert {"sub_agent.started", "session.message_requested"} <= shown(ended.session_id)
    hidden = {"inbox.enqueued", "inbox.dequeued", "outbox.delivered"}
    assert not hidden & (shown(ended.session_id) | shown(child))


def test_a_worker_decides_for_a_child_of_an_agent_that_the_engine_decides(
    client: Client, boss: DecidingWorker
) -> None:
    """Q-7, S-5: and the other way round."""
    with_poet(client, worker=boss.url, decides="worker")

    ended = client.run(ASKS, agent_id="helper")

    assert ended.answer == "It says Soft rain"
    assert boss.triggers() == ["session.start", "client.messages", "llm.finished"]
    assert {tuple(one["ancestry"]) for one in boss.asked} == {(ended.session_id,)}
    child_of(client, ended.session_id)

    client.put_agent("helper", worker=boss.url, decides="worker", sub_agents=[{"id": "poet"}])
    client.put_agent("poet")
    other = client.run(ASKS, agent_id="helper")

    assert other.answer == "It says Soft rain"
    told = boss.last("sub_agent.finished")
    assert told["trigger"]["result"] == "Soft rain"
    child_of(client, other.session_id)


def test_a_paused_child_is_resumed_and_its_parent_goes_on(
    client: Client, boss: DecidingWorker
) -> None:
    """B-9."""
    with_poet(client, worker=boss.url, decides="worker")
    pauses = [{"type": "interrupt", "interrupt_id": "int-1", "reason": "which_rhyme"}]

    def asking(request: dict[str, Any]) -> Answer:
        if request["trigger"]["type"] == "client.messages" and pauses:
            return {**request["proposed"], "actions": [pauses.pop()]}
        return echo(request)

    boss.answer = asking
    turn = client.start(ASKS, agent_id="helper")
    child = child_of(client, turn.session_id)
    until(lambda: client.session(child)["status"] == "interrupted")
    heard = until(lambda: of_type(client, turn, "sub_agent.interrupted"))

    resumed = client.post(
        {"session_id": child, "input": {"type": "interrupt.resume", "interrupt_id": "int-1"}}
    )

    assert [(one["session_id"], one["reason"]) for one in heard] == [(child, "which_rhyme")]
    assert resumed.json()["resumed"] is True
    assert client.end_of(turn).answer == "It says Soft rain"


def of_type(client: Client, turn: Turn, kind: str) -> list[dict[str, Any]]:
    """Return the payloads of a turn's events of one type so far."""
    found = [event["payload"] for event in client.events(turn.session_id, turn.turn_id)]
    return [payload for payload in found if payload["type"] == kind]


def test_stopping_a_turn_stops_its_children(client: Client) -> None:
    """B-10, T-12."""
    with_poet(client)
    slow = '[[call:poet {"message": "[[say:one]][[sleep:60000]][[say:two]]"}]]'
    turn = client.start(slow, agent_id="helper")
    child = child_of(client, turn.session_id)
    until(lambda: client.session(child)["calls"])
    (waits,) = client.session(turn.session_id)["calls"]
    assert (waits["kind"], waits["session_id"]) == ("sub_agent", child)
    assert waits["agent_id"] == "poet"

    stopped = client.http.post(f"/v1/sessions/{turn.session_id}/turns/{turn.turn_id}/cancel")

    assert stopped.json()["cancelled"] is True
    until(lambda: client.session(child)["status"] == "cancelled")
    ended: Ended = client.end_of(turn)
    assert ended.only("turn.completed")["outcome"] == "cancelled"
    causes = [
        event["payload"]["cause"]
        for event in client.events(child)
        if event["payload"]["type"] == "session.cancelled"
    ]
    assert causes == ["parent"]


def test_a_message_reaches_a_busy_session_as_its_next_turn(
    client: Client, boss: DecidingWorker
) -> None:
    """Conformance 31: B-14."""
    client.put_agent("boss", worker=boss.url, decides="worker")
    client.put_agent("slow")
    busy = client.start("[[say:one]][[sleep:1500]][[say:two]]", agent_id="slow")

    def writing(request: dict[str, Any]) -> Answer:
        if request["trigger"]["type"] != "client.messages":
            return echo(request)
        note = {"id": "note-1", "role": "user", "content": "[[say:Noted]]"}
        send = {"type": "message.send", "session_id": busy.session_id, "message": note}
        return {**request["proposed"], "actions": [send, send, {"type": "done"}]}

    boss.answer = writing
    ended = client.run("Write to it.", agent_id="boss")
    until(lambda: client.messages(busy.session_id)[-1].get("content") == "Noted")

    assert len(ended.all("session.message_requested")) == 2
    contents = [one.get("content") for one in client.messages(busy.session_id)]
    assert contents[1:] == ["onetwo", "[[say:Noted]]", "Noted"]
    started = [
        event["payload"]["reason"]
        for event in client.events(busy.session_id)
        if event["payload"]["type"] == "turn.started"
    ]
    assert started == ["submit", "message"]
