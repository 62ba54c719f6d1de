"""The role that asks a worker, and the three facts that can come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from everturn.protocol.decision import DecisionResponse


@dataclass(frozen=True, slots=True)
class WorkerTarget:
    """Where an agent's worker is, and how its deliveries are signed."""

    url: str
    """An http(s) URL, or the ARN of a Lambda function."""

    secret: str = field(default="", repr=False)
    """Empty for a function: IAM vouches. Source: decision-protocol O-2."""


class DeliveryCode(StrEnum):
    """Why an attempt failed, for `decision.errored.code`, beside the codes of P-3."""

    CONNECTION_FAILED = "connection_failed"
    URL_REFUSED = "url_refused"
    FUNCTION_REFUSED = "function_refused"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    CANCELLED = "cancelled"
    REDIRECT_REFUSED = "redirect_refused"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    HTTP_STATUS = "http_status"
    FUNCTION_ERROR = "function_error"
    STREAM_ENDED = "stream_ended"
    WORKER_ERROR = "worker_error"
    TOO_LARGE = "too_large"
    INVALID_JSON = "invalid_json"


@dataclass(frozen=True, slots=True)
class Answered:
    """The worker's decision, its form checked, its meaning not yet."""

    response: DecisionResponse


@dataclass(frozen=True, slots=True)
class Deferred:
    """`202` and nothing else: the worker will answer by `workers/submit` (D-7)."""


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """The attempt failed (D-8). `error` never quotes the worker, but for its `decision.error`."""

    error: str
    code: str
    """A `DeliveryCode`, or a code of P-3 (`schema_violation` and its like)."""

    retryable: bool
    started: Literal["no", "unknown"]
    """`no`: nothing was sent, or the worker said 429 or 503; an effect may be repeated (O-11)."""
    status: int | None = None
    retry_after_s: float | None = None
    invalid: bool = False
    """An answer came and cannot be read; three of these in a row are enough (D-8)."""


WorkerAnswer = Answered | Deferred | DeliveryFailed


class Decider(Protocol):
    """Sends one request to a worker and says what came of it."""

    def deliver(
        self,
        target: WorkerTarget,
        body: bytes,
        *,
        decision_id: str,
        attempt: int,
        timeout_s: float,
        idempotency_key: str | None,
        cancelled: Callable[[], bool],
        on_delta: Callable[[str], None] | None = None,
    ) -> WorkerAnswer:
        """Never raises for what a worker does; `on_delta` gets the text of each delta (W-8)."""
        ...
