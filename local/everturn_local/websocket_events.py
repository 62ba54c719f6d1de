"""Events of the WebSocket API's routes and authorizer, and what their answers mean. Pure."""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from everturn_local.template import ACCOUNT
from everturn_local.topology import WebSocketApi

_SPELLED = {"websocket": "WebSocket"}


@dataclass(frozen=True, slots=True)
class Handshake:
    """What is known about a connection from its opening on."""

    connection_id: str
    headers: Sequence[tuple[str, str]]
    query: str
    source_ip: str
    connected_ms: int
    host: str
    region: str
    stage: str
    api_id: str

    def header(self, name: str) -> str:
        """Value of the first header called `name` (lower case), empty without one."""
        return next((value for each, value in self.headers if each.lower() == name), "")


def authorizer_event(handshake: Handshake) -> dict[str, Any]:
    """The REQUEST authorizer's event.

    Source: Amazon API Gateway Developer Guide, "Create a REQUEST Lambda authorizer", WebSocket.
    """
    return {
        "type": "REQUEST",
        "methodArn": (
            f"arn:aws:execute-api:{handshake.region}:{ACCOUNT}:"
            f"{handshake.api_id}/{handshake.stage}/$connect"
        ),
        "stageVariables": {},
        **_request(handshake),
        "requestContext": _context(handshake, "$connect", "CONNECT", {}),
    }


def connect_event(handshake: Handshake, authorizer: Mapping[str, Any]) -> dict[str, Any]:
    """The event of the $connect route."""
    return {
        **_request(handshake),
        "requestContext": _context(handshake, "$connect", "CONNECT", authorizer),
        "isBase64Encoded": False,
    }


def message_event(
    handshake: Handshake, authorizer: Mapping[str, Any], route_key: str, data: str | bytes
) -> dict[str, Any]:
    """The event of a message; binary messages come in base64."""
    context = _context(handshake, route_key, "MESSAGE", authorizer)
    context["messageId"] = context["requestId"]
    is_binary = isinstance(data, bytes)
    body = b64encode(data).decode() if isinstance(data, bytes) else data
    return {"requestContext": context, "body": body, "isBase64Encoded": is_binary}


def disconnect_event(
    handshake: Handshake, authorizer: Mapping[str, Any], code: int
) -> dict[str, Any]:
    """The event of the $disconnect route."""
    context = _context(handshake, "$disconnect", "DISCONNECT", authorizer)
    context |= {"disconnectStatusCode": code, "disconnectReason": ""}
    return {
        "headers": {"Host": handshake.host},
        "multiValueHeaders": {"Host": [handshake.host]},
        "requestContext": context,
        "isBase64Encoded": False,
    }


def allows(policy: Mapping[str, Any]) -> bool:
    """Whether an authorizer's answer lets the connection in: an Allow and no Deny."""
    statements = (policy.get("policyDocument") or {}).get("Statement") or []
    effects = {str(statement.get("Effect")).lower() for statement in statements}
    return "allow" in effects and "deny" not in effects


def plain_context(policy: Mapping[str, Any]) -> dict[str, str] | None:
    """The authorizer's context as routes get it: strings; None when a value is no plain one."""
    plain = {"principalId": str(policy.get("principalId", ""))}
    for name, value in (policy.get("context") or {}).items():
        match value:
            case bool():
                plain[name] = "true" if value else "false"
            case str() | int() | float():
                plain[name] = str(value)
            case _:
                return None
    return plain


def selected_route(api: WebSocketApi, data: str | bytes) -> str:
    """The route key that the API's selection expression finds in a message."""
    field = api.selection.removeprefix("$request.body.").strip("${}")
    try:
        body = json.loads(data)
    except ValueError:
        return "$default"
    key = body.get(field) if isinstance(body, dict) else None
    return key if isinstance(key, str) and key in api.routes else "$default"


def _context(
    handshake: Handshake, route_key: str, event_type: str, authorizer: Mapping[str, Any]
) -> dict[str, Any]:
    now = datetime.now(UTC)
    request_id = str(uuid.uuid4())
    context: dict[str, Any] = {
        "routeKey": route_key,
        "eventType": event_type,
        "extendedRequestId": request_id,
        "requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "messageDirection": "IN",
        "stage": handshake.stage,
        "connectedAt": handshake.connected_ms,
        "requestTimeEpoch": int(now.timestamp() * 1000),
        "identity": {
            "sourceIp": handshake.source_ip,
            "userAgent": handshake.header("user-agent"),
        },
        "requestId": request_id,
        "domainName": handshake.host,
        "connectionId": handshake.connection_id,
        "apiId": handshake.api_id,
    }
    if authorizer:
        context["authorizer"] = {**authorizer, "integrationLatency": 1}
    return context


def _request(handshake: Handshake) -> dict[str, Any]:
    headers = [(_spelled(name), value) for name, value in handshake.headers]
    query = parse_qsl(handshake.query, keep_blank_values=True)
    event: dict[str, Any] = {"headers": dict(headers), "multiValueHeaders": _many(headers)}
    if query:
        event["queryStringParameters"] = dict(query)
        event["multiValueQueryStringParameters"] = _many(query)
    return event


def _many(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    many: dict[str, list[str]] = {}
    for name, value in pairs:
        many.setdefault(name, []).append(value)
    return many


def _spelled(name: str) -> str:
    """`sec-websocket-key` -> `Sec-WebSocket-Key`, as clients of API Gateway send it."""
    return "-".join(_SPELLED.get(part, part.capitalize()) for part in name.lower().split("-"))
