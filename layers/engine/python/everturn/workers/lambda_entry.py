"""Lambda's two ways in: an invocation is a decision request itself, a Function URL brings HTTP.

Told apart by shape. An invocation needs no signature, because IAM vouches for it.
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from everturn.rejections import InvalidJson
from everturn.workers.answers import NotADecision, Response
from everturn.workers.http import (
    FIXED_HEADERS,
    Reply,
    failure,
    opened,
    over_limit,
    replied,
    without_body,
)
from everturn.workers.results import Fits, fits_function_url, fits_invocation, to_url_body
from everturn.workers.vouching import Vouching

Ask = Callable[[Any, Fits], Awaitable[tuple[Response, bytes]]]
"""A decision request to the response and its JSON, with functions called right here."""


def handle(event: Any, ask: Ask, vouching: Vouching, limit_bytes: int) -> Any:
    """Return the decision response to an invocation, or the HTTP reply to a Function URL's event.

    Raises `NotADecision` for an event that is neither, and what a handler raised: Lambda then
    reports the invocation as failed.
    """
    match event:
        case {"requestContext": {"http": {"method": str() as method}}}:
            return to_payload(run(_reply(event, method, ask, vouching, limit_bytes)))
        case {"trigger": dict()}:
            response, _ = run(_asked(ask, event))
            return response
        case _:
            raise NotADecision("neither a decision request nor an event of a Function URL")


async def call_here(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    """Call a function on this thread; what is to be awaited gets an event loop of its own."""
    returned = function(*arguments, **keywords)
    if not inspect.isawaitable(returned):
        return returned
    import asyncio  # noqa: PLC0415  40 ms, paid by async functions only

    return asyncio.run(_awaited(returned))


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits, as all of them do here, to its end without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("a worker's coroutine waited where nothing can be waited for")


def to_payload(reply: Reply) -> dict[str, Any]:
    """Return `reply` as a response of payload format 2.0."""
    body, encoded = to_url_body(reply.body)
    return {
        "statusCode": int(reply.status),
        "headers": {**FIXED_HEADERS, **reply.headers},
        "body": body,
        "isBase64Encoded": encoded,
    }


async def _reply(
    event: Mapping[str, Any], method: str, ask: Ask, vouching: Vouching, limit_bytes: int
) -> Reply:
    headers = event.get("headers") or {}
    if early := without_body(method, headers, limit_bytes):
        return early
    body = body_of(event)
    if body is None:
        return failure(InvalidJson("The body is no base64."))
    if len(body) > limit_bytes:
        return over_limit(limit_bytes)
    found = opened(body, headers, vouching)
    if isinstance(found, Reply):
        return found

    async def answering(asked: Any) -> bytes:
        return (await ask(asked, fits_function_url))[1]

    return await replied(found.request, answering)


async def _asked(ask: Ask, request: Any) -> tuple[Response, bytes]:
    return await ask(request, fits_invocation)


async def _awaited(returned: Awaitable[Any]) -> Any:
    return await returned


def body_of(event: Mapping[str, Any]) -> bytes | None:
    """Return the bytes that were posted, None for broken base64."""
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        return None
