"""An end user's client with a token of its own: from the first frame to the token's last second."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import jwt
import pytest
from typer.testing import CliRunner, Result
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from e2e.client import Client, message_body, new_id
from e2e.conftest import Enter
from e2e.socket_client import Follower, Socket
from e2e.tenancy import changed, expired, mint
from everturn.push.audience import FOR_KEYS
from everturn_local.cli import app
from everturn_local.runtime import LocalRuntime

BEARER = "everturn.bearer."


@pytest.fixture
def user(client: Client) -> Iterator[Client]:
    """The client of an end user: it has a token and no key."""
    token = mint(client, identity={"id": "u1", "metadata": {"plan": "free"}})
    made = Client(client.http_url, client.ws_url, token, client.tenant, client.touched)
    with closing(made):
        yield made


def through(client: Client, credential: str, way: str) -> Socket:
    """Return a connection to be opened with a credential in one of its places."""
    match way:
        case "header":
            return Socket(client.ws_url, credential, client.touched)
        case "subprotocol":
            offered = [Subprotocol("everturn"), Subprotocol(f"{BEARER}{credential}")]
            return Socket(client.ws_url, None, client.touched, subprotocols=offered)
        case _:
            return Socket(f"{client.ws_url}?{way}={credential}", None, client.touched)


WAYS = ["header", "subprotocol", "access_token", "api_key"]


def test_an_end_user_talks_reads_and_watches_with_a_token_alone(user: Client) -> None:
    follower = Follower()
    session_id = new_id("session")
    with user.connect() as socket:
        body = message_body("[[say:one two three]]", session_id)
        socket.ask({"action": "input", "id": "in", **body})
        socket.subscribe(session_id)
        follower.until_end(socket)

    ended = user.run("[[say:again]]", session_id)

    assert ended.answer == "again"
    assert follower.types().count("turn.completed") == 1
    said = [message["content"] for message in user.messages(session_id)]
    assert said[1::2] == ["one two three", "again"]
    created = user.events(session_id)[0]["payload"]
    assert created["owner"] == {"id": "u1", "metadata": {"plan": "free"}}


def test_an_end_user_is_not_shown_the_prompt_nor_the_workers_part(
    client: Client, user: Client
) -> None:
    """E-8, E-9: what is for keys is left out everywhere, and nothing looks missing for it."""
    assert client.put_agent(system="The secret prompt.").is_success
    follower = Follower()
    first = user.run("[[say:one]]")
    session_id = first.session_id
    with user.connect() as socket:
        socket.subscribe(session_id)
        user.start("[[say:two]]", session_id)
        follower.until_end(socket, turns=2)
        follower.read(socket, lambda one: one.types()[-1] == "session.done")

    shown, whole = user.events(session_id), client.events(session_id)

    assert "request.header" in {event["payload"]["type"] for event in whole}
    assert shown == [event for event in whole if event["payload"]["type"] not in FOR_KEYS]
    assert [event["payload"] for event in shown] == follower.events
    assert "secret" not in json.dumps(shown)
    assert user.page(session_id, requests=1).json()["code"] == "insufficient_privilege"
    assert "secret" in json.dumps(whole)
    accept = {"accept": "text/event-stream"}
    streamed = user.http.get(f"/v1/sessions/{session_id}/events", headers=accept).text
    assert streamed.count("event: turn.completed") == 2
    assert "secret" not in streamed
    assert "event: step." not in streamed


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_key", [False, True], ids=["a token", "a key"])
def test_a_connection_is_opened_in_each_way(
    client: Client, user: Client, way: str, is_key: bool
) -> None:
    credential = client.api_key if is_key else user.api_key

    with through(client, credential, way) as socket:
        told = socket.ask({"action": "ping"})
        chosen = socket.socket.subprotocol

    assert told == {"type": "pong"}
    assert chosen == ("everturn" if way == "subprotocol" else None)


@pytest.mark.parametrize("way", WAYS)
def test_a_bad_credential_opens_nothing_in_any_way(
    client: Client, runtime: LocalRuntime, user: Client, way: str
) -> None:
    for credential in ("nobodys", expired(runtime, user.api_key), user.api_key[:-4] + "AAAA"):
        with pytest.raises(InvalidStatus) as refused, through(client, credential, way):
            pass
        assert refused.value.response.status_code == 403


def test_a_client_says_in_its_first_frame_who_it_is(user: Client) -> None:
    session_id = user.run("hello").session_id
    with Socket(user.ws_url, None, user.touched) as socket:
        told = socket.ask({"action": "authenticate", "id": "a", "token": user.api_key})
        subscribed = socket.subscribe(session_id)

    expires = jwt.decode(user.api_key, options={"verify_signature": False})["exp"]
    assert told == {"type": "authenticated", "id": "a", "expires_at": expires}
    assert subscribed["session_id"] == session_id


def test_a_connection_that_says_nothing_of_itself_is_forgotten(
    client: Client, runtime: LocalRuntime
) -> None:
    with Socket(client.ws_url, None, client.touched) as socket:
        age_connections(runtime)

        told = socket.ask({"action": "authenticate", "id": "a", "token": client.api_key})

        assert told["code"] == "unauthenticated"
        with pytest.raises(ConnectionClosed):
            socket.receive(within_s=5)


def age_connections(runtime: LocalRuntime) -> None:
    """Let all connections that are known be over by now."""
    table = runtime.physical["Table"]
    pages = runtime.clients.dynamodb.get_paginator("scan").paginate(TableName=table)
    for page in pages:
        for item in page["Items"]:
            if item["pk"]["S"].startswith("CONNECTION#"):
                runtime.clients.dynamodb.update_item(
                    TableName=table,
                    Key={"pk": item["pk"], "sk": item["sk"]},
                    UpdateExpression="SET expires_epoch_s = :past",
                    ExpressionAttributeValues={":past": {"N": str(int(time.time()) - 1)}},
                )


def nearly_over(runtime: LocalRuntime, token: str, left_s: int) -> str:
    """Return a token of which so many seconds are left, the minute's leeway included."""
    return changed(runtime, token, exp=int(time.time()) - 60 + left_s)


def test_a_token_that_ends_ends_the_subscription_and_the_connection(
    client: Client, user: Client, runtime: LocalRuntime
) -> None:
    session_id = user.run("hello").session_id
    at = user.session(session_id)["seq"]
    token = nearly_over(runtime, user.api_key, left_s=3)
    slowly = "".join(f"[[say:word{n} ]][[sleep:200]]" for n in range(30))
    with Socket(client.ws_url, token, client.touched) as socket:
        socket.subscribe(session_id, after=str(at))
        user.start(slowly, session_id)
        seen: list[dict[str, Any]] = []
        with pytest.raises(ConnectionClosed):
            seen.extend(socket.frames(within_s=20))

    said = "".join(frame["delta"].get("text", "") for frame in seen if frame["type"] == "delta")
    whole = user.idle(session_id)["messages"][-1]["content"]
    assert seen
    assert whole.startswith(said)
    assert len(said) < len(whole)


def test_a_frame_on_a_token_that_is_over_is_told_so(
    client: Client, user: Client, runtime: LocalRuntime
) -> None:
    token = nearly_over(runtime, user.api_key, left_s=2)
    with Socket(client.ws_url, token, client.touched) as socket:
        told = socket.ask({"action": "ping"})
        while told["type"] == "pong":
            told = socket.ask({"action": "ping"})
        with pytest.raises(ConnectionClosed):
            socket.receive(within_s=5)

    assert (told["type"], told["code"]) == ("error", "token_expired")


def test_a_fresh_token_in_time_lets_a_subscription_go_on(
    client: Client, user: Client, runtime: LocalRuntime
) -> None:
    session_id = user.run("hello").session_id
    at = user.session(session_id)["seq"]
    token = nearly_over(runtime, user.api_key, left_s=3)
    slowly = "".join(f"[[say:word{n} ]][[sleep:200]]" for n in range(25))
    follower = Follower(seq=at)
    with Socket(client.ws_url, token, client.touched) as socket:
        socket.subscribe(session_id, after=str(at))
        fresh = {"action": "authenticate", "id": "a", "token": user.api_key}
        told = socket.ask(fresh)
        user.start(slowly, session_id)
        follower.until_end(socket)

    assert told["type"] == "authenticated"
    assert follower.text() == user.messages(session_id)[-1]["content"]


def test_a_connection_stays_its_owners(client: Client, user: Client) -> None:
    with user.connect() as socket:
        for token in (mint(client, "u2"), client.api_key):
            told = socket.ask({"action": "authenticate", "id": "a", "token": token})
            assert told["code"] == "not_owner"
        assert socket.ask({"action": "ping"}) == {"type": "pong"}


def test_a_rotated_key_is_taken_beside_the_one_before(
    client: Client, user: Client, runtime: LocalRuntime
) -> None:
    secrets = runtime.clients.secretsmanager
    secret_id = os.environ["EVERTURN_TOKEN_SECRET"]
    made = secrets.get_random_password(PasswordLength=64, ExcludePunctuation=True)
    secrets.put_secret_value(SecretId=secret_id, SecretString=made["RandomPassword"])

    fresh = changed(runtime, user.api_key)

    kids = {jwt.get_unverified_header(one)["kid"] for one in (fresh, user.api_key)}
    headers = {"authorization": f"Bearer {fresh}"}
    assert len(kids) == 2
    assert user.http.get("/v1/sessions/none").status_code == 404
    found = until_known(client, headers)
    assert found == 404


def until_known(client: Client, headers: dict[str, str]) -> int:
    """Wait until the doors have looked for a key that they do not know; return their answer."""
    from e2e.waiting import until  # noqa: PLC0415  # the one use

    def ask() -> int:
        return client.http.get("/v1/sessions/none", headers=headers).status_code

    return until(ask, lambda status: status != 401, within_s=20)


def test_parts_of_two_tokens_make_none(enter: Enter, client: Client) -> None:
    header, rivals, signature = mint(enter()).split(".")
    _, own, own_signature = mint(client).split(".")

    for forged in (f"{header}.{own}.{signature}", f"{header}.{rivals}.{own_signature}"):
        headers = {"authorization": f"Bearer {forged}"}
        assert client.http.get("/v1/sessions/none", headers=headers).status_code == 401


# ---- from the command line


def everturn(client: Client, *arguments: str, credential: str = "") -> Result:
    """Run a command against the stack."""
    access = {"EVERTURN_URL": client.http_url, "EVERTURN_API_KEY": credential or client.api_key}
    return CliRunner().invoke(app, arguments, env=access)


def test_a_token_is_minted_from_the_command_line(client: Client) -> None:
    wishes = ["--ttl", "60", "--scope", "sessions:read", "--metadata", "plan=a=b"]

    plain = everturn(client, "token", "u1", *wishes)
    as_json = everturn(client, "token", "u1", "--json")

    told = jwt.decode(plain.stdout.strip(), options={"verify_signature": False})
    assert (told["sub"], told["scope"], told["exp"] - told["iat"]) == ("u1", "sessions:read", 60)
    assert told["metadata"] == {"plan": "a=b"}
    assert plain.stderr.startswith("expires at ")
    assert json.loads(as_json.stdout).keys() == {"token", "expires_at"}


def test_a_token_that_cannot_be_had_is_told_in_one_line(client: Client, user: Client) -> None:
    refused = [
        everturn(client, "token", "a b"),
        everturn(client, "token", "u1", "--scope", "sessions:own"),
        everturn(client, "token", "u1", credential=user.api_key),
        everturn(client, "token", "u1", "--metadata", "plan"),
        everturn(client, "token", "u1", "--ttl", "0"),
    ]

    codes = ["invalid_id", "schema_violation", "insufficient_privilege"]
    for one, code in zip(refused[:3], codes, strict=True):
        assert (one.exit_code, one.stdout, one.stderr.count("\n")) == (1, "", 1)
        assert one.stderr.startswith(f"error: {code}: ")
    assert [one.exit_code for one in refused[3:]] == [2, 2]
