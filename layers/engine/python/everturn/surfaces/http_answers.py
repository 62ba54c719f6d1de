"""What every surface does alike: read a body and a query, log a failure; answers nothing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from everturn.errors import EverturnError, log_level
from everturn.observability import logger
from everturn.protocol.json_text import read_json
from everturn.rejections import InvalidJson, SchemaViolation, TooLarge

MAX_DIGITS: Final = 16
"""Of a number in a query: enough for each maximum, and nothing that takes long to read."""


def read_body(event: Mapping[str, Any], limit_bytes: int) -> Any:
    """Return the JSON body of an API Gateway event. Raises `TooLarge`, `InvalidJson`."""
    return read_json(read_bytes(event, limit_bytes))


def read_bytes(event: Mapping[str, Any], limit_bytes: int) -> bytes:
    """Return the body of an API Gateway event as it was sent. Raises as `read_body`."""
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
    return raw


def read_int(text: str | None, name: str, *, minimum: int, maximum: int = 10**15) -> int | None:
    """Return a whole number of a query string. Raises `SchemaViolation`."""
    if text is None:
        return None
    is_short = len(text) <= MAX_DIGITS and text.isascii() and text.isdigit()
    if not (is_short and minimum <= int(text) <= maximum):
        raise SchemaViolation(f"{name}: must be a whole number from {minimum} to {maximum}")
    return int(text)


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
