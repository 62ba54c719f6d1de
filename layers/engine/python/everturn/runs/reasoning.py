"""How hard a run's model thinks: a level of the runs API as an effort that the model offers.

It must not know a provider's dial: adapters turn efforts into it. Source: runs document, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

Word = Literal["off", "low", "medium", "high"]

LEVELS: Final[dict[str, int]] = {"off": 0, "low": 30, "medium": 50, "high": 80}
"""What the words stand for. Source: section 6."""

MOST_OF_LOW: Final = 35
MOST_OF_MEDIUM: Final = 65
"""Up to where a number is that word: about half way to the next."""

STRENGTH: Final[dict[str, int]] = {"minimal": 10, "low": 30, "medium": 50, "high": 80, "xhigh": 100}
"""How strong the efforts that think are, as levels."""

NONE: Final = "none"


def level_of(said: str | int) -> int:
    """Return a `reasoningLevel` as a number from 0 to 100."""
    return LEVELS[said] if isinstance(said, str) else said


def word_of(level: int) -> Word:
    """Return the word for a number."""
    if level <= 0:
        return "off"
    if level <= MOST_OF_LOW:
        return "low"
    return "medium" if level <= MOST_OF_MEDIUM else "high"


def effort_of(said: str | int, efforts: Sequence[str]) -> str | None:
    """Return the effort of a `reasoningLevel`, `None` where the model offers none that fits.

    `efforts` are those that it offers, in preferred order; with none of them known the word itself
    is tried, but for `off`. Of two that are as near the preferred one is taken.
    """
    word = word_of(level_of(said))
    if word == "off":
        return NONE if NONE in efforts else None
    if not efforts:
        return word
    offered = [effort for effort in efforts if effort in STRENGTH]
    wanted = LEVELS[word]
    return min(offered, key=lambda effort: abs(STRENGTH[effort] - wanted), default=None)


def reasoning_of(said: str | int, efforts: Sequence[str]) -> dict[str, Any] | None:
    """Return a `ReasoningConfig` as JSON, `None` where a request should say nothing.

    A model that is to be off and knows no effort for it is told so: adapters make it think as
    little as it can.
    """
    effort = effort_of(said, efforts)
    if effort is not None:
        return {"effort": effort}
    return {"enabled": False} if word_of(level_of(said)) == "off" else None
