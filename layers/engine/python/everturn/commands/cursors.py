"""Where a list goes on, as opaque text; it names a place, never whose list it is."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import Any, Final, Literal

from everturn.protocol.json_text import compact
from everturn.rejections import InvalidId

Order = Literal["last_turn", "created", "agent"]
"""What a list is sorted by; the cursor of one order is none of another."""

MAX_CHARS: Final = 600

_ID: Final = r"[A-Za-z0-9._:@-]{1,200}"
_MOMENT: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
_PLACES: Final = {
    "last_turn": re.compile(f"{_MOMENT}#{_ID}"),
    "created": re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "agent": re.compile(_ID),
}


def to_cursor(order: Order, place: str) -> str:
    """Return the text of a place in a list of that order."""
    return urlsafe_b64encode(compact([order, place]).encode()).decode().rstrip("=")


def from_cursor(order: Order, cursor: str | None) -> str:
    """Return the place that `to_cursor` was given, the beginning without a cursor.

    Raises `InvalidId` for anything that `to_cursor` does not make.
    """
    if cursor is None:
        return ""
    match _read(cursor):
        case [str(kind), str(place)] if kind == order and _PLACES[order].fullmatch(place):
            if to_cursor(order, place) == cursor:
                return place
    raise InvalidId("cursor: is none of this list", hint="leave it out to begin anew")


def _read(cursor: str) -> Any:
    if len(cursor) > MAX_CHARS:
        return None
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        return json.loads(urlsafe_b64decode(padded.encode("ascii")))
    except (Error, ValueError):
        return None
