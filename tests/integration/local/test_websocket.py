"""The WebSocket API: handshakes, order, limits, closes and the @connections API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from everturn_local.faults import Posting, take
from everturn_local.websocket_events import plain_context
from integration.local.probe import Probe, running_stack, until


@pytest.fixture(scope="module")
def stack() -> Iterator[Probe]:
    """The fixture stack."""
    with running_stack() as probe:
        yield probe


def opened(stack: Probe, **options: Any) -> ClientConnection:
    """A socket that the authorizer lets in."""
    socket: ClientConnection = connect(f"{stack.runtime.ws_url}?key=good", max_size=None, **options)
    return socket


def events(stack: Probe, route: str) -> list[dict[str, Any]]:
    """Events that the socket function noted of a route, oldest first."""
    items = [item for item in stack.items("sockets") if item["route"]["S"] == route]
    return [json.loads(item["event"]["S"]) for item in items]


def connection_id(stack: Probe) -> str:
    """The id of the newest connection."""
    return str(events(stack, "$connect")[-1]["requestContext"]["connectionId"])


def management(stack: Probe) -> Any:
    """The management API's client, as handlers make it."""
    return boto3.client("apigatewaymanagementapi", endpoint_url=f"{stack.runtime.http_url}/live")


def test_messages_posted_to_a_connection_arrive_in_order_with_the_authorizers_context(
    stack: Probe,
) -> None:
    with opened(stack) as socket:
        socket.send('{"count": 50}')
        received = [json.loads(socket.recv(timeout=5)) for _ in range(50)]

    assert received == [{"n": number, "tenant": "acme"} for number in range(50)]


def test_events_carry_the_connection(stack: Probe) -> None:
    with opened(stack) as socket:
        socket.send("{}")
        socket.recv(timeout=5)
        own = connection_id(stack)
    until(lambda: events(stack, "$disconnect"), bool)

    connected, message = events(stack, "$connect")[-1], events(stack, "$default")[-1]
    gone = until(
        lambda: events(stack, "$disconnect")[-1]["requestContext"],
        lambda context: context["connectionId"] == own,
    )
    assert own.endswith("=")
    assert connected["queryStringParameters"] == {"key": "good"}
    assert connected["requestContext"]["eventType"] == "CONNECT"
    assert connected["requestContext"]["authorizer"]["principalId"] == "someone"
    assert message["requestContext"]["connectionId"] == own
    assert message["requestContext"]["authorizer"]["tenant"] == "acme"
    assert (message["body"], message["isBase64Encoded"]) == ("{}", False)
    assert (gone["eventType"], gone["disconnectStatusCode"]) == ("DISCONNECT", 1000)


@pytest.mark.parametrize(
    ("query", "status"), [("", 401), ("?key=bad", 403), ("?key=good&refuse=1", 409)]
)
def test_a_handshake_is_refused_by_the_authorizer_or_the_connect_route(
    stack: Probe, query: str, status: int
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(f"{stack.runtime.ws_url}{query}")

    assert refused.value.response.status_code == status


def test_the_authorizers_context_is_handed_on_as_strings() -> None:
    flat = {"principalId": "p", "context": {"tenant": "acme", "admin": True, "n": 3}}

    assert plain_context(flat) == {
        "principalId": "p",
        "tenant": "acme",
        "admin": "true",
        "n": "3",
    }
    assert plain_context({"context": {"scopes": ["a"]}}) is None


def test_the_connect_route_chooses_the_subprotocol(stack: Probe) -> None:
    offered = [Subprotocol("everturn.v1"), Subprotocol("other")]

    with opened(stack, subprotocols=offered) as socket:
        chosen = socket.subprotocol

    assert chosen == "everturn.v1"


def test_a_route_that_fails_tells_the_client(stack: Probe) -> None:
    with opened(stack) as socket:
        socket.send("raise")
        answer = json.loads(socket.recv(timeout=5))
        own = connection_id(stack)

    assert answer["message"] == "Internal server error"
    assert answer["connectionId"] == own


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (["x" * (32 * 1024 + 1)], 1009),
        (["x" * (30 * 1024)] * 5, 1009),
    ],
)
def test_frames_over_32_kb_and_messages_over_128_kb_close_the_connection(
    stack: Probe, frames: list[str], code: int
) -> None:
    def talk(socket: ClientConnection) -> None:
        socket.send(iter(frames) if len(frames) > 1 else frames[0])
        socket.recv(timeout=5)

    with opened(stack) as socket, pytest.raises(ConnectionClosed) as closed:
        talk(socket)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


def test_a_message_of_several_allowed_frames_arrives_whole(stack: Probe) -> None:
    message = json.dumps({"count": 1, "pad": "x" * 100_000})
    frames = [message[start : start + 32_000] for start in range(0, len(message), 32_000)]

    with opened(stack) as socket:
        socket.send(iter(frames))
        answer = json.loads(socket.recv(timeout=5))

    assert answer == {"n": 0, "tenant": "acme"}


def test_the_management_api_enforces_size_and_knows_gone_connections(stack: Probe) -> None:
    client = management(stack)
    with opened(stack) as socket:
        own = connection_id(stack)
        client.post_to_connection(ConnectionId=own, Data=b"x" * 128 * 1024)
        received = socket.recv(timeout=5)
        with pytest.raises(ClientError) as large:
            client.post_to_connection(ConnectionId=own, Data=b"x" * (128 * 1024 + 1))
        described = client.get_connection(ConnectionId=own)
        client.delete_connection(ConnectionId=own)
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=5)
    with pytest.raises(client.exceptions.GoneException):
        client.post_to_connection(ConnectionId=own, Data=b"late")

    assert len(received) == 128 * 1024
    assert large.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413
    assert described["Identity"]["SourceIp"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("fate", "code", "status"),
    [
        (Posting.THROTTLE, "LimitExceededException", 429),
        (Posting.GONE, "GoneException", 410),
    ],
)
def test_a_frame_is_refused_as_told_and_the_connection_lives_on(
    stack: Probe, fate: Posting, code: str, status: int
) -> None:
    client = management(stack)
    with opened(stack) as socket:
        own = connection_id(stack)
        stack.runtime.faults.post = lambda _to, frame: fate if frame == b"1" else Posting.TAKE
        with pytest.raises(ClientError) as refused:
            client.post_to_connection(ConnectionId=own, Data=b"1")
        client.post_to_connection(ConnectionId=own, Data=b"2")
        stack.runtime.faults.post = take
        received = socket.recv(timeout=5)

    assert refused.value.response["Error"]["Code"] == code
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert received == "2"


def test_an_idle_connection_is_closed_after_ten_minutes(stack: Probe) -> None:
    with opened(stack) as socket:
        stack.runtime.skip_time(590)
        socket.send("{}")
        socket.recv(timeout=5)
        stack.runtime.skip_time(590)
        socket.ping().wait(5)
        stack.runtime.skip_time(20)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=5)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001


def test_a_connection_is_closed_after_two_hours(stack: Probe) -> None:
    with opened(stack) as socket:
        for _ in range(12):
            stack.runtime.skip_time(595)
            socket.send("{}")
            socket.recv(timeout=5)
        stack.runtime.skip_time(100)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=5)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001
