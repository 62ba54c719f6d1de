"""Tool `clock`: what time it is somewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sample_errors import ToolFailed

ZONE_HINT = (
    "Write an IANA name such as UTC, Europe/Paris, America/New_York, Asia/Tokyo or Asia/Kolkata."
)


def clock(
    arguments: dict[str, Any], now: datetime, zones: Callable[[str], tzinfo] = ZoneInfo
) -> dict[str, str]:
    """Return `{timezone, local_time, weekday, utc_time}` for `{timezone?}`, UTC by default.

    Raises `ToolFailed`, which says how to write a time zone.
    """
    name = arguments.get("timezone") or "UTC"
    local = now.astimezone(zone_of(name, zones)) if name != "UTC" else now
    return {
        "timezone": name,
        "local_time": local.isoformat(timespec="seconds"),
        "weekday": local.strftime("%A"),
        "utc_time": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def zone_of(name: object, zones: Callable[[str], tzinfo]) -> tzinfo:
    """Return the time zone called `name`."""
    if not isinstance(name, str):
        raise ToolFailed(f"timezone should be text. {ZONE_HINT}")
    try:
        return zones(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        if not has_zones(zones):
            raise ToolFailed(
                "This machine has no time zone database, so only UTC can be asked for."
            ) from error
        raise ToolFailed(f"There is no time zone {name!r}. {ZONE_HINT}") from error


def has_zones(zones: Callable[[str], tzinfo]) -> bool:
    """Return whether a zone that every database has can be found."""
    try:
        zones("Europe/London")
    except (ZoneInfoNotFoundError, OSError):
        return False
    return True
