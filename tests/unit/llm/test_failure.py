"""The table of failures, walked: code, retry, class and detail."""

import pytest

from everturn.errors import TerminalError
from everturn.llm.failure import (
    CONSEQUENCES,
    Consequence,
    FailureCode,
    ModelAborted,
    ModelFailed,
    consequence,
    detail_of,
)


@pytest.mark.parametrize(
    ("code", "error_code", "retryable", "error_class"),
    [
        ("RATE_LIMIT", "rate_limited", True, "rate_limit"),
        ("OVERLOADED", "provider_error", True, "overloaded"),
        ("SERVER", "provider_error", True, "server"),
        ("NETWORK", "provider_error", True, "server"),
        ("STREAM_ENDED", "provider_error", True, "server"),
        ("EMPTY_RESPONSE", "provider_error", True, "server"),
        ("CONTEXT_WINDOW_EXCEEDED", "provider_error", False, "context_window"),
        ("INVALID_REQUEST", "provider_error", False, "invalid_request"),
        ("AUTH", "provider_error", False, "auth"),
        ("TIMEOUT", "deadline_exceeded", True, "timeout"),
        ("REFUSED", "refused", False, "unknown"),
    ],
)
def test_each_cause_has_the_consequence_of_the_vocabulary(
    code: str, error_code: str, retryable: bool, error_class: str
) -> None:
    found = consequence(FailureCode(code))

    assert (found.error_code, found.retryable, found.error_class) == (
        error_code,
        retryable,
        error_class,
    )


def test_no_cause_is_without_consequence() -> None:
    assert set(CONSEQUENCES) == set(FailureCode)
    assert all(isinstance(found, Consequence) for found in CONSEQUENCES.values())


def test_the_detail_names_the_reason_and_what_else_is_known() -> None:
    failure = ModelFailed(
        "slow down", FailureCode.RATE_LIMIT, status=429, retry_after_s=1.5, request_id="req-1"
    )

    assert detail_of(failure) == {
        "reason": "rate_limit",
        "status": 429,
        "retry_after_ms": 1500,
        "request_id": "req-1",
    }


def test_the_detail_leaves_out_what_is_not_known() -> None:
    failure = ModelFailed("nothing came", FailureCode.EMPTY_RESPONSE)

    assert (failure.message, detail_of(failure)) == ("nothing came", {"reason": "empty_response"})


def test_failures_and_aborts_become_events() -> None:
    assert issubclass(ModelFailed, TerminalError)
    assert issubclass(ModelAborted, TerminalError)
