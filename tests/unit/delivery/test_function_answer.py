"""What an outcome means that the step machine brings: a value that was read, or a name."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.delivery.function_answer import from_step_error, from_value
from everturn.delivery.function_guard import FunctionRefused, check_function
from everturn.ports.decider import Answered, DeliveryFailed
from everturn.protocol.decision import DecisionResponse
from everturn.protocol.limits import MAX_DECISION_BODY_BYTES
from everturn.protocol.wake import UNREADABLE_ANSWER

TOO_LARGE = DeliveryFailed(
    "the answer is larger than it may be", "too_large", False, "unknown", invalid=True
)
REFUSED = "the worker's function is refused: "


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (None, Answered(DecisionResponse())),
        ({}, Answered(DecisionResponse())),
        ({"state": {"n": 1}}, Answered(DecisionResponse(state={"n": 1}))),
        (
            {"secret": 1},
            DeliveryFailed(
                "/secret: unknown field", "schema_violation", True, "unknown", invalid=True
            ),
        ),
        (
            {"state": float("nan")},
            DeliveryFailed(
                "the value is not lossless JSON", "invalid_json", True, "unknown", invalid=True
            ),
        ),
        ("x" * MAX_DECISION_BODY_BYTES, TOO_LARGE),
    ],
    ids=["null", "empty", "a state", "unknown field", "no JSON", "too large"],
)
def test_a_value_is_read_as_strictly_as_text(value: Any, answer: Any) -> None:
    assert from_value(value) == answer


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        (
            "Lambda.TooManyRequestsException",
            DeliveryFailed("the function is throttled", "rate_limited", True, "no"),
        ),
        (
            "Lambda.ResourceNotReadyException",
            DeliveryFailed("the function could not be started", "unavailable", True, "no"),
        ),
        (
            "Lambda.ResourceNotFoundException",
            DeliveryFailed(f"{REFUSED}it does not exist", "function_refused", False, "no"),
        ),
        (
            "States.Permissions",
            DeliveryFailed(
                f"{REFUSED}the engine may not invoke it", "function_refused", False, "no"
            ),
        ),
        *(
            (name, DeliveryFailed("Lambda failed", "function_error", True, "unknown"))
            for name in (
                "Lambda.ServiceException",
                "Lambda.AWSLambdaException",
                "Lambda.SdkClientException",
                "Lambda.Unknown",
            )
        ),
        (
            "States.Timeout",
            DeliveryFailed(
                "the worker did not answer in time", "deadline_exceeded", True, "unknown"
            ),
        ),
        ("States.DataLimitExceeded", TOO_LARGE),
        (
            "Sandbox.Timedout",
            DeliveryFailed(
                "the function ran into its own timeout", "deadline_exceeded", True, "unknown"
            ),
        ),
        (
            "TooManyRequestsException",
            DeliveryFailed(
                "the function failed: TooManyRequestsException", "function_error", True, "unknown"
            ),
        ),
        (
            "an error, told at length",
            DeliveryFailed("the function failed", "function_error", True, "unknown"),
        ),
        (
            UNREADABLE_ANSWER,
            DeliveryFailed(
                "the answer is no lossless JSON", "invalid_json", True, "unknown", invalid=True
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_name_tells_whether_the_function_may_have_started(
    name: str, failure: DeliveryFailed
) -> None:
    assert from_step_error(name) == failure


ALLOWED = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-"


@pytest.mark.parametrize(
    ("arn", "allowed", "is_refused"),
    [
        (f"{ALLOWED}tools", ALLOWED, False),
        (f"{ALLOWED}tools:$LATEST", ALLOWED, False),
        (f"{ALLOWED}tools", "", False),
        ("arn:aws-cn:lambda:cn-north-1:123456789012:function:w", "", False),
        (f"{ALLOWED}tools", ALLOWED.replace("worker", "other"), True),
        (ALLOWED + "x" * 65, ALLOWED, True),
        (f"{ALLOWED}tools:", ALLOWED, True),
        (f"{ALLOWED}tools:a b", ALLOWED, True),
        (f" {ALLOWED}tools", "", True),
        ("arn:aws:lambda:us-east-1:123456789012:layer:w:1", "", True),
    ],
)
def test_a_function_is_judged_by_its_whole_arn(arn: str, allowed: str, is_refused: bool) -> None:
    assert isinstance(check_function(arn, allowed), FunctionRefused) is is_refused
