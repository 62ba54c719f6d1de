"""What time it is somewhere; the moment is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from everturn.workers import ToolError

ZONE_HINT = (
    "Write an IANA name such as UTC, Europe/Paris, America/New_York, Asia/Tokyo or Asia/Kolkata."
)


@dataclass(frozen=True, slots=True)
class LocalTime:
    """A moment as two clocks show it."""

    timezone: str
    local_time: str
    weekday: str
    utc_time: str


def time_in(name: str, now: datetime, zones: Callable[[str], tzinfo] = ZoneInfo) -> LocalTime:
    """Return `now` in the time zone called `name`.

    Raises `ToolError`, which says how to write a time zone.
    """
    local = now.astimezone(zone_of(name, zones)) if name != "UTC" else now
    return LocalTime(
        timezone=name,
        local_time=local.isoformat(timespec="seconds"),
        weekday=local.strftime("%A"),
        utc_time=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def zone_of(name: str, zones: Callable[[str], tzinfo]) -> tzinfo:
    """Return the time zone called `name`."""
    try:
        return zones(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        if not has_zones(zones):
            raise ToolError(
                "This machine has no time zone database, so only UTC can be asked for."
            ) from error
        raise ToolError(f"There is no time zone {name!r}. {ZONE_HINT}") from error


def has_zones(zones: Callable[[str], tzinfo]) -> bool:
    """Return whether a zone that every database has can be found."""
    try:
        zones("Europe/London")
    except (ZoneInfoNotFoundError, OSError):
        return False
    return True
