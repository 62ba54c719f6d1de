"""Messages that wait for turns of their own, over HTTP. Source: session-log IB-1 to IB-5, IB-9."""

from __future__ import annotations

from typing import Any

import httpx

from e2e.client import Client, Turn, new_id
from e2e.waiting import until


def enqueue(client: Client, session_id: str, text: str, **more: Any) -> httpx.Response:
    """Have a message wait in a session."""
    body = {"message": {"role": "user", "content": text}, **more}
    return client.http.post(f"/v1/sessions/{session_id}/inbox", json=body)


def asked_of(client: Client, session_id: str) -> list[str]:
    """Return what users said in a session."""
    return [one["content"] for one in client.messages(session_id) if one["role"] == "user"]


def test_messages_open_turns_of_their_own_in_the_order_of_their_coming(client: Client) -> None:
    turn = client.start("[[say:a]][[sleep:700]][[say:b]]")
    session_id = turn.session_id

    answers = [
        enqueue(client, session_id, text, turn_id=text).json() for text in ("one", "two", "three")
    ]
    waiting = client.session(session_id)["inbox"]
    removed = client.http.delete(f"/v1/sessions/{session_id}/inbox/{answers[1]['item_id']}")
    edited = client.http.patch(
        f"/v1/sessions/{session_id}/inbox/{answers[2]['item_id']}", json={"content": "four"}
    )
    again = enqueue(client, session_id, "one", turn_id="one").json()

    assert [one["placement"] for one in answers] == ["queued"] * 3
    assert [one["turn_id"] for one in waiting] == ["one", "two", "three"]
    assert (removed.json(), edited.json()) == ({"ok": True}, {"ok": True})
    assert (again["duplicate"], again["turn_status"]) == (True, "queued")
    ends = [client.end_of(Turn(session_id, name)).answer for name in ("one", "three")]
    assert ends == ["echo: one", "echo: four"]
    assert asked_of(client, session_id)[1:] == ["one", "four"]
    assert "inbox" not in client.idle(session_id)
    late = client.http.delete(f"/v1/sessions/{session_id}/inbox/{answers[0]['item_id']}")
    assert (late.status_code, late.json()["code"]) == (404, "unknown_item")


def test_a_message_to_an_idle_session_opens_its_turn_at_once(client: Client) -> None:
    ended = client.run("hello")

    told = enqueue(client, ended.session_id, "and now?").json()

    assert client.end_of(Turn(ended.session_id, told["turn_id"])).answer == "echo: and now?"


def test_a_quiet_message_waits_until_another_one_wakes_the_session(client: Client) -> None:
    """IB-2."""
    session_id = client.run("hello").session_id
    quiet = enqueue(client, session_id, "by the way", wakeup=False).json()
    assert [one["wakeup"] for one in client.session(session_id)["inbox"]] == [False]

    loud = enqueue(client, session_id, "now").json()

    client.end_of(Turn(session_id, loud["turn_id"]))
    client.end_of(Turn(session_id, quiet["turn_id"]))
    assert asked_of(client, session_id) == ["hello", "by the way", "now"]


def test_a_waiting_turn_can_be_stopped_by_its_name_and_is_known_afterwards(client: Client) -> None:
    turn = client.start("[[say:a]][[sleep:700]][[say:b]]")
    name = new_id("turn")
    enqueue(client, turn.session_id, "never", turn_id=name)

    path = f"/v1/sessions/{turn.session_id}/turns/{name}/cancel"
    stopped = client.http.post(path, json={"keep_inbox": True})

    assert stopped.json()["cancelled"] is True
    known = enqueue(client, turn.session_id, "never", turn_id=name).json()
    assert (known["duplicate"], known["turn_status"]) == (True, "completed")
    until(lambda: "turn_id" not in client.session(turn.session_id))
    assert asked_of(client, turn.session_id)[1:] == []


def test_what_is_not_taken_is_told(client: Client) -> None:
    session_id = client.run("hello").session_id

    within = enqueue(client, session_id, "x", target="next-step")
    nowhere = enqueue(client, new_id("session"), "x")
    path = f"/v1/sessions/{session_id}/inbox"
    system = client.http.post(path, json={"message": {"role": "system", "content": "x"}})

    assert (within.status_code, within.json()["code"]) == (400, "unsupported")
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "unknown_session")
    assert (system.status_code, system.json()["code"]) == (403, "role_not_allowed")
