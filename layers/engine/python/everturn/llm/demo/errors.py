"""Error classes of the demo script -> the failures that a real provider's errors become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from everturn.llm.failure import FailureCode, ModelFailed


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """What one class fails with."""

    code: FailureCode
    status: int | None
    message: str


ERROR_CLASSES: Final = {
    "rate_limit": ErrorClass(FailureCode.RATE_LIMIT, 429, "too many requests"),
    "overloaded": ErrorClass(FailureCode.OVERLOADED, 529, "the provider is overloaded"),
    "server": ErrorClass(FailureCode.SERVER, 500, "the provider failed"),
    "context_window": ErrorClass(
        FailureCode.CONTEXT_WINDOW_EXCEEDED, 400, "the request is longer than the context window"
    ),
    "auth": ErrorClass(FailureCode.AUTH, 401, "the credential was refused"),
    "timeout": ErrorClass(FailureCode.TIMEOUT, None, "the provider did not answer in time"),
    "invalid_request": ErrorClass(FailureCode.INVALID_REQUEST, 400, "the request is invalid"),
    "refused": ErrorClass(FailureCode.REFUSED, None, "the model refused to answer"),
}
"""Source: docs/demo-model.md, `error`."""


def failure_of(error_class: str, message: str = "") -> ModelFailed:
    """Return the failure of a class; one that does not exist fails as an invalid request."""
    known = ERROR_CLASSES.get(error_class)
    if known is None:
        classes = ", ".join(ERROR_CLASSES)
        return ModelFailed(
            f"the demo script names no error class of ours; there are {classes}",
            FailureCode.INVALID_REQUEST,
            status=400,
        )
    return ModelFailed(message or f"demo: {known.message}", known.code, status=known.status)
