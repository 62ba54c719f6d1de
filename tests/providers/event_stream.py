"""AWS's binary event streams, written: what Bedrock answers `converse_stream` with.

botocore reads them and writes none. A message is its length, the headers' length, a CRC of both,
headers, payload, and a CRC of all that.
Source: "Amazon event stream encoding", AWS API documentation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from struct import pack
from typing import Any, Final
from zlib import crc32

CONTENT_TYPE: Final = "application/vnd.amazon.eventstream"
STRING: Final = 7
"""The type of a header whose value is text."""

AROUND: Final = 16
"""Bytes that are neither headers nor payload."""


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one message."""
    named = b"".join(_header(name, value) for name, value in headers.items())
    prelude = pack("!II", AROUND + len(named) + len(payload), len(named))
    checked = prelude + pack("!I", crc32(prelude)) + named + payload
    return checked + pack("!I", crc32(checked))


def event(kind: str, payload: Mapping[str, Any]) -> bytes:
    """Return an event of a stream, as `messageStart` or `contentBlockDelta`."""
    return _in_json({":event-type": kind, ":message-type": "event"}, payload)


def exception(kind: str, text: str) -> bytes:
    """Return an exception that ends a stream, as `throttlingException`."""
    return _in_json({":exception-type": kind, ":message-type": "exception"}, {"message": text})


def _in_json(headers: Mapping[str, str], payload: Mapping[str, Any]) -> bytes:
    body = json.dumps(payload, ensure_ascii=False).encode()
    return message({":content-type": "application/json", **headers}, body)


def _header(name: str, value: str) -> bytes:
    named, text = name.encode(), value.encode()
    return pack("!B", len(named)) + named + pack("!BH", STRING, len(text)) + text
