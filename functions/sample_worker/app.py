"""Function URL event, or a decision request itself -> the worker's answer. Parse, call, map.

A plain worker: it needs nothing but the standard library and the decision protocol.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from sample_answers import answer


class BadRequest(Exception):
    """The event holds no decision request."""


def lambda_handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return an HTTP response (payload 2.0), or for a direct invocation the decision response."""
    now = datetime.now(UTC)
    if "requestContext" not in event:
        return answer(event, now)
    try:
        request = decision_request(event)
    except BadRequest as error:
        body = {"error": "bad_request", "code": "bad_request", "message": str(error)}
        return response(HTTPStatus.BAD_REQUEST, body)
    return response(HTTPStatus.OK, answer(request, now))


def decision_request(event: dict[str, Any]) -> dict[str, Any]:
    """Return the decision request in the body of `event`; raises `BadRequest`."""
    try:
        body = event.get("body") or ""
        raw = base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else body
        request = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadRequest("the body should be JSON") from error
    match request:
        case {"trigger": {"type": str()}}:
            return dict(request)
        case _:
            raise BadRequest("the body should be a decision request: an object with a trigger")


def response(status: HTTPStatus, body: dict[str, Any]) -> dict[str, Any]:
    """Return `body` as a payload 2.0 response."""
    return {
        "statusCode": int(status),
        "headers": {"content-type": "application/json"},
        "body": json.dumps(body, separators=(",", ":")),
    }
