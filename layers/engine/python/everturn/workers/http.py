"""An HTTP request to a worker -> the reply, whatever server carries both: checks before answers.

In this order: method, size, signature, JSON, shape. Nothing is parsed before it is vouched for.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from everturn.errors import RejectedError, TransientError, to_http
from everturn.protocol.json_text import compact
from everturn.protocol.limits import MIB
from everturn.rejections import (
    InvalidJson,
    MethodNotAllowed,
    SchemaViolation,
    TooLarge,
    Unauthenticated,
)
from everturn.workers.answers import NotADecision
from everturn.workers.logs import logger
from everturn.workers.vouching import SecretsUnavailable, Vouching, header

MAX_REQUEST_BYTES: Final = 16 * MIB
"""A decision request; over it 413. Twice what a worker may answer."""

ALLOWED: Final = "GET, HEAD, POST"

Headers = Mapping[str, str]

Answering = Callable[[Any], Awaitable[bytes]]
"""A decision request to the response's JSON; raises `NotADecision`."""


class Reply(NamedTuple):
    """What is answered, beside the headers that every answer has."""

    status: int
    body: bytes
    headers: Headers = {}  # noqa: RUF012  never written


class Opened(NamedTuple):
    """What a request holds, vouched for and nothing more."""

    request: Any


def without_body(method: str, headers: Headers, limit_bytes: int) -> Reply | None:
    """Return the reply to a request whose body need not be read; None where it must be."""
    match method.upper():
        case "GET" | "HEAD":
            return Reply(HTTPStatus.OK, b'{"ok":true}')
        case "POST":
            pass
        case _:
            told = MethodNotAllowed(f"A worker takes {ALLOWED}.")
            return failure(told, {"allow": ALLOWED})
    length = header(headers, "content-length")
    announced = int(length[:_DIGITS]) if length.isascii() and length.isdigit() else 0
    return over_limit(limit_bytes) if announced > limit_bytes else None


def over_limit(limit_bytes: int) -> Reply:
    """Return the reply to a body that is too long."""
    return failure(TooLarge(f"A request has at most {limit_bytes} bytes.", limit_bytes=limit_bytes))


def opened(body: bytes, headers: Headers, vouching: Vouching) -> Opened | Reply:
    """Return what is in `body`, vouched for, or the reply that refuses it."""
    try:
        vouching.check(body, headers)
        return Opened(json.loads(body.decode()))
    except (ValueError, RecursionError):
        return failure(InvalidJson("The body is no JSON in UTF-8."))
    except (Unauthenticated, SecretsUnavailable) as error:
        return failure(error)


async def replied(request: Any, answering: Answering) -> Reply:
    """Return the reply to a decision request; a defect of the worker's is logged and a 500."""
    try:
        return Reply(HTTPStatus.OK, await answering(request))
    except NotADecision as error:
        return failure(SchemaViolation(str(error)))
    except Exception:  # noqa: BLE001  the edge: into the log, and a 500 to the engine
        logger.exception("the worker could not answer")
        return Reply(HTTPStatus.INTERNAL_SERVER_ERROR, _INTERNAL)


def failure(error: RejectedError | TransientError, headers: Headers | None = None) -> Reply:
    """Return the reply that tells a caller of `error`."""
    status, body = to_http(error)
    retry = {"retry-after": str(body["retry_after"])} if "retry_after" in body else {}
    return Reply(status, compact(body).encode(), {**(headers or {}), **retry})


_INTERNAL: Final = compact(
    {
        "error": "internal",
        "code": "internal",
        "message": "the worker failed; the reason is in its log",
    }
).encode()

_DIGITS: Final = 20
"""Enough for any length that anybody means."""

FIXED_HEADERS: Final[Headers] = {"content-type": "application/json", "cache-control": "no-store"}
