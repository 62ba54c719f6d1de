"""One loopback server for HTTP and WebSocket, on a thread of its own. Routes come from outside."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from everturn_local.websocket_limits import MESSAGE_MAX_BYTES, FrameLimitProtocol

HOST = "127.0.0.1"


def bound_socket(port: int) -> socket.socket:
    """A loopback socket on `port`, 0 for any free one; its port is known before it is served."""
    # Named as TCP, or asyncio would leave Nagle on: 40 ms an answer.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError:
        bound.close()
        raise
    return bound


class GatewayServer:
    """Serves `routes` on a socket; `background` runs beside them on the same event loop."""

    def __init__(
        self,
        bound: socket.socket,
        routes: Sequence[BaseRoute],
        background: Callable[[], Coroutine[Any, Any, None]] | None,
    ) -> None:
        self._bound = bound

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            task = asyncio.create_task(background()) if background else None
            yield
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

        config = uvicorn.Config(
            Starlette(routes=list(routes), lifespan=lifespan),
            loop="asyncio",  # and h11, also where something else brought uvloop and httptools
            http="h11",
            ws=FrameLimitProtocol,
            ws_max_size=MESSAGE_MAX_BYTES,
            ws_ping_interval=None,
            ws_per_message_deflate=False,
            log_config=None,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=65_536,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([bound],), name="everturn-gateway", daemon=True
        )

    def start(self) -> None:
        """Return once requests are answered."""
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the local server did not start")
            time.sleep(0.005)

    def stop(self) -> None:
        """Close all connections and end the thread, within about two seconds."""
        self._server.should_exit = True
        self._thread.join(3)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(1)
        self._bound.close()
