"""When a failed attempt is repeated, and with which policy; times in, times out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from everturn.session.events.shape import Retry
from everturn.session.events.tool_calls import Effect

MODEL_RETRY: Final = Retry(
    timeout_secs=180, max_retries=5, backoff_base_secs=2, backoff_max_secs=60
)
"""Source: decision-protocol L-6."""

START_RETRY: Final = Retry(timeout_secs=60, max_retries=3, backoff_base_secs=2, backoff_max_secs=60)
"""Of the start of a child session. Source: decision-protocol R-6."""

REPEATABLE: Final[frozenset[Effect]] = frozenset({"read", "idempotent_write"})
"""Effects that let a tool run again whatever became of its last run. Source: agent-session 4."""

REPEATABLE_ATTEMPTS: Final = 3
"""Attempts of a tool with such an effect. Source: agent-session 4."""


def may_repeat(effect: Effect | None) -> bool:
    """Return whether a tool may run again though its last run may have taken effect.

    A worker-decided agent that sets no effect follows its retry policy alone. Source: O-11.
    """
    return effect is None or effect in REPEATABLE


def max_attempts(policy: Retry) -> int:
    """Return how often a call may be tried: `max_retries` counts attempts, 0 is 1. Source: R-2."""
    return max(1, policy.max_retries)


def wait_ms(base_s: float, cap_s: float, failed_attempt: int, retry_after_s: float | None) -> int:
    """Return the wait after the n-th failed attempt; the other side's wish counts up to the cap.

    Source: decision-protocol R-4, L-9.
    """
    if retry_after_s is not None and 0 <= retry_after_s <= cap_s:
        return round(retry_after_s * 1000)
    try:
        wait_s = min(base_s**failed_attempt, cap_s)
    except OverflowError:  # no float is as large, the cap is
        wait_s = cap_s
    return round(wait_s * 1000)


def model_retry(config: Mapping[str, Any]) -> Retry:
    """Return the policy of an agent's model calls."""
    policy = config.get("retry")
    return Retry(**policy) if policy else MODEL_RETRY


def tool_retry(tool: Mapping[str, Any] | None) -> Retry:
    """Return the policy of a tool: its own, then its effect's, then one try. Source: O-25."""
    tool = tool or {}
    timeout_s = tool.get("timeout_secs")
    if tool.get("retry"):
        own = Retry(**tool["retry"])
        return own.model_copy(update={"timeout_secs": timeout_s}) if timeout_s else own
    if tool.get("effect") in REPEATABLE:
        return Retry(
            timeout_secs=timeout_s,
            max_retries=REPEATABLE_ATTEMPTS,
            backoff_base_secs=2,
            backoff_max_secs=60,
        )
    return Retry(timeout_secs=timeout_s)
