"""Who reads a session: what the table says of watchers and connections, and readers who drop."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from websockets.exceptions import ConnectionClosed

from e2e.client import Client
from e2e.socket_client import Follower, Socket
from everturn.ports.sessions import SessionKey
from everturn.store import keys
from everturn_local.runtime import LocalRuntime


def watching(runtime: LocalRuntime, client: Client, session_id: str) -> set[str]:
    """Return the connections that watch a session."""
    item = _item(runtime, keys.session_pk(SessionKey(client.tenant, session_id)), keys.WATCH)
    return {name.split("#")[1] for name in item if name.startswith("watcher#")}


def remembered(runtime: LocalRuntime, connection_ids: set[str]) -> set[str]:
    """Return those connections that the table still knows."""
    return {one for one in connection_ids if _item(runtime, keys.connection_pk(one), keys.META)}


def _item(runtime: LocalRuntime, pk: str, sk: str) -> Mapping[str, Any]:
    answer = runtime.clients.dynamodb.get_item(
        TableName=runtime.physical["Table"],
        Key={"pk": {"S": pk}, "sk": {"S": sk}},
        ConsistentRead=True,
    )
    return answer.get("Item", {})


def closed_with(socket: Socket, follower: Follower) -> int:
    """Take frames until the other side closes; return the code that it gives."""
    try:
        for frame in socket.frames():
            follower.take(frame)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd is not None else 1006
    raise AssertionError("frames end only with the connection")


def at_the_same_place(follower: Follower) -> Follower:
    """Return a reader who has seen what `follower` has, and goes on alone."""
    return copy.deepcopy(follower)


def place_of(cursor: str) -> tuple[int, int, int]:
    """Return what a cursor says: the event, the dispatch, the piece."""
    seq, _, rest = cursor.partition(".")
    dispatch, _, n = rest.partition("-")
    return int(seq), int(dispatch), int(n)
