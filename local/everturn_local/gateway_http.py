"""The HTTP API and the Function URLs: real HTTP in front of the functions, with AWS's limits."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any, assert_never

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from everturn_local.functions import Functions
from everturn_local.gateway_events import (
    HttpAnswer,
    HttpRequest,
    MalformedResult,
    from_result,
    json_answer,
    match_route,
    to_event,
)
from everturn_local.invocations import Failed, Outcome, Returned, Throttled, TooLarge, timed_out
from everturn_local.topology import Topology

logger = logging.getLogger(__name__)

HTTP_BODY_MAX_BYTES = 10 * 1024 * 1024
"""Source: Amazon API Gateway Developer Guide, "Quotas for HTTP APIs", payload size."""
INTEGRATION_TIMEOUT_S = 30.0
"""Source: Amazon API Gateway Developer Guide, "Quotas for HTTP APIs", integration timeout."""
FUNCTION_URL_BODY_MAX_BYTES = 6 * 1024 * 1024
"""Source: AWS Lambda Developer Guide, quotas, invocation payload."""

API_ID = "localhttp"
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class HttpGateway:
    """Routes of the HTTP API (`/…`) and of the Function URLs (`/_functions/<name>/…`)."""

    def __init__(
        self,
        topology: Topology,
        functions: Functions,
        *,
        integration_timeout_s: float = INTEGRATION_TIMEOUT_S,
    ) -> None:
        self._topology = topology
        self._functions = functions
        self._integration_timeout_s = integration_timeout_s

    def routes(self) -> list[Route]:
        """Starlette's routes; the last one takes every path."""
        return [
            Route("/_functions/{name}", self._function_url, methods=_METHODS),
            Route("/_functions/{name}/{path:path}", self._function_url, methods=_METHODS),
            Route("/{path:path}", self._http_api, methods=_METHODS),
        ]

    async def _http_api(self, request: Request) -> Response:
        cors = cors_headers(self._topology.cors, request.headers.get("origin"))
        if cors and request.method == "OPTIONS":
            return Response(status_code=204, headers=cors)
        body = await _read(request, HTTP_BODY_MAX_BYTES)
        if body is None:
            answer = json_answer(413, {"message": "Request Entity Too Large"})
        else:
            answer = await self._answer(_received(request, request.scope["path"], body))
        return _to_response(answer, cors)

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        found = match_route(self._topology.http_routes, request.method, request.path)
        if found is None:
            return json_answer(404, {"message": "Not Found"})
        route, parameters = found
        event = to_event(
            request,
            api_id=API_ID,
            host=_host(request),
            route_key=route.key,
            parameters=parameters,
        )
        outcome = await outcome_of(
            self._functions, route.function, event, within_s=self._integration_timeout_s
        )
        return self._to_answer(route.function, outcome)

    async def _function_url(self, request: Request) -> Response:
        name = request.path_params["name"]
        if not any(spec.name == name and spec.has_url for spec in self._topology.functions):
            return _to_response(json_answer(404, {"Message": "Not Found"}), {})
        body = await _read(request, FUNCTION_URL_BODY_MAX_BYTES)
        if body is None:
            return _to_response(json_answer(413, {"Message": "Request Entity Too Large"}), {})
        received = _received(request, f"/{request.path_params.get('path', '')}", body)
        event = to_event(received, api_id=f"{name}-url", host=_host(received))
        outcome = await outcome_of(self._functions, name, event, within_s=None)
        return _to_response(self._to_answer(name, outcome, on_failure=502), {})

    def _to_answer(
        self, function: str, outcome: Outcome | None, on_failure: int = 500
    ) -> HttpAnswer:
        error = {"message": "Internal Server Error"}
        match outcome:
            case None:
                return json_answer(503, {"message": "Service Unavailable"})
            case Returned(payload=payload):
                try:
                    return from_result(payload)
                except MalformedResult:
                    logger.exception("%s returned no response", function)
                    return json_answer(on_failure, error)
            case Failed():
                return json_answer(on_failure, error)
            case Throttled():
                return json_answer(429, {"message": "Too Many Requests"})
            case TooLarge():
                return json_answer(413, {"message": "Request Entity Too Large"})
            case _:
                assert_never(outcome)


async def outcome_of(
    functions: Functions, name: str, event: Any, *, within_s: float | None
) -> Outcome | None:
    """The outcome of one invocation; None when it took longer than `within_s`.

    The function's own timeout counts as well and gives a `Failed`.
    """
    timeout_s = functions.spec(name).timeout_s
    future = asyncio.wrap_future(functions.submit(name, event))
    limit_s = timeout_s if within_s is None else min(timeout_s, within_s)
    done, _ = await asyncio.wait([future], timeout=limit_s)
    if done:
        return future.result()
    logger.error("%s did not answer within %s s and goes on in its thread", name, limit_s)
    return None if limit_s < timeout_s else timed_out(timeout_s)


def cors_headers(cors: Mapping[str, Any], origin: str | None) -> dict[str, str]:
    """Headers that the HTTP API adds to an answer to `origin`; empty when it may not read it."""
    allowed = cors.get("AllowOrigins") or []
    if origin is None or not ({"*", origin} & set(allowed)):
        return {}
    headers = {"access-control-allow-origin": "*" if "*" in allowed else origin}
    for key, header in (
        ("AllowMethods", "access-control-allow-methods"),
        ("AllowHeaders", "access-control-allow-headers"),
        ("ExposeHeaders", "access-control-expose-headers"),
    ):
        if cors.get(key):
            headers[header] = ",".join(cors[key])
    if cors.get("MaxAge") is not None:
        headers["access-control-max-age"] = str(cors["MaxAge"])
    if str(cors.get("AllowCredentials", False)).lower() == "true":
        headers["access-control-allow-credentials"] = "true"
    return headers


async def _read(request: Request, most_bytes: int) -> bytes | None:
    """The request's body, None when it is larger than `most_bytes`."""
    content = bytearray()
    try:
        async for chunk in request.stream():
            content += chunk
            if len(content) > most_bytes:
                return None
    except ClientDisconnect:
        return None
    return bytes(content)


def _received(request: Request, path: str, body: bytes) -> HttpRequest:
    return HttpRequest(
        method=request.method,
        path=path,
        query=request.scope["query_string"].decode("latin-1"),
        headers=tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in request.scope["headers"]
        ),
        body=body,
        source_ip=request.client.host if request.client else "127.0.0.1",
        request_id=str(uuid.uuid4()),
        received_epoch_s=time.time(),
    )


def _host(request: HttpRequest) -> str:
    return next((value for name, value in request.headers if name == "host"), "localhost")


def _to_response(answer: HttpAnswer, cors: Mapping[str, str]) -> Response:
    response = Response(answer.body, answer.status)
    kept = [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in answer.headers
        if name not in {"content-length", "transfer-encoding", "connection"}
    ]
    cors_pairs = [(name.encode(), value.encode()) for name, value in cors.items()]
    length = (b"content-length", str(len(answer.body)).encode())
    response.raw_headers = [*kept, *cors_pairs, length]
    return response
