"""Lists and deletions over sockets: idle sessions, running ones, large ones, what comes after."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx

from e2e.client import Client, new_id
from e2e.conftest import Enter
from e2e.waiting import until
from everturn_local.runtime import LocalRuntime

LARGE = "x" * 20_000
"""An input that goes to the bucket."""


def listed(client: Client, **query: Any) -> list[str]:
    response = client.http.get("/v1/sessions", params=query)
    assert response.status_code == 200, response.text
    return [one["session_id"] for one in response.json()["sessions"]]


def delete(client: Client, session_id: str) -> httpx.Response:
    client.touched.pop(session_id, None)
    return client.http.delete(f"/v1/sessions/{session_id}")


def left_of(runtime: LocalRuntime, client: Client, session_id: str) -> list[str]:
    """Return what table and bucket still have of a session."""
    pk = {":pk": {"S": f"SESSION#{client.tenant}#{session_id}"}}
    items = runtime.clients.dynamodb.query(
        TableName=runtime.physical["Table"],
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues=pk,
    )["Items"]
    objects = runtime.clients.s3.list_objects_v2(
        Bucket=runtime.physical["Bucket"], Prefix=f"{client.tenant}/{session_id}/"
    )
    return [item["sk"]["S"] for item in items] + [one["Key"] for one in objects.get("Contents", ())]


def test_sessions_are_listed_as_they_go_on(client: Client) -> None:
    first, second = client.run("one").session_id, client.run("two").session_id
    client.run("three", first)

    row = client.http.get("/v1/sessions", params={"limit": 1}).json()
    rest = listed(client, limit=1, cursor=row["cursor"])

    assert [one["session_id"] for one in row["sessions"]] == [first]
    assert rest == [second]
    shown = row["sessions"][0]
    assert (shown["status"], shown["turns"], shown["owner"]) == ("done", 2, "default")
    assert shown["created_at"] < shown["last_turn_at"]
    assert listed(client, status="done", agent_id="demo") == [first, second]
    assert listed(client, status="active") == []


def test_owners_and_tenants_see_their_own(enter: Enter) -> None:
    mine, theirs = enter(), enter()
    ids = {}
    for owner in ("ada", "bob"):
        session = new_id("session")
        body = {
            "session_id": session,
            "identity": {"id": owner},
            "input": {
                "type": "client.message",
                "agent_id": "demo",
                "message": {"role": "user", "content": "hi"},
            },
        }
        assert mine.post(body).status_code == 202
        ids[owner] = session
    token = mine.http.post("/v1/client-tokens", json={"identity": {"id": "ada"}}).json()["token"]

    with httpx.Client(base_url=mine.http_url, headers={"authorization": f"Bearer {token}"}) as ada:
        seen = [one["session_id"] for one in ada.get("/v1/sessions").json()["sessions"]]
        others = ada.get("/v1/sessions", params={"owner": "bob"}).json()
        refused = ada.delete(f"/v1/sessions/{ids['bob']}")
        for session in ids.values():
            mine.idle(session)
        mine.touched.pop(ids["ada"])
        own = ada.delete(f"/v1/sessions/{ids['ada']}")

    assert (seen, others, refused.status_code) == ([ids["ada"]], {"sessions": []}, 404)
    assert (own.status_code, own.json()) == (200, {"ok": True})
    assert listed(mine) == [ids["bob"]]
    assert listed(mine, owner="bob") == [ids["bob"]]
    assert listed(theirs) == []


def test_a_deleted_session_leaves_nothing_and_its_id_begins_anew(
    client: Client, runtime: LocalRuntime
) -> None:
    session = new_id("session")
    client.run(f"[[call:clock {{}}]][[turn]][[say:{{{{result}}}}]] {LARGE}", session)
    before = left_of(runtime, client, session)

    answer = delete(client, session)
    gone = [client.http.get(f"/v1/sessions/{session}{path}") for path in ("", "/events")]
    again = delete(client, session)
    after = left_of(runtime, client, session)
    ended = client.run("hello", session)

    assert any("/" in one for one in before)
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    assert [one.json()["code"] for one in (*gone, again)] == ["unknown_session"] * 3
    assert after == []
    assert ended.answer == "echo: hello"
    assert len(client.messages(session)) == 2


def test_a_session_is_deleted_under_its_running_driver(
    client: Client, runtime: LocalRuntime
) -> None:
    session = new_id("session")
    words = "".join(f"[[say:word {n} ]][[sleep:100]]" for n in range(100))
    with client.connect() as socket:
        client.start(words, session)
        socket.subscribe(session, "live")
        assert any(one["type"] == "delta" for one in socket.frames())

        answer = delete(client, session)
        stopped = time.monotonic()
        until(lambda: "driver" not in runtime.functions.running())
        waited_s = time.monotonic() - stopped

    ended = client.run("hello", session)

    assert answer.status_code == 200
    assert waited_s < 5
    assert ended.answer == "echo: hello"
    kinds = [one["payload"]["type"] for one in client.events(session)]
    assert kinds.count("turn.started") == 1


def test_what_a_driver_wrote_late_is_swept_up(client: Client, runtime: LocalRuntime) -> None:
    session = new_id("session")
    client.start("[[say:a ]][[sleep:1500]][[say:b]]", session)
    until(lambda: "driver" in runtime.functions.running())
    delete(client, session)
    table = runtime.physical["Table"]
    [note] = [
        item
        for item in runtime.clients.dynamodb.scan(TableName=table)["Items"]
        if item["pk"]["S"] == f"GONE#{client.tenant}#{session}"
    ]
    created = note["sk"]["S"]
    late = f"{client.tenant}/{session}/{created}/{'0' * 64}"
    runtime.clients.s3.put_object(Bucket=runtime.physical["Bucket"], Key=late, Body=b"late")
    until(lambda: "driver" not in runtime.functions.running())

    runtime.clients.dynamodb.update_item(
        TableName=table,
        Key={"pk": note["pk"], "sk": note["sk"]},
        UpdateExpression="SET due_epoch_s = :due",
        ExpressionAttributeValues={":due": {"N": "1"}},
    )
    runtime.skip_time(300)
    until(lambda: left_of(runtime, client, session) == [])


def test_agents_are_listed(client: Client) -> None:
    for name in ("b", "a"):
        assert client.put_agent(name).status_code == 201

    first = client.http.get("/v1/agents", params={"limit": 2}).json()
    rest = client.http.get("/v1/agents", params={"cursor": first["cursor"]}).json()

    assert [one["agent_id"] for one in first["agents"]] == ["a", "b"]
    assert first["agents"][0]["model"] == "demo"
    assert [one["agent_id"] for one in rest["agents"]] == ["demo"]


def test_a_deletion_is_open_to_nobody_else(enter: Enter) -> None:
    mine, theirs = enter(), enter()
    session = mine.run("hello").session_id

    answers = [
        theirs.http.delete(f"/v1/sessions/{session}"),
        httpx.delete(f"{mine.http_url}/v1/sessions/{session}"),
    ]

    assert [one.status_code for one in answers] == [404, 401]
    assert json.loads(answers[0].text)["code"] == "unknown_session"
    assert mine.session(session)["status"] == "done"
