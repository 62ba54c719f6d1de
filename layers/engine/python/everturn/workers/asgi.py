"""The worker as an ASGI 3 application: the loop stays free, and who hangs up ends the work.

Async functions run on the loop and are cancelled with their request. Sync ones run in threads,
which nothing can end: their result is dropped.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from everturn.workers.answers import Response
from everturn.workers.http import (
    FIXED_HEADERS,
    Reply,
    opened,
    over_limit,
    replied,
    without_body,
)
from everturn.workers.results import Fits, fits_http
from everturn.workers.vouching import Vouching

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

AskBy = Callable[[Any, "Threads", Fits], Awaitable[tuple[Response, bytes]]]
"""A decision request to the response and its JSON, with functions called by the threads' owner."""


class ClientGone(Exception):
    """Nobody waits for the reply any more."""


class Threads:
    """Calls functions for a loop: sync ones in threads of its own, made at the first of them."""

    def __init__(self, limit: int) -> None:
        """`limit` is how many sync functions run at once; more of them wait."""
        self._limit = limit
        self._pool: ThreadPoolExecutor | None = None

    async def __call__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        """Call `function` and wait for what it returns."""
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  an object whose __call__ is async
        ):
            return await function(*arguments, **keywords)
        returned = await self.run(functools.partial(function, *arguments, **keywords))
        return await returned if inspect.isawaitable(returned) else returned

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run `function` in a thread, with the context variables of this task."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._limit, thread_name_prefix="everturn-worker")
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._pool, context.run, function)

    def close(self) -> None:
        """Start nothing that waits for a thread; threads that run go on."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


class AsgiApp:
    """`async (scope, receive, send)` over a worker."""

    def __init__(self, ask: AskBy, vouching: Vouching, limit_bytes: int, threads: int) -> None:
        self._ask = ask
        self._vouching = vouching
        self._limit_bytes = limit_bytes
        self._threads = Threads(threads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's scope: HTTP on any path, and the server's start and stop."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "lifespan":
                await self._lifespan(receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1000})
            case other:
                raise ValueError(f"a worker does not serve {other}")

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        reply = without_body(scope["method"], headers, self._limit_bytes)
        if reply is None:
            try:
                reply = await self._posted(headers, receive)
            except ClientGone:
                return
        await _send(reply, scope["method"], send)

    async def _posted(self, headers: Mapping[str, str], receive: Receive) -> Reply:
        """Return the reply to a POST. Raises `ClientGone`."""
        body = await body_of(receive, self._limit_bytes)
        if body is None:
            return over_limit(self._limit_bytes)
        working = asyncio.ensure_future(self._worked(body, headers))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not working.done():
                working.cancel()
            await asyncio.wait({working, gone})
        if working.cancelled():
            raise ClientGone
        return working.result()

    async def _worked(self, body: bytes, headers: Mapping[str, str]) -> Reply:
        found = await asyncio.to_thread(opened, body, headers, self._vouching)
        if isinstance(found, Reply):
            return found

        async def answering(asked: Any) -> bytes:
            return (await self._ask(asked, self._threads, fits_http))[1]

        return await replied(found.request, answering)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self._threads.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the request's headers, names in lower case, repeated ones joined with commas."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


async def body_of(receive: Receive, limit_bytes: int) -> bytes | None:
    """Return the body, None as soon as it is over the limit. Raises `ClientGone`."""
    pieces: list[bytes] = []
    size_bytes = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece = message.get("body", b"")
        size_bytes += len(piece)
        if size_bytes > limit_bytes:
            return None
        pieces.append(piece)
        more = message.get("more_body", False)
    return b"".join(pieces)


async def _disconnected(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(reply: Reply, method: str, send: Send) -> None:
    body = b"" if method == "HEAD" else reply.body
    headers = {**FIXED_HEADERS, **reply.headers, "content-length": str(len(reply.body))}
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(reply.status), "headers": encoded})
    await send({"type": "http.response.body", "body": body})
