"""Signing what is delivered to a worker, and checking that; has no keys and no clock of its own."""

from __future__ import annotations

import hashlib
import hmac

SIGNATURE_HEADER = "X-Everturn-Signature"
TIMESTAMP_HEADER = "X-Everturn-Timestamp"
TOLERANCE_S = 300
"""How far a timestamp may lie from the receiver's clock, before or behind."""

_PREFIX = "sha256="
_TIMESTAMP_DIGITS = 12


def sign(secret: bytes, body: bytes, timestamp_epoch_s: int) -> str:
    """Return the signature header's value, `sha256=<hex>`, over `timestamp + "." + body`.

    Source: decision protocol O-2, so that a replay can be told by its time.
    """
    return _PREFIX + _hex(secret, f"{timestamp_epoch_s}.".encode() + body)


def sign_body(secret: bytes, body: bytes) -> str:
    """Return `sha256=<hex>` over the bare body, the form of workers written for another engine.

    Source: decision protocol A-8. It says nothing about when: such a worker cannot tell a replay.
    """
    return _PREFIX + _hex(secret, body)


def signed_headers(secret: bytes, body: bytes, timestamp_epoch_s: int) -> dict[str, str]:
    """Return the two headers that let a worker check `body`, this very sequence of bytes."""
    return {
        SIGNATURE_HEADER: sign(secret, body, timestamp_epoch_s),
        TIMESTAMP_HEADER: str(timestamp_epoch_s),
    }


def verify(
    secret: bytes,
    body: bytes,
    *,
    signature: str,
    timestamp: str,
    now_epoch_s: float,
    tolerance_s: float = TOLERANCE_S,
) -> bool:
    """Tell whether both header values vouch for `body` now; any malformed value is a plain no.

    The comparison takes the same time wherever the two signatures differ.
    """
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= _TIMESTAMP_DIGITS):
        return False
    if abs(now_epoch_s - int(timestamp)) > tolerance_s:
        return False
    expected = _PREFIX + _hex(secret, f"{timestamp}.".encode() + body)
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))


def _hex(secret: bytes, message: bytes) -> str:
    return hmac.new(secret, message, hashlib.sha256).hexdigest()
