"""The ids of the protocol: their types, their spelling, and how the engine makes its own.

It must not take time or randomness from anywhere but its arguments.
"""

import re
import uuid
from typing import NewType

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from everturn.protocol.json_text import compact
from everturn.protocol.limits import MAX_ID_CHARS
from everturn.rejections import InvalidId

TenantId = NewType("TenantId", str)
SessionId = NewType("SessionId", str)
AgentId = NewType("AgentId", str)
TurnId = NewType("TurnId", str)
CallId = NewType("CallId", str)
DecisionId = NewType("DecisionId", str)
MessageId = NewType("MessageId", str)
InterruptId = NewType("InterruptId", str)
NodeId = NewType("NodeId", str)

UUID7_RANDOM_BYTES = 10
"""Random bytes of a UUIDv7, of which 74 bits are used. Source: RFC 9562, 5.7."""

MAX_UUID7_MS = (1 << 48) - 1
"""Largest time of a UUIDv7. Source: RFC 9562, 5.7."""

_SPELLING = re.compile(rf"[A-Za-z0-9._:@-]{{1,{MAX_ID_CHARS}}}")
_RULE = f"needs 1 to {MAX_ID_CHARS} characters of A-Z a-z 0-9 . _ : @ -"
_RESERVED_TURN = re.compile(r"turn-[0-9]+")
_ENGINE_NAMESPACE = uuid.UUID("6f1c1f0e-4a4b-5d0e-9a63-6b7a9b1d2e57")


def is_id(text: str) -> bool:
    """Return whether `text` is spelled as an id from outside. Source: M-6, O-9."""
    return _SPELLING.fullmatch(text) is not None


def check_id(text: str, what: str) -> None:
    """Accept a well-spelled id; `what` names it in the refusal, the text itself is not shown.

    Raises `InvalidId`. Source: M-6, O-9.
    """
    if not is_id(text):
        raise InvalidId(f"{what} {_RULE}")


def check_new_turn_id(text: str) -> None:
    """Accept a turn id that a caller brings for a new turn.

    Raises `InvalidId`, also for `turn-<n>`, the names of turns in the agent view. Source:
    storage-and-commits.md, "Commits" 1.
    """
    check_id(text, "turn_id")
    if _RESERVED_TURN.fullmatch(text):
        raise InvalidId(
            "turn_id must not have the form turn-<n>", hint="leave turn_id out to have one minted"
        )


def _well_spelled(text: str) -> str:
    if not is_id(text):
        raise PydanticCustomError("invalid_id", _RULE)
    return text


VALID_ID = AfterValidator(_well_spelled)
"""Annotation of id fields that outsiders fill; `wire.parse` turns a misfit into `InvalidId`."""


def uuid7(at_ms: int, random: bytes) -> str:
    """Return the lower-case UUIDv7 of a time in epoch milliseconds and 10 random bytes.

    Raises `ValueError` for a time outside 48 bits or another number of bytes. Source: RFC 9562.
    """
    if not 0 <= at_ms <= MAX_UUID7_MS:
        raise ValueError(f"a UUIDv7 holds 0 to {MAX_UUID7_MS} ms, not {at_ms}")
    if len(random) != UUID7_RANDOM_BYTES:
        raise ValueError(f"a UUIDv7 takes {UUID7_RANDOM_BYTES} random bytes, not {len(random)}")
    noise = int.from_bytes(random, "big")
    head = (noise >> 62) & 0xFFF
    tail = noise & ((1 << 62) - 1)
    return str(uuid.UUID(int=at_ms << 80 | 0x7 << 76 | head << 64 | 0b10 << 62 | tail))


def uuid7_ms(text: str) -> int | None:
    """Return the time in a UUIDv7, epoch milliseconds; `None` for any other text."""
    try:
        value = uuid.UUID(text)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None  # noqa: PLR2004  # RFC 9562, 5.7


def uuid5_in(session_id: str, *parts: str | int) -> str:
    """Return the same UUIDv5 whenever session and parts are the same; unambiguous in the parts.

    Source: M-6 (the namespace comes from the session id), B-2, storage-and-commits.md.
    """
    namespace = uuid.uuid5(_ENGINE_NAMESPACE, session_id)
    return str(uuid.uuid5(namespace, compact(parts)))
