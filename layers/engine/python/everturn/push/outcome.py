"""What became of one frame, as a closed set of facts; retrying is not decided here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """API Gateway took the frame."""


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such connection any more (410)."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """Too many frames (429): nothing was sent."""


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The frame is over 128 KB (413); no repetition will change that."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Anything else; `reason` is a constant phrase or an error code of the service."""

    reason: str


PushOutcome = Sent | Gone | Throttled | TooLarge | Failed
