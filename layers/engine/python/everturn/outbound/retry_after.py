"""Retry-After, as servers say it; waits for nothing."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Final

MAX_RETRY_AFTER_S: Final = 3600.0


def to_retry_after_s(value: str, now_epoch_s: float) -> float | None:
    """Read a Retry-After header, seconds or a date; None where it says nothing readable.

    Never below 0 nor above an hour. Source: RFC 9110, 10.2.3.
    """
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), MAX_RETRY_AFTER_S)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - now_epoch_s
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)
