"""What a caller is told who sends what cannot be, and that nothing came of it."""

from __future__ import annotations

import importlib
import json
from typing import Any

import httpx
import pytest

from e2e.client import Client, message_body, new_id
from e2e.conftest import Enter
from e2e.waiting import NotInTime

LEAKS = ("Traceback", "pydantic", "botocore", "dynamodb", "/everturn/", ".py", "arn:aws")
LIMIT_BYTES = 4 * 1024 * 1024


def refusal(response: httpx.Response) -> tuple[int, str]:
    """Return status and code of a refusal that has the form every refusal has."""
    body = response.json()
    assert body["error"] == body["code"]
    assert isinstance(body["message"], str)
    assert body["message"]
    assert response.headers["content-type"].startswith("application/json")
    assert [leak for leak in LEAKS if leak in response.text] == []
    return response.status_code, body["code"]


def fresh_body(**changes: Any) -> tuple[str, dict[str, Any]]:
    """Return the id of a session that does not exist, and a changed input into it."""
    session_id = new_id("session")
    body = message_body("hello", session_id)
    body["input"] |= changes
    return session_id, {**body, "input": {k: v for k, v in body["input"].items() if v is not ...}}


def no_session(client: Client, session_id: str) -> bool:
    """Return whether nothing was written."""
    return refusal(client.http.get(f"/v1/sessions/{session_id}")) == (404, "unknown_session")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda text: text[:-1], "invalid_json"),
        (lambda _: "", "invalid_json"),
        (lambda text: text + "x", "invalid_json"),
        (lambda text: text.replace('"hello"', "NaN"), "invalid_json"),
        (lambda text: text.replace('"hello"', "Infinity"), "invalid_json"),
        (lambda text: text.replace('"hello"', "1e999"), "invalid_json"),
        (
            lambda text: text.replace('"role": "user"', '"role": "user", "role": "user"'),
            "invalid_json",
        ),
        (lambda text: text.replace('"hello"', '"\\ud800"'), "invalid_json"),
        (lambda text: text.replace('"hello"', "[" * 200 + "]" * 200), "invalid_json"),
        (lambda _: "[]", "schema_violation"),
        (lambda _: "null", "schema_violation"),
        (lambda _: '"text"', "schema_violation"),
    ],
    ids=[
        *("cut off", "empty", "trailing text", "NaN", "Infinity", "overflow", "key twice"),
        *("lone surrogate", "too deep", "array", "null", "string"),
    ],
)
def test_a_body_that_is_no_proper_json_is_refused(client: Client, damage: Any, code: str) -> None:
    session_id, body = fresh_body()

    response = client.post(damage(json.dumps(body)).encode())

    assert refusal(response) == (400, code)
    assert no_session(client, session_id)


def test_a_body_that_is_not_utf8_is_refused(client: Client) -> None:
    session_id, body = fresh_body()

    response = client.post(json.dumps(body).encode().replace(b"hello", b"h\xff\xfello"))

    assert refusal(response) == (400, "invalid_json")
    assert no_session(client, session_id)


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"message": "hello"}, 400, "schema_violation"),
        ({"message": ...}, 400, "schema_violation"),
        ({"message": {"role": "user", "content": 5}}, 400, "schema_violation"),
        ({"message": {"role": "robot", "content": "x"}}, 400, "schema_violation"),
        ({"message": {"role": "user"}}, 400, "invalid_message"),
        ({"message": {"role": "user", "content": "x", "mood": "good"}}, 400, "schema_violation"),
        ({"stream": "yes"}, 400, "schema_violation"),
        ({"extra": 1}, 400, "schema_violation"),
        ({"agent_id": ...}, 400, "schema_violation"),
        ({"agent_id": 7}, 400, "schema_violation"),
        ({"agent_id": "no such agent"}, 400, "invalid_id"),
        ({"agent_id": "nobody"}, 404, "unknown_agent"),
        ({"turn_id": "turn-7"}, 400, "invalid_id"),
        ({"turn_id": "a/b"}, 400, "invalid_id"),
        ({"turn_id": ""}, 400, "invalid_id"),
        ({"turn_id": "x" * 201}, 400, "invalid_id"),
        ({"type": "client.dance"}, 422, "unknown_input"),
        ({"type": ...}, 422, "unknown_input"),
        ({"type": 5}, 422, "unknown_input"),
        ({"type": "client.messages", "message": ..., "messages": []}, 400, "empty_messages"),
        ({"type": "client.messages", "message": ..., "messages": "x"}, 400, "schema_violation"),
        ({"type": "client.action", "message": ...}, 400, "schema_violation"),
        ({"type": "client.action", "message": ..., "name": 7}, 400, "schema_violation"),
    ],
    ids=lambda value: json.dumps(value, default=lambda _: "(left out)")[:60],
)
def test_an_input_of_the_wrong_form_is_refused(
    client: Client, changes: dict[str, Any], status: int, code: str
) -> None:
    session_id, body = fresh_body(**changes)

    response = client.post(body)

    assert refusal(response) == (status, code)
    assert no_session(client, session_id)


@pytest.mark.parametrize("session_id", ["a/b", "a b", "x" * 201, "", "ä", "a\n"])
def test_a_session_id_of_the_wrong_spelling_is_refused(client: Client, session_id: str) -> None:
    """O-9, O-21: `invalid_id`."""
    response = client.post({**message_body("hello"), "session_id": session_id})

    assert refusal(response) == (400, "invalid_id")


@pytest.mark.parametrize("path", ["a%2Fb", "a%20b", "x" * 201, "%C3%A4", "nobody", "..", "%2e%2e"])
def test_a_session_that_cannot_be_is_as_unknown_as_any_other(client: Client, path: str) -> None:
    read = client.http.get(f"/v1/sessions/{path}")
    events = client.http.get(f"/v1/sessions/{path}/events")

    assert refusal(read)[0] == 404
    assert refusal(events)[0] == 404


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer evt_wrong",
        "Basic dXNlcjpwYXNz",
        "Bearer " + "x" * 5000,
        "Bearer ä".encode(),
        "evt_wrong",
    ],
)
@pytest.mark.parametrize("route", ["input", "session", "events", "agent"])
def test_a_caller_without_a_valid_key_is_refused_everywhere(
    client: Client, header: str | bytes | None, route: str
) -> None:
    method, path = {
        "input": ("POST", "/v1/sessions/input"),
        "session": ("GET", "/v1/sessions/some"),
        "events": ("GET", "/v1/sessions/some/events"),
        "agent": ("PUT", "/v1/agents/demo"),
    }[route]
    headers: dict[Any, Any] = {} if header is None else {"authorization": header}

    response = httpx.request(method, client.http_url + path, headers=headers, json={"x": 1})

    assert refusal(response) == (401, "unauthenticated")


def test_a_websocket_without_a_valid_key_is_not_opened(client: Client) -> None:
    url = client.http_url + "/" + client.ws_url.rsplit("/", 1)[-1]
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "authorization": "Bearer evt_wrong",
    }

    response = httpx.get(url, headers=upgrade)

    assert response.status_code in {401, 403}


def test_another_tenants_session_does_not_exist_on_any_route(enter: Enter) -> None:
    """F-3, O-13."""
    owner, stranger = enter(), enter()
    ended = owner.run("[[say:the owner's secret]]")
    path = f"/v1/sessions/{ended.session_id}"
    unknown = (404, "unknown_session")

    sse = {"accept": "text/event-stream"}
    assert refusal(stranger.http.get(path)) == unknown
    assert refusal(stranger.http.get(f"{path}/events")) == unknown
    assert refusal(stranger.http.get(f"{path}/events?turn_id={ended.turn.turn_id}")) == unknown
    assert refusal(stranger.http.get(f"{path}/events", headers=sse)) == unknown
    with stranger.connect() as socket:
        frame = socket.ask({"action": "subscribe", "id": "s", "session_id": ended.session_id})
    assert (frame["type"], frame["code"], frame["id"]) == ("error", "unknown_session", "s")


def test_the_same_session_id_of_another_tenant_is_another_session(enter: Enter) -> None:
    owner, stranger = enter(), enter()
    theirs = owner.run("[[say:the owner's secret]]")
    before = owner.events(theirs.session_id)

    ours = stranger.run("[[say:{{messages}} {{prev}}]]", theirs.session_id)

    assert ours.session_id == theirs.session_id
    assert "secret" not in json.dumps(stranger.events(ours.session_id))
    assert owner.events(theirs.session_id) == before


def test_a_stranger_cannot_listen_to_a_session_that_begins_later(enter: Enter) -> None:
    owner, stranger = enter(), enter()
    session_id = new_id("session")
    with stranger.connect() as socket:
        refused = socket.ask({"action": "subscribe", "id": "s", "session_id": session_id})

        owner.run("[[say:secret]]", session_id)

        assert refused["code"] == "unknown_session"
        with pytest.raises(NotInTime):
            socket.receive(within_s=0.3)


def test_another_tenants_agent_does_not_exist(enter: Enter) -> None:
    owner, stranger = enter(), enter()
    owner.put_agent("private", system="secret")

    assert refusal(stranger.http.get("/v1/agents/private")) == (404, "unknown_agent")
    assert refusal(stranger.http.delete("/v1/agents/private")) == (404, "unknown_agent")
    assert refusal(stranger.say("hello", agent_id="private")) == (404, "unknown_agent")
    assert owner.http.get("/v1/agents/private").status_code == 200


def test_a_body_over_the_limit_is_refused(client: Client) -> None:
    session_id, body = fresh_body(message={"role": "user", "content": "x" * 5 * 1024 * 1024})

    response = client.post(body)

    assert response.status_code == 413
    assert response.json()["limit_bytes"] == LIMIT_BYTES
    assert refusal(response) == (413, "too_large")
    assert no_session(client, session_id)


def test_a_body_beyond_what_the_gateway_takes_is_refused(client: Client) -> None:
    response = client.post(b"x" * (10 * 1024 * 1024 + 1))

    assert response.status_code == 413


@pytest.mark.parametrize(("over", "status"), [(0, 202), (1, 413)])
def test_a_body_of_exactly_the_limit_is_taken(client: Client, over: int, status: int) -> None:
    body = json.dumps(message_body("[[say:ok]]")).encode()
    padded = body.replace(b"[[say:ok]]", b"[[say:ok]]" + b"x" * (LIMIT_BYTES + over - len(body)))

    response = client.post(padded)

    assert len(padded) == LIMIT_BYTES + over
    assert response.status_code == status
    if status == 202:
        client.idle(response.json()["session_id"])


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("GET", "/", {404}),
        ("GET", "/v1", {404}),
        ("GET", "/v1/session", {404}),
        ("GET", "/v1/sessions/input/x/y", {404}),
        ("GET", "/nowhere", {404}),
        ("PUT", "/v1/sessions/input", {404, 405}),
        ("PATCH", "/v1/sessions/some", {404, 405}),
        ("POST", "/v1/sessions/some", {404, 405}),
        ("POST", "/v1/sessions/some/events", {404, 405}),
        ("POST", "/v1/agents/demo", {404, 405}),
        ("GET", "/v1/sessions/input/", {404}),
    ],
)
def test_a_path_or_method_that_does_not_exist_is_refused(
    client: Client, method: str, path: str, statuses: set[int]
) -> None:
    response = client.http.request(method, path)

    status, code = refusal(response)
    assert status in statuses
    assert code in {"not_found", "method_not_allowed", "unknown_session"}


def test_the_health_of_the_api_needs_no_key(client: Client) -> None:
    response = httpx.get(f"{client.http_url}/v1/health")

    assert (response.status_code, response.json()) == (200, {"ok": True})


def test_the_session_belongs_to_the_agent_that_it_began_with(client: Client) -> None:
    client.put_agent("other")
    ended = client.run("hello")
    seq = client.session(ended.session_id)["seq"]

    response = client.say("hello", ended.session_id, agent_id="other")

    assert refusal(response) == (409, "agent_mismatch")
    assert client.session(ended.session_id)["seq"] == seq


def test_a_second_turn_is_refused_while_one_runs_and_told_which(client: Client) -> None:
    """Conformance 3: T-2."""
    turn = client.start("[[sleep:700]][[say:done at last]]")

    response = client.say("me too", turn.session_id)

    assert refusal(response) == (409, "turn_already_active")
    assert response.json()["turn_id"] == turn.turn_id
    assert client.end_of(turn).answer == "done at last"
    assert len(client.messages(turn.session_id)) == 2
    assert client.run("me again", turn.session_id).answer == "echo: me again"


def test_a_view_with_something_new_at_its_end_is_a_turn(client: Client) -> None:
    ended = client.run("hello")
    view = [*client.messages(ended.session_id), {"role": "user", "content": "and on"}]

    wanted = {"type": "client.messages", "agent_id": "demo", "messages": view}
    response = client.post({"session_id": ended.session_id, "input": wanted})

    assert response.status_code == 202
    client.idle(ended.session_id)
    texts = [message["content"] for message in client.messages(ended.session_id)]
    assert texts == ["hello", "echo: hello", "and on", "echo: and on"]


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 501},
        {"limit": "ten"},
        {"limit": -1},
        {"after_seq": -1},
        {"after_seq": "x"},
        {"after_seq": "9" * 40},
    ],
)
def test_a_page_that_cannot_be_is_refused(client: Client, query: dict[str, Any]) -> None:
    ended = client.run("hello")

    response = client.page(ended.session_id, **query)

    assert refusal(response) == (400, "schema_violation")


def test_an_unknown_turn_of_a_session_is_unknown(client: Client) -> None:
    ended = client.run("hello")

    response = client.page(ended.session_id, turn_id="nothing")

    assert refusal(response) == (404, "unknown_turn")


def test_a_last_event_id_that_is_not_ours_is_refused(client: Client) -> None:
    ended = client.run("hello")
    headers = {"accept": "text/event-stream", "last-event-id": "yesterday"}

    response = client.http.get(f"/v1/sessions/{ended.session_id}/events", headers=headers)

    assert refusal(response) == (400, "invalid_id")


def test_a_tenant_without_the_demo_model_is_told_so(client: Client) -> None:
    directory = importlib.import_module("everturn.wiring.adapters").directory()
    directory.put_tenant(client.tenant, {"demo_provider": "off"})

    response = client.say("hello")

    assert refusal(response) == (400, "unsupported")
