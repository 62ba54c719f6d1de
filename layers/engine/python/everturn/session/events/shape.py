"""What all stored events share; the events themselves are in the modules beside this one."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from everturn.session.refs import Ref

Json = Any
"""Any JSON value, kept as it came."""


class Part(BaseModel):
    """A value inside an event; next year's fields are skipped, so a rolling deploy can read it."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", defer_build=True, hide_input_in_errors=True
    )


class Stored(Part):
    """A fact of the log: `type` is its wire name, for ever; `refs` says where other bodies stand.

    A field whose name ends in `_ms` is an instant in epoch milliseconds and is shown as RFC 3339
    under the name without the ending. A field named `private` is never shown. Source:
    docs/storage.md.
    """

    turn_id: str | None = None
    """The turn the event belongs to; shown on the envelope. Source: decision-protocol E-1."""

    refs: dict[str, Ref] = Field(default_factory=dict)


class Usage(Part):
    """Disjoint token counts of one or more model calls. Source: vocabulary, "Usage"."""

    input_tokens: int = 0
    """Uncached input."""

    output_tokens: int = 0
    """Reasoning included."""

    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All disjoint counts together, as budgets count; reasoning is inside the output."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
        )

    def plus(self, other: Usage) -> Usage:
        """Return the sum, field by field."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class Retry(Part):
    """When a failed attempt is repeated; `max_retries` counts attempts. Source: R-1, R-2."""

    timeout_secs: float | None = None
    max_retries: int = 1
    backoff_base_secs: float = 0
    backoff_max_secs: float = 0


class Anchor(Part):
    """The place in the message tree that a call or a version hangs on."""

    branch: int
    depth: int
