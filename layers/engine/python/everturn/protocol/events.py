"""The public event envelope, and the two spellings of a moment: epoch milliseconds and RFC 3339.

It must not know what payloads mean; events are stored in the session's own form.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field, TypeAdapter

from everturn.protocol.ids import SessionId, TurnId
from everturn.protocol.wire import Json, Maybe, WireModel

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?P<fraction>\.[0-9]{1,3})?"
    r"(?P<zone>[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class EventEnvelope(WireModel):
    """One event as clients see it. Source: E-1."""

    session_id: SessionId
    seq: Annotated[int, Field(ge=1)]
    occurred_at: str
    """RFC 3339, UTC, three fraction digits (LG-3)."""

    turn_id: Maybe[TurnId] = None
    payload: dict[str, Json]
    """With its `type`."""


EVENT_ENVELOPE = TypeAdapter(EventEnvelope)


def to_rfc3339(at_ms: int) -> str:
    """Return epoch milliseconds as `YYYY-MM-DDTHH:MM:SS.mmmZ`; `from_rfc3339` gives them back.

    Raises `ValueError` outside the years 1 to 9999. Source: LG-3, M-8.
    """
    try:
        moment = _EPOCH + at_ms * _MILLISECOND
    except OverflowError:
        raise ValueError("the moment lies outside the years 1 to 9999") from None
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def from_rfc3339(text: str) -> int:
    """Return an RFC 3339 moment, in any zone and with at most three fraction digits, as epoch ms.

    Raises `ValueError`, without the text, for anything else.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError("not an RFC 3339 moment with at most three fraction digits")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise ValueError("not a moment of the calendar") from None
    return (moment - _EPOCH) // _MILLISECOND
