"""What every HTTP surface does alike: read a body and a query, answer, fail; knows no route."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Mapping
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from everturn.errors import EverturnError, log_level, to_http
from everturn.observability import logger
from everturn.protocol.json_text import read_json
from everturn.rejections import (
    InsufficientScope,
    InvalidJson,
    SchemaViolation,
    TooLarge,
    Unauthenticated,
)

JSON: Final = "application/json"
PACKED_FROM_BYTES: Final = 512 * 1024


def read_body(event: Mapping[str, Any], limit_bytes: int) -> Any:
    """Return the JSON body of an API Gateway event. Raises `TooLarge`, `InvalidJson`."""
    text = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error:
            raise InvalidJson("The body is not readable.") from None
    else:
        raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > limit_bytes:
        raise TooLarge(
            f"The body has {len(raw)} bytes; at most {limit_bytes} are taken.",
            limit_bytes=limit_bytes,
            size_bytes=len(raw),
        )
    return read_json(raw)


def read_int(text: str | None, name: str, *, minimum: int, maximum: int = 10**15) -> int | None:
    """Return a whole number of a query string. Raises `SchemaViolation`."""
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and minimum <= int(text[:20]) <= maximum):
        raise SchemaViolation(f"{name}: must be a whole number from {minimum} to {maximum}")
    return int(text)


def packed(response: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Return a large answer compressed, where the caller takes that.

    A Lambda answer holds 6 MB of JSON, in which a JSON body is escaped once more.
    """
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
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


def failed(error: BaseException) -> Response[str]:
    """Return the answer to an error, and log it at its family's level."""
    log_failure(error)
    response = answer(*to_http(error))
    response.headers |= _challenge(error)
    return response


def _challenge(error: BaseException) -> dict[str, str]:
    """Return the header that tells what credential would do. Source: RFC 6750, section 3."""
    match error:
        case Unauthenticated():
            return {"www-authenticate": "Bearer"}
        case InsufficientScope(fields={"required": scope}):
            told = f'Bearer error="insufficient_scope", scope="{scope}"'
            return {"www-authenticate": told}
        case _:
            return {}


def log_failure(error: BaseException) -> None:
    """Log an error once, without anything that a caller sent."""
    code = getattr(error, "code", type(error).__name__)
    match log_level(error):
        case "info":
            logger.info("request refused", code=code)
        case "warning":
            logger.warning("request failed", code=code)
        case "exception":
            known = isinstance(error, EverturnError)
            logger.error("request failed", code=code, known=known, exc_info=error)


def to_gateway(response: Any) -> dict[str, Any]:
    """Return a powertools answer as API Gateway takes it."""
    return {
        "statusCode": response.status_code,
        "headers": {name.lower(): value for name, value in response.headers.items()},
        "body": response.body,
    }
