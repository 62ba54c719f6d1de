"""Answers of the HTTP functions, errors included; the WebSocket API does without this module."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from everturn.errors import to_http
from everturn.rejections import InsufficientScope, InvalidClient, Unauthenticated
from everturn.surfaces.callers import headers_of
from everturn.surfaces.http_answers import log_failure

JSON: Final = "application/json"
PACKED_FROM_BYTES: Final = 512 * 1024


def packed(response: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Return a large answer compressed, where the caller takes that.

    A Lambda answer holds 6 MB of JSON, in which a JSON body is escaped once more.
    """
    headers = headers_of(event)
    body = (response.get("body") or "").encode()
    if len(body) < PACKED_FROM_BYTES or "gzip" not in headers.get("accept-encoding", ""):
        return response
    about = {**(response.get("headers") or {}), "content-encoding": "gzip"}
    for name, values in (response.get("multiValueHeaders") or {}).items():
        about.setdefault(name, ", ".join(values))
    return {
        **response,
        "headers": about,
        "body": base64.b64encode(gzip.compress(body, compresslevel=5)).decode(),
        "isBase64Encoded": True,
    }


def answer(status: int, body: dict[str, Any]) -> Response[str]:
    """Return a JSON answer."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    headers = {"cache-control": "no-store"}
    if "retry_after" in body:
        headers["retry-after"] = str(body["retry_after"])
    return Response(int(status), JSON, text, headers=headers)


def kept_by_nobody(response: Response[str]) -> Response[str]:
    """Return an answer with what old caches want to be told. Source: RFC 6749, section 5.1."""
    response.headers["pragma"] = "no-cache"
    return response


def failed(
    error: BaseException, *, says_ok: bool = False, oauth: bool = False, hints: bool = False
) -> Response[str]:
    """Return the answer to an error, and log it at its family's level.

    With `hints` there is one in any case: clients of the runs API show no other sentence.
    """
    log_failure(error)
    status, body = to_http(error)
    if hints:
        meant = ", ".join(body.get("candidates") or ())
        told = f"{body['message']}; did you mean {meant}?" if meant else body["message"]
        body.setdefault("hint", told)
    if oauth:
        body["error_description"] = body["message"]
    response = answer(status, {"ok": False, **body} if says_ok else body)
    response.headers |= _challenge(error)
    return response


def _challenge(error: BaseException) -> dict[str, str]:
    """Return the header that tells what credential would do. Source: RFC 6750, 3; 6749, 5.2."""
    match error:
        case InvalidClient():
            return {"www-authenticate": 'Basic realm="everturn"'}
        case Unauthenticated():
            return {"www-authenticate": "Bearer"}
        case InsufficientScope(fields={"required": scope}):
            told = f'Bearer error="insufficient_scope", scope="{scope}"'
            return {"www-authenticate": told}
        case _:
            return {}


def to_gateway(response: Any) -> dict[str, Any]:
    """Return a powertools answer as API Gateway takes it."""
    return {
        "statusCode": response.status_code,
        "headers": {name.lower(): value for name, value in response.headers.items()},
        "body": response.body,
    }
