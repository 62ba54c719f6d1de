"""When a failed attempt is repeated."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from everturn.protocol.limits import MAX_ATTEMPTS, MAX_POLICY_SECS
from everturn.session.events.shape import Retry
from everturn.session.retries import (
    MODEL_RETRY,
    max_attempts,
    model_retry,
    tool_retry,
    wait_ms,
)

OWN = {"timeout_secs": 5, "max_retries": 4, "backoff_base_secs": 3, "backoff_max_secs": 9}


@pytest.mark.parametrize(
    ("base", "cap", "waits"),
    [
        (2, 60, [2, 4, 8, 16, 32, 60, 60]),
        (0, 60, [0, 0, 0]),
        (1, 60, [1, 1, 1]),
        (0.5, 60, [0.5, 0.25, 0.125]),
        (10, 0, [0, 0]),
    ],
)
def test_the_wait_grows_by_the_power_of_the_base_up_to_the_cap(
    base: float, cap: float, waits: list[float]
) -> None:
    """R-4."""
    assert [wait_ms(base, cap, n, None) / 1000 for n in range(1, len(waits) + 1)] == waits


@given(
    base=st.floats(0, MAX_POLICY_SECS),
    cap=st.floats(0, MAX_POLICY_SECS),
    n=st.integers(1, MAX_ATTEMPTS),
)
def test_no_policy_that_a_config_may_hold_overflows(base: float, cap: float, n: int) -> None:
    assert 0 <= wait_ms(base, cap, n, None) <= round(cap * 1000)


@pytest.mark.parametrize(("wish", "wait"), [(0, 0), (60, 60), (60.001, 2), (-1, 2), (None, 2)])
def test_the_other_sides_wish_counts_within_the_cap(wish: float | None, wait: float) -> None:
    """L-9."""
    assert wait_ms(2, 60, 1, wish) == wait * 1000


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 1), (3, 3)])
def test_max_retries_counts_attempts(retries: int, attempts: int) -> None:
    """R-2, O-17."""
    assert max_attempts(Retry(max_retries=retries)) == attempts


def test_a_models_policy_is_the_configs_or_ours() -> None:
    """R-1, R-6, R-8, L-6."""
    assert model_retry({}) == MODEL_RETRY
    assert model_retry({"retry": OWN}) == Retry(**OWN)


@pytest.mark.parametrize(
    ("tool", "policy"),
    [
        (None, Retry()),
        ({}, Retry()),
        ({"timeout_secs": 7}, Retry(timeout_secs=7)),
        ({"effect": "unclassified"}, Retry()),
        ({"effect": "non_idempotent_write"}, Retry()),
        (
            {"effect": "read"},
            Retry(max_retries=3, backoff_base_secs=2, backoff_max_secs=60),
        ),
        (
            {"effect": "idempotent_write", "timeout_secs": 7},
            Retry(timeout_secs=7, max_retries=3, backoff_base_secs=2, backoff_max_secs=60),
        ),
        ({"effect": "read", "retry": OWN}, Retry(**OWN)),
        ({"retry": OWN, "timeout_secs": 7}, Retry(**{**OWN, "timeout_secs": 7})),
    ],
)
def test_a_tools_policy_is_its_own_then_its_effects_then_one_try(
    tool: dict[str, object] | None, policy: Retry
) -> None:
    """O-25, R-6, R-8: the agent's retry is for model calls."""
    assert tool_retry(tool) == policy
