"""The WebSocket API: sockets in front of the functions, and the @connections API behind them.

Events of its routes are built in `websocket_events`, its limits stand in `websocket_limits`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from everturn_local.clock import LocalClock
from everturn_local.faults import Faults, Posting
from everturn_local.functions import Functions
from everturn_local.gateway_http import outcome_of
from everturn_local.invocations import Failed, Returned
from everturn_local.topology import WebSocketApi
from everturn_local.websocket_answers import described, error, refusal
from everturn_local.websocket_events import (
    Handshake,
    allows,
    authorizer_event,
    connect_event,
    disconnect_event,
    message_event,
    plain_context,
    selected_route,
)
from everturn_local.websocket_limits import (
    CONNECTION_MAX_S,
    GOING_AWAY,
    IDLE_TIMEOUT_S,
    MESSAGE_MAX_BYTES,
    ROUTE_TIMEOUT_S,
)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Connection:
    """One open socket."""

    socket: WebSocket
    handshake: Handshake
    connected_s: float
    last_active_s: float
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    routes: set[asyncio.Task[None]] = field(default_factory=set)


class WebSocketGateway:
    """Holds the connections; everything here runs on the server's event loop."""

    def __init__(
        self,
        api: WebSocketApi,
        functions: Functions,
        clock: LocalClock,
        faults: Faults,
        *,
        region: str,
        host: str,
    ) -> None:
        self._faults = faults
        self._api = api
        self._functions = functions
        self._clock = clock
        self._region = region
        self._host = host
        self._connections: dict[str, _Connection] = {}
        self._watch_again: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def routes(self) -> list[Route | WebSocketRoute]:
        """The socket at `/<stage>` and its management API below it."""
        stage = f"/{self._api.stage}"
        return [
            WebSocketRoute(stage, self._serve),
            WebSocketRoute(f"{stage}/", self._serve),
            Route(
                f"{stage}/@connections/{{connection_id:path}}",
                self._manage,
                methods=["GET", "POST", "DELETE"],
            ),
        ]

    def look_at_clock(self) -> None:
        """Check the connections' ages again; callable from any thread."""
        loop, again = self._loop, self._watch_again
        if loop is not None and again is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(again.set)

    async def watch_ages(self) -> None:
        """Close idle and old connections, for as long as the server lives."""
        self._loop, self._watch_again = asyncio.get_running_loop(), asyncio.Event()
        while True:
            self._watch_again.clear()
            now = self._clock.now()
            for connection in list(self._connections.values()):
                if _end_of(connection) <= now:
                    await self._close(connection, GOING_AWAY)
            ends = [_end_of(each) - now for each in self._connections.values()]
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._watch_again.wait(), min([60.0, *ends]))

    async def _serve(self, socket: WebSocket) -> None:
        handshake = Handshake(
            connection_id=b64encode(os.urandom(11)).decode(),
            headers=tuple(
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in socket.scope["headers"]
            ),
            query=socket.scope["query_string"].decode("latin-1"),
            source_ip=socket.client.host if socket.client else "127.0.0.1",
            connected_ms=int(self._clock.now_ms()),
            host=self._host,
            region=self._region,
            stage=self._api.stage,
            api_id=self._api.logical_id.lower(),
        )
        authorizer = await self._authorize(handshake)
        if isinstance(authorizer, int):
            await socket.send_denial_response(refusal(authorizer))
            return
        accepted = await self._connect(handshake, authorizer)
        if isinstance(accepted, int):
            await socket.send_denial_response(refusal(accepted))
            return
        now = self._clock.now()
        connection = _Connection(socket, handshake, now, now)
        self._connections[handshake.connection_id] = connection
        await socket.accept(subprotocol=accepted.get("sec-websocket-protocol"))
        self.look_at_clock()
        await self._receive(connection, authorizer)

    async def _authorize(self, handshake: Handshake) -> Mapping[str, Any] | int:
        """The authorizer's context, or the status that refuses the handshake."""
        if self._api.authorizer is None:
            return {}
        event = authorizer_event(handshake)
        outcome = await outcome_of(
            self._functions, self._api.authorizer, event, within_s=ROUTE_TIMEOUT_S
        )
        match outcome:
            case Returned(payload=dict() as policy):
                if not allows(policy):
                    return 403
                context = plain_context(policy)
                if context is None:
                    logger.error("the authorizer's context holds more than plain values")
                    return 500
                return context
            case Failed(message="Unauthorized"):
                return 401
            case _:
                return 500

    async def _connect(
        self, handshake: Handshake, authorizer: Mapping[str, Any]
    ) -> Mapping[str, str] | int:
        """The $connect route's response headers, or the status that refuses the handshake."""
        function = self._api.routes.get("$connect")
        if function is None:
            return {}
        event = connect_event(handshake, authorizer)
        outcome = await outcome_of(self._functions, function, event, within_s=ROUTE_TIMEOUT_S)
        match outcome:
            case Returned(payload={"statusCode": status} as response):
                if int(status) not in range(200, 300):
                    return int(status)
                headers = response.get("headers") or {}
                return {str(name).lower(): str(value) for name, value in headers.items()}
            case Returned():
                return {}
            case _:
                return 502

    async def _receive(self, connection: _Connection, authorizer: Mapping[str, Any]) -> None:
        code = 1006
        try:
            while True:
                message = await connection.socket.receive()
                if message["type"] == "websocket.disconnect":
                    code = message.get("code") or 1005
                    return
                connection.last_active_s = self._clock.now()
                task = asyncio.create_task(self._route(connection, authorizer, message))
                connection.routes.add(task)
                task.add_done_callback(connection.routes.discard)
        except (WebSocketDisconnect, RuntimeError):
            return
        finally:
            self._connections.pop(connection.handshake.connection_id, None)
            await self._disconnected(connection, authorizer, code)

    async def _disconnected(
        self, connection: _Connection, authorizer: Mapping[str, Any], code: int
    ) -> None:
        function = self._api.routes.get("$disconnect")
        if function is not None:
            event = disconnect_event(connection.handshake, authorizer, code)
            await outcome_of(self._functions, function, event, within_s=ROUTE_TIMEOUT_S)

    async def _route(
        self, connection: _Connection, authorizer: Mapping[str, Any], message: Mapping[str, Any]
    ) -> None:
        """Run the route of one message; like API Gateway, without waiting for earlier ones."""
        data = message.get("text")
        data = message.get("bytes", b"") if data is None else data
        key = selected_route(self._api, data)
        function = self._api.routes.get(key)
        outcome = None
        event = message_event(connection.handshake, authorizer, key, data)
        if function is not None:
            outcome = await outcome_of(self._functions, function, event, within_s=ROUTE_TIMEOUT_S)
        if not isinstance(outcome, Returned):
            problem = "Internal server error" if function else "Forbidden"
            context = event["requestContext"]
            body = {"message": problem, "connectionId": connection.handshake.connection_id}
            await self._send(connection, json.dumps(body | {"requestId": context["requestId"]}))

    async def _manage(self, request: Request) -> Response:
        connection = self._connections.get(request.path_params["connection_id"])
        if connection is None:
            return error(410, "GoneException")
        match request.method:
            case "POST":
                return await self._post(connection, await request.body())
            case "DELETE":
                await self._close(connection, 1000)
                return Response(status_code=204)
            case _:
                return described(
                    connection.handshake, connection.connected_s, connection.last_active_s
                )

    async def _post(self, connection: _Connection, data: bytes) -> Response:
        if len(data) > MESSAGE_MAX_BYTES:
            return error(413, "PayloadTooLargeException")
        match self._faults.post(connection.handshake.connection_id, data):
            case Posting.TAKE:
                pass
            case Posting.THROTTLE:
                return error(429, "LimitExceededException")
            case Posting.GONE:
                return error(410, "GoneException")
            case other:
                assert_never(other)
        try:
            text: str | bytes = data.decode()
        except UnicodeDecodeError:
            text = data
        connection.last_active_s = self._clock.now()
        if not await self._send(connection, text):
            return error(410, "GoneException")
        return Response(status_code=200)

    async def _send(self, connection: _Connection, data: str | bytes) -> bool:
        """Send one message after those before it; False when the socket is gone."""
        async with connection.sending:
            if connection.socket.application_state is not WebSocketState.CONNECTED:
                return False
            try:
                if isinstance(data, str):
                    await connection.socket.send_text(data)
                else:
                    await connection.socket.send_bytes(data)
            except (WebSocketDisconnect, RuntimeError):
                self._connections.pop(connection.handshake.connection_id, None)
                return False
        return True

    async def _close(self, connection: _Connection, code: int) -> None:
        self._connections.pop(connection.handshake.connection_id, None)
        async with connection.sending:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await connection.socket.close(code)


def _end_of(connection: _Connection) -> float:
    idle_end = connection.last_active_s + IDLE_TIMEOUT_S
    return min(idle_end, connection.connected_s + CONNECTION_MAX_S)
