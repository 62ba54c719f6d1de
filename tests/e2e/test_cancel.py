"""A stop over real sockets: of words, of tools, of dead drivers, of the whole session."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx
import pytest

from e2e.client import Client, Turn, message_body, new_id
from e2e.invariants import check_session
from e2e.scripted_worker import ScriptedWorker, once, result, tool
from e2e.socket_client import Follower
from e2e.stage import Setup
from e2e.tenancy import mint
from e2e.waiting import until
from everturn_local.runtime import LocalRuntime

LEASE_S = 2
ABORTED_WITHIN_S = 2
"""Source: agent-session 14."""

SLACK_S = 8
NEVER_STARTED = '{"status":"cancelled","reason":"turn_cancelled_by_user"}'
SLOW_TALE = "[[say:once]][[sleep:400]][[say: upon]][[sleep:60000]][[say: a time]]"


@pytest.fixture(scope="module")
def setup() -> Setup:
    """Drivers that can be killed, and are missed soon."""
    lease = ("EVERTURN_LEASE_SECONDS", str(LEASE_S))
    return Setup((*Setup().environment, lease), frozenset({"driver"}))


def stop(client: Client, turn: Turn, body: Any = None, **headers: str) -> httpx.Response:
    path = f"/v1/sessions/{turn.session_id}/turns/{turn.turn_id}/cancel"
    return client.http.post(path, json=body, headers=headers)


def kinds(client: Client, session_id: str) -> list[str]:
    return [event["payload"]["type"] for event in client.events(session_id)]


def tool_texts(client: Client, session_id: str) -> dict[str, str]:
    messages = client.messages(session_id)
    return {m["name"]: m["content"] for m in messages if m["role"] == "tool"}


def test_a_stop_button_ends_an_answer_in_the_middle_of_a_word(client: Client) -> None:
    """F28, T-12, agent-session 14: from another connection, within two seconds; words are kept."""
    client.put_agent()
    turn = client.start(SLOW_TALE)
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        follower.read(socket, lambda one: one.text() == "once upon")

        before = time.monotonic()
        answer = stop(client, turn)
        follower.read(socket, lambda one: "llm.call.aborted" in one.types())
        took_s = time.monotonic() - before

    assert answer.json() == {
        "ok": True,
        "session_id": turn.session_id,
        "turn_id": turn.turn_id,
        "cancelled": True,
    }
    assert took_s < ABORTED_WITHIN_S + SLACK_S
    ended = client.end_of(turn)
    assert ended.completed["outcome"] == "cancelled"
    assert ended.all("turn.cancel_requested") == [
        {"type": "turn.cancel_requested", "cause": "user"}
    ]
    aborted = [one["payload"] for one in client.events(turn.session_id)][-1]
    assert (aborted["type"], aborted["partial_text"]) == ("llm.call.aborted", "once upon")
    assert client.session(turn.session_id)["status"] == "idle"
    assert [m["role"] for m in client.messages(turn.session_id)] == ["user"]
    assert client.run("[[say:and now?]]", turn.session_id).answer == "and now?"


def test_stopping_twice_and_stopping_what_is_over_changes_nothing(client: Client) -> None:
    """Invariant 5; agent-session 14."""
    client.put_agent()
    turn = client.start(SLOW_TALE)
    stop(client, turn, {"cause": "user", "keep_inbox": True})
    until(lambda: "llm.call.aborted" in kinds(client, turn.session_id))
    before = kinds(client, turn.session_id)

    again = stop(client, turn)

    assert (again.status_code, again.json()["cancelled"]) == (200, False)
    assert kinds(client, turn.session_id) == before


def test_an_open_turn_can_be_stopped_by_its_number(client: Client) -> None:
    """Vocabulary: both names are accepted wherever a turn is named."""
    client.put_agent()
    turn = client.start(SLOW_TALE)

    answer = stop(client, Turn(turn.session_id, "turn-1"))
    unknown = stop(client, Turn(turn.session_id, "turn-7"))
    broken = stop(client, turn, {"cause": "because"})

    assert (answer.json()["turn_id"], answer.json()["cancelled"]) == (turn.turn_id, True)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_turn")
    assert (broken.status_code, broken.json()["code"]) == (400, "schema_violation")
    until(lambda: "llm.call.aborted" in kinds(client, turn.session_id))


def test_a_stop_waits_for_no_tool_and_says_what_became_of_each(
    client: Client, worker: ScriptedWorker
) -> None:
    """T-12, O-20, F1, F2: started, not started, repeatable or not; the next turn is well-formed."""
    tools = [
        tool("look", "read"),
        tool("send", "non_idempotent_write"),
        tool("post", "unclassified"),
    ]
    client.put_agent(worker=worker.url, tools=tools)
    goes_on = threading.Event()
    for name in ("look", "send", "post"):
        worker.plays(name, once(goes_on, result("too late")))
    turn = client.start("[[call:look]][[call:send]][[call:post]][[turn]][[say:done]]")
    until(lambda: len(worker.deliveries) == 2)

    before = time.monotonic()
    assert stop(client, turn).json()["cancelled"]
    took_s = time.monotonic() - before
    texts = tool_texts(client, turn.session_id)
    goes_on.set()
    again = client.run("[[say:{{messages}} messages]]", turn.session_id)

    assert took_s < SLACK_S
    assert texts["look"] == '{"error":"cancelled before a result was recorded"}'
    assert texts["send"].startswith("The outcome of this call is unknown")
    assert texts["post"] == NEVER_STARTED
    assert again.answer == "6 messages"
    assert sorted(one.tool for one in worker.deliveries) == ["look", "send"]


def test_after_a_stop_a_message_runs_though_the_driver_is_dead(
    client: Client, runtime: LocalRuntime
) -> None:
    """F11: the session is not busy for ever; the successor keeps the words that readers saw."""
    client.put_agent()
    turn = client.start(SLOW_TALE)
    follower = Follower()
    with client.connect() as socket:
        socket.subscribe(turn.session_id)
        follower.read(socket, lambda one: one.text() == "once upon")
        assert until(lambda: runtime.kill("driver")) == 1

        assert stop(client, turn).json()["cancelled"]
        after = client.run("[[say:still here]]", turn.session_id, within_s=30)

    assert after.answer == "still here"
    until(lambda: "llm.call.aborted" in kinds(client, turn.session_id))
    events = [event["payload"] for event in client.events(turn.session_id)]
    aborted = [one for one in events if one["type"] == "llm.call.aborted"]
    assert [one["partial_text"] for one in aborted] == ["once upon"]


def test_an_end_user_stops_a_turn_and_cannot_end_the_session(client: Client) -> None:
    """O-1, S-8: a client token stops its own turn; only an API key ends a session."""
    client.put_agent()
    token = {"authorization": f"Bearer {mint(client)}"}
    body = message_body(SLOW_TALE, new_id("session"), "t1")
    told = client.http.post("/v1/sessions/input", json=body, headers=token).json()
    turn = Turn(told["session_id"], told["turn_id"])

    refused = client.http.post(f"/v1/sessions/{turn.session_id}/cancel", headers=token)
    answer = stop(client, turn, None, **token)

    assert (refused.status_code, refused.json()["code"]) == (403, "insufficient_privilege")
    assert answer.json()["cancelled"]
    until(lambda: "llm.call.aborted" in kinds(client, turn.session_id))
    check_session(client.tenant, turn.session_id, idle=True)


def test_a_cancelled_session_is_over_for_good(client: Client) -> None:
    """S-6 to S-8, T-4: no input any more, but a known turn is still known; it can be read."""
    client.put_agent()
    turn = client.start("[[say:one]]", turn_id="first")
    client.end_of(turn)
    running = client.start(SLOW_TALE, turn.session_id)
    path = f"/v1/sessions/{turn.session_id}"

    first = client.http.post(f"{path}/cancel", json={"cause": "parent"})
    second = client.http.post(f"{path}/cancel")

    assert (first.status_code, first.json()["cancelled"]) == (200, True)
    assert (second.status_code, second.json()["cancelled"]) == (200, False)
    until(lambda: "llm.call.aborted" in kinds(client, turn.session_id))
    events = [one["payload"] for one in client.events(turn.session_id)]
    assert {"type": "session.cancelled", "cause": "parent"} in events
    assert client.end_of(running).completed["outcome"] == "cancelled"
    assert client.session(turn.session_id)["status"] == "cancelled"
    refused = client.say("hello?", turn.session_id)
    assert (refused.status_code, refused.json()["code"]) == (409, "session_cancelled")
    known = client.say("[[say:one]]", turn.session_id, "first").json()
    assert (known["duplicate"], known["turn_status"]) == (True, "completed")
    interrupt = client.http.post(f"{path}/interrupt", json={"reason": "stop"})
    assert (interrupt.status_code, interrupt.json()["code"]) == (409, "session_cancelled")
    listed = client.http.get("/v1/sessions", params={"status": "cancelled"}).json()["sessions"]
    assert [one["session_id"] for one in listed] == [turn.session_id]
