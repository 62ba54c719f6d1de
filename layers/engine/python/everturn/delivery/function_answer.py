"""What an invocation of a Lambda function means, as one of three facts; invokes nothing.

It must not quote what a function said: a name of an error is all that is taken over.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

from everturn.delivery.answer import invalid, to_answer, too_large
from everturn.errors import RejectedError
from everturn.ports.decider import Answered, DeliveryCode, DeliveryFailed
from everturn.protocol.json_text import compact
from everturn.protocol.limits import LAMBDA_PAYLOAD_BYTES, MAX_DECISION_BODY_BYTES
from everturn.protocol.wake import UNREADABLE_ANSWER

STEP_PREFIX: Final = "Lambda."
"""How the step machine begins the names of errors that are Lambda's, not the function's."""

_THROTTLED: Final = frozenset(
    {"TooManyRequestsException", "Throttling", "ThrottlingException", "RequestLimitExceeded"}
)
_NOT_READY: Final = frozenset(
    {
        "EC2ThrottledException",
        "ENILimitReachedException",
        "EFSMountConnectivityException",
        "EFSMountTimeoutException",
        "ResourceConflictException",
        "ResourceNotReadyException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SnapStartNotReadyException",
        "SnapStartTimeoutException",
        "SubnetIPAddressLimitReachedException",
    }
)
"""The function could not be started, and later it may. Source: Lambda API, Invoke, "Errors"."""

_TOO_LARGE: Final = frozenset({"RequestTooLargeException", "RequestEntityTooLargeException"})
_UNKNOWN: Final = frozenset(
    {
        "AWSLambdaException",
        "ClientExecutionTimeoutException",
        "SdkClientException",
        "ServiceException",
        "Unknown",
    }
)
"""Names of the step machine's behind which anything may be, also a function that ran."""

_CANNOT_RUN: Final = "Lambda cannot run it as it is set up"
_REFUSALS: Final = {
    "AccessDeniedException": "the engine may not invoke it",
    "ResourceNotFoundException": "it does not exist",
    "InvalidRuntimeException": _CANNOT_RUN,
    "InvalidSecurityGroupIDException": _CANNOT_RUN,
    "InvalidSubnetIDException": _CANNOT_RUN,
    "InvalidZipFileException": _CANNOT_RUN,
    "KMSAccessDeniedException": _CANNOT_RUN,
    "KMSDisabledException": _CANNOT_RUN,
    "KMSInvalidStateException": _CANNOT_RUN,
    "KMSNotFoundException": _CANNOT_RUN,
}
"""What no repetition changes, some of it with a 5xx. Source: Lambda API, Invoke, "Errors"."""

_TIMED_OUT: Final = frozenset({"Sandbox.Timedout", "Function.TimedOut"})
_ANSWER_TOO_LARGE: Final = frozenset({"Function.ResponseSizeTooLarge", "States.DataLimitExceeded"})

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,79}")


def read_return(payload: bytes) -> Answered | DeliveryFailed:
    """Return what a function's return value means; null is `{}`."""
    if len(payload) > MAX_DECISION_BODY_BYTES:
        return too_large("the answer is larger than it may be")
    if not payload.strip():
        return invalid("the answer is empty", DeliveryCode.INVALID_JSON)
    return to_answer(b"{}" if payload.strip() == b"null" else payload)


def from_value(value: Any) -> Answered | DeliveryFailed:
    """Return what a function's return value means that somebody else has read."""
    try:
        return read_return(compact(value).encode())
    except RejectedError as error:
        return invalid(error.message, error.code)


def from_function_error(error_type: str) -> DeliveryFailed:
    """Return what it means that a function ran and failed with an error of that type."""
    if error_type in _ANSWER_TOO_LARGE:
        return too_large("the answer is larger than it may be")
    if error_type in _TIMED_OUT:
        code, told = DeliveryCode.DEADLINE_EXCEEDED, "the function ran into its own timeout"
    else:
        shown = f": {error_type}" if _NAME.fullmatch(error_type) else ""
        code, told = DeliveryCode.FUNCTION_ERROR, f"the function failed{shown}"
    return DeliveryFailed(told, code, retryable=True, started="unknown")


def from_lambda_error(
    code: str, status: int | None = None, retry_after_s: float | None = None
) -> DeliveryFailed:
    """Return what it means that Lambda did not invoke a function; `code` is the API's."""
    if code in _THROTTLED or status == HTTPStatus.TOO_MANY_REQUESTS:
        return DeliveryFailed(
            "the function is throttled",
            DeliveryCode.RATE_LIMITED,
            retryable=True,
            started="no",
            status=status,
            retry_after_s=retry_after_s,
        )
    if code in _NOT_READY:
        told = "the function could not be started"
        return DeliveryFailed(told, DeliveryCode.UNAVAILABLE, True, "no", status)
    if code in _TOO_LARGE:
        return request_too_large(status)
    is_ours = status is None or status < HTTPStatus.INTERNAL_SERVER_ERROR
    if code in _REFUSALS or (is_ours and code not in _UNKNOWN):
        return refused(_REFUSALS.get(code, "Lambda does not take the request"), status)
    told = "Lambda failed"
    return DeliveryFailed(told, DeliveryCode.FUNCTION_ERROR, True, "unknown", status)


def from_step_error(name: str) -> DeliveryFailed:
    """Return what an error of the step machine means, by its name."""
    match name:
        case "States.Timeout":
            return timed_out()
        case "States.Permissions":
            return refused(_REFUSALS["AccessDeniedException"])
        case _ if name == UNREADABLE_ANSWER:
            return invalid("the answer is no lossless JSON", DeliveryCode.INVALID_JSON)
        case _ if name.startswith(STEP_PREFIX):
            return from_lambda_error(name.removeprefix(STEP_PREFIX))
        case _:
            return from_function_error(name)


def timed_out() -> DeliveryFailed:
    """Return that the time of the delivery is over."""
    told = "the worker did not answer in time"
    return DeliveryFailed(told, DeliveryCode.DEADLINE_EXCEEDED, True, "unknown")


def refused(reason: str, status: int | None = None) -> DeliveryFailed:
    """Return that a function is not invoked, and will not be."""
    told = f"the worker's function is refused: {reason}"
    return DeliveryFailed(told, DeliveryCode.FUNCTION_REFUSED, False, "no", status)


def request_too_large(status: int | None = None) -> DeliveryFailed:
    """Return that a request is over what Lambda takes."""
    told = f"the request is over the {LAMBDA_PAYLOAD_BYTES} bytes that a function is sent"
    return DeliveryFailed(told, DeliveryCode.TOO_LARGE, False, "no", status)
