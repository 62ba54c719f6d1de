"""Ways to lose or repeat deliveries on purpose. Without a hook everything is delivered once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Delivery(StrEnum):
    """What becomes of one queue message or stream record."""

    DELIVER = "deliver"
    DROP = "drop"
    """Removed without the function seeing it."""
    DUPLICATE = "duplicate"
    """The function sees the very same event twice in a row."""
    LOSE_ANSWER = "lose_answer"
    """The function runs, but its answer counts as a failure: the message comes again."""


Hook = Callable[[Mapping[str, Any]], Delivery]
"""From one event record, as the function would see it, to its fate."""


def deliver(_: Mapping[str, Any]) -> Delivery:
    """The hook that disturbs nothing."""
    return Delivery.DELIVER


@dataclass(slots=True)
class Faults:
    """Hooks that are asked before each delivery; set them at any time."""

    queue: Hook = deliver
    stream: Hook = deliver
