"""Payload format 2.0, both ways: HTTP request -> event, function result -> HTTP response. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from everturn_local.template import ACCOUNT
from everturn_local.topology import HttpRoute

_TEXT_TYPES = re.compile(r"^(text/.*|application/(.*\+)?(json|xml|javascript))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as the gateway received it."""

    method: str
    path: str
    """Percent-decoded."""
    query: str
    """As sent."""
    headers: Sequence[tuple[str, str]]
    body: bytes
    source_ip: str
    request_id: str
    received_epoch_s: float


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response as the gateway sends it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class MalformedResult(ValueError):
    """The function's result is no response."""


def json_answer(status: int, body: Mapping[str, Any]) -> HttpAnswer:
    """An answer of the gateway itself."""
    return HttpAnswer(status, (("content-type", "application/json"),), json.dumps(body).encode())


def match_route(
    routes: Sequence[HttpRoute], method: str, path: str
) -> tuple[HttpRoute, dict[str, str]] | None:
    """The route that API Gateway selects and its path parameters.

    Full matches win over `{proxy+}`, that over `$default`; a method wins over ANY.
    Source: Amazon API Gateway Developer Guide, "Create routes for HTTP APIs".
    """
    best: tuple[tuple[int, ...], HttpRoute, dict[str, str]] | None = None
    for route in routes:
        if route.method not in {"ANY", method}:
            continue
        if route.path == "$default":
            parameters: dict[str, str] | None = {}
            rank: tuple[int, ...] = (0,)
        else:
            parameters = _path_parameters(route.path, path)
            rank = _rank(route)
        if parameters is not None and (best is None or rank > best[0]):
            best = (rank, route, parameters)
    return None if best is None else (best[1], best[2])


def _path_parameters(pattern: str, path: str) -> dict[str, str] | None:
    parts = re.split(r"\{(\w+)(\+?)\}", pattern)
    expression = re.escape(parts[0])
    for name, greedy, literal in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        expression += f"(?P<{name}>{'.+' if greedy else '[^/]+'}){re.escape(literal)}"
    found = re.fullmatch(expression, path)
    return None if found is None else found.groupdict()


def _rank(route: HttpRoute) -> tuple[int, ...]:
    greedy = "+}" in route.path
    literals = sum(1 for part in route.path.split("/") if part and "{" not in part)
    return (1, 0 if greedy else 1, literals, 0 if route.method == "ANY" else 1)


def to_event(
    request: HttpRequest,
    *,
    api_id: str,
    host: str,
    route_key: str = "$default",
    parameters: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The payload format 2.0 event of `request`.

    Source: Amazon API Gateway Developer Guide, "Lambda proxy integrations for HTTP APIs".
    """
    headers, cookies = _joined_headers(request.headers)
    received = datetime.fromtimestamp(request.received_epoch_s, UTC)
    headers |= {"x-forwarded-for": request.source_ip, "x-forwarded-proto": "http"}
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": api_id,
            "domainName": host,
            "domainPrefix": host.partition(".")[0],
            "http": {
                "method": request.method,
                "path": request.path,
                "protocol": "HTTP/1.1",
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request.request_id,
            "routeKey": route_key,
            "stage": "$default",
            "time": received.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(request.received_epoch_s * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if request.query:
        event["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if parameters:
        event["pathParameters"] = dict(parameters)
    return event | _body(request.body, headers)


def _joined_headers(headers: Sequence[tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    cookies = [
        cookie.strip()
        for name, value in headers
        if name.lower() == "cookie"
        for cookie in value.split(";")
    ]
    rest = [(name.lower(), value) for name, value in headers if name.lower() != "cookie"]
    return _joined(rest), cookies


def _joined(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    if not body:
        return {}
    is_text = _TEXT_TYPES.match(headers.get("content-type", "")) is not None
    if is_text and "content-encoding" not in headers:
        try:
            return {"body": body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def from_result(result: Any) -> HttpAnswer:
    """The HTTP response that a function's result means; raises `MalformedResult`.

    A result without `statusCode` is the body of a 200.
    """
    if not isinstance(result, Mapping) or "statusCode" not in result:
        body = result if isinstance(result, str) else json.dumps(result)
        return HttpAnswer(200, (("content-type", "application/json"),), body.encode())
    try:
        status = int(result["statusCode"])
        text = _body_text(result.get("body"))
        encoded = bool(result.get("isBase64Encoded"))
        content = base64.b64decode(text, validate=True) if encoded else text.encode()
    except (TypeError, ValueError) as error:
        raise MalformedResult(str(error)) from error
    if status not in range(100, 600):
        raise MalformedResult(f"status {status}")
    return HttpAnswer(status, tuple(_result_headers(result)), content)


def _body_text(body: Any) -> str:
    match body:
        case str():
            return body
        case None:
            return ""
        case _:
            return json.dumps(body)


def _result_headers(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    headers = [(str(name).lower(), str(value)) for name, value in _items(result, "headers")]
    for name, values in _items(result, "multiValueHeaders"):
        headers = [pair for pair in headers if pair[0] != str(name).lower()]
        headers += [(str(name).lower(), str(value)) for value in values]
    headers += [("set-cookie", str(cookie)) for cookie in result.get("cookies") or []]
    if all(name != "content-type" for name, _ in headers):
        headers.append(("content-type", "text/plain;charset=utf-8"))
    return headers


def _items(result: Mapping[str, Any], name: str) -> list[tuple[Any, Any]]:
    return list((result.get(name) or {}).items())
