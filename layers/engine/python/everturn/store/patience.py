"""Requests to the bucket, the queue and the step machine while AWS is too busy for them.

It must not repeat anything else: what failed otherwise is the adapter's to tell. The table has its
own way, because a transaction in the way counts there as well; see `dynamo_errors.when_free`.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from botocore.exceptions import ClientError

from everturn.store.pace import Pace

Answer = TypeVar("Answer")

_BUSY: Final = frozenset(
    {
        "KMS.ThrottlingException",
        "KmsThrottled",
        "LimitExceededException",
        "OverLimit",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""Refusals that say nothing about the request. Source: "Common errors" of S3, SQS, Step Functions
and KMS."""

_BUSY_STATUS: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


def is_busy(error: ClientError) -> bool:
    """Return whether the service refused for the only reason that it had too much to do."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error_code(error) in _BUSY or status in _BUSY_STATUS


def error_code(error: ClientError) -> str:
    """Return what the service calls its error; empty where it has no name."""
    return error.response.get("Error", {}).get("Code", "")


def while_busy(pace: Pace, request: Callable[[], Answer]) -> Answer:
    """Return what `request` answers, made again after longer and longer random waits while AWS is
    busy, until the time of `pace` is over. The request has to be one that can be repeated.
    """
    deadline = pace.deadline()
    refused = 0
    while True:
        try:
            return request()
        except ClientError as error:
            if not is_busy(error) or pace.is_over(deadline):
                raise
        pace.pause(refused)
        refused += 1
