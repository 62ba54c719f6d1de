"""What an invocation is given and what comes of it. Running it is the business of `functions`."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PAYLOAD_MAX_BYTES = 6_291_556
"""Request or response of a synchronous invocation. Source: AWS Lambda Developer Guide, quotas."""
ASYNC_PAYLOAD_MAX_BYTES = 1_048_576
"""Request of an asynchronous invocation. Source: AWS Lambda Developer Guide, quotas."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler returned; `payload` is its result after a trip through JSON."""

    payload: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised, was killed, timed out or answered with what Lambda refuses."""

    error_type: str
    message: str
    trace: tuple[str, ...] = ()

    def to_payload(self) -> Mapping[str, Any]:
        """The JSON that Lambda gives for a function error."""
        return {
            "errorMessage": self.message,
            "errorType": self.error_type,
            "stackTrace": list(self.trace),
        }


@dataclass(frozen=True, slots=True)
class Throttled:
    """No concurrency was left; the handler did not run."""


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The request exceeds Lambda's limit; the handler did not run."""

    size_bytes: int


Outcome = Returned | Failed | Throttled | TooLarge


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The part of Lambda's context object that Python handlers use."""

    function_name: str
    aws_request_id: str
    invoked_function_arn: str
    memory_limit_in_mb: int
    deadline_monotonic_s: float
    function_version: str = "$LATEST"
    identity: None = None
    client_context: None = None

    @property
    def log_group_name(self) -> str:
        """CloudWatch's name for the function's logs."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        """A name, so that what reads it works."""
        return f"local/{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds left until the function's timeout, never negative."""
        return max(0, int((self.deadline_monotonic_s - time.monotonic()) * 1000))


def failed_by(error: BaseException) -> Failed:
    """What Lambda reports for an exception that left the handler."""
    trace = traceback.format_exception(error)
    return Failed(type(error).__name__, str(error), tuple(trace))


def timed_out(timeout_s: float) -> Failed:
    """What Lambda reports for a function that took too long."""
    return Failed("Sandbox.Timedout", f"Error: Task timed out after {timeout_s:.2f} seconds")
