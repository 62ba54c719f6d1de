"""Why a model call failed, as a fact, and what that means; retries and events live elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from everturn.errors import TerminalError
from everturn.protocol.call import ErrorCode


class FailureCode(StrEnum):
    """Causes the log tells apart. Source: vocabulary, "Failures"."""

    RATE_LIMIT = "RATE_LIMIT"
    OVERLOADED = "OVERLOADED"
    SERVER = "SERVER"
    NETWORK = "NETWORK"
    STREAM_ENDED = "STREAM_ENDED"
    EMPTY_RESPONSE = "EMPTY_RESPONSE"
    CONTEXT_WINDOW_EXCEEDED = "CONTEXT_WINDOW_EXCEEDED"
    INVALID_REQUEST = "INVALID_REQUEST"
    AUTH = "AUTH"
    TIMEOUT = "TIMEOUT"
    REFUSED = "REFUSED"


class ModelFailed(TerminalError):
    """One attempt of a model call failed; a fact for the core, which alone decides on a retry.

    An adapter raises it for everything that goes wrong at the provider, `from` its own error.
    """

    def __init__(
        self,
        message: str,
        code: FailureCode,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        request_id: str | None = None,
        provider_code: str | None = None,
        provider_message: str | None = None,
        reason: str | None = None,
    ) -> None:
        """`provider_code` and `provider_message` are the provider's own words, bounded.

        `reason` says more than the code does, in our words.
        """
        super().__init__(message)
        self.code = code
        self.status = status
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        self.provider_code = provider_code
        self.provider_message = provider_message
        self.reason = reason or code.lower()


class ModelAborted(TerminalError):
    """The attempt was broken off because we asked for it: a void, not a failure.

    Source: session-log ST-12.
    """


@dataclass(frozen=True, slots=True)
class Consequence:
    """What one cause means to the protocol and to the runs view."""

    error_code: ErrorCode
    retryable: bool
    error_class: str
    """`errorClass` of the runs API."""


CONSEQUENCES: Final[dict[FailureCode, Consequence]] = {
    FailureCode.RATE_LIMIT: Consequence("rate_limited", True, "rate_limit"),
    FailureCode.OVERLOADED: Consequence("provider_error", True, "overloaded"),
    FailureCode.SERVER: Consequence("provider_error", True, "server"),
    FailureCode.NETWORK: Consequence("provider_error", True, "server"),
    FailureCode.STREAM_ENDED: Consequence("provider_error", True, "server"),
    FailureCode.EMPTY_RESPONSE: Consequence("provider_error", True, "server"),
    FailureCode.CONTEXT_WINDOW_EXCEEDED: Consequence("provider_error", False, "context_window"),
    FailureCode.INVALID_REQUEST: Consequence("provider_error", False, "invalid_request"),
    FailureCode.AUTH: Consequence("provider_error", False, "auth"),
    FailureCode.TIMEOUT: Consequence("deadline_exceeded", True, "timeout"),
    FailureCode.REFUSED: Consequence("refused", False, "unknown"),
}
"""Source: vocabulary, "Failures"; decision-protocol L-9."""


def consequence(code: FailureCode) -> Consequence:
    """Return what `code` means; pure and total."""
    return CONSEQUENCES[code]


def detail_of(failure: ModelFailed) -> dict[str, str | int]:
    """Return the `detail` of a failed call's event, absent facts left out. Source: ST-12."""
    detail: dict[str, str | int] = {"reason": failure.reason}
    if failure.status is not None:
        detail["status"] = failure.status
    if failure.retry_after_s is not None:
        detail["retry_after_ms"] = round(failure.retry_after_s * 1000)
    if failure.request_id is not None:
        detail["request_id"] = failure.request_id
    if failure.provider_code is not None:
        detail["provider_code"] = failure.provider_code
    if failure.provider_message is not None:
        detail["provider_message"] = failure.provider_message
    return detail
