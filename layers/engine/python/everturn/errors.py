"""The engine's errors, sorted by who must act, and what a family means to HTTP, queue and log.

It must not know a vendor, a wire model or a use case: adapters translate into these names at their
own edge. What a caller can be refused for stands in `rejections.py`.

    EverturnError
    ├── RejectedError    the caller acts: 4xx
    ├── ConflictError    we reload and decide again: then 503
    ├── TransientError   nobody acts, time does: 503
    ├── TerminalError    nobody acts: it becomes an event
    └── DefectError      a developer acts: 500 without detail
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

RESERVED_FIELDS = frozenset({"error", "code", "message", "hint"})
"""Keys of an error body that no field may take. Source: vocabulary.md, "Failures"."""

DEFAULT_RETRY_AFTER_S = 1.0
"""What a 503 asks a caller to wait where the error names no time of its own."""


class EverturnError(Exception):
    """Root of everything this package raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RejectedError(EverturnError):
    """The caller asked for what cannot be; nothing was recorded.

    `message` names what and which id, never content. `hint` says what to do instead. `fields` go
    into the error body beside `code`; keys of `RESERVED_FIELDS` raise `ValueError`.
    """

    code: ClassVar[str] = "rejected"
    status: ClassVar[int] = 400

    def __init_subclass__(cls, *, code: str | None = None, status: int | None = None) -> None:
        super().__init_subclass__()
        cls.code = code or cls.code
        cls.status = status or cls.status

    def __init__(self, message: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        if taken := RESERVED_FIELDS & fields.keys():
            raise ValueError(f"an error body has its own meaning for {sorted(taken)}")
        self.hint = hint
        self.fields = fields


class ConflictError(EverturnError):
    """Somebody else was faster: reload and decide again, for 3 s. Source: architecture.md 4."""


class VersionConflict(ConflictError):
    """The session moved past the version that was read.

    `head` is the head that won, in whatever form the store's port uses; None where it is unknown.
    """

    def __init__(self, message: str, *, head: object = None) -> None:
        super().__init__(message)
        self.head = head


class IdsTaken(ConflictError):
    """Ids that must be new name something already; `ids` says which."""

    def __init__(self, message: str, *, ids: frozenset[str]) -> None:
        super().__init__(message)
        self.ids = ids


class WriteContended(ConflictError):
    """Two transactions met and nobody won: the same decision again after 10 to 50 ms."""


class LeaseLost(ConflictError):
    """The message's lease is gone: stop, commit nothing, report the message as failed."""


class TransientError(EverturnError):
    """What failed may work later; `retry_after_s` is the wait that the other side asked for."""

    code: ClassVar[str] = "unavailable"

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        super().__init_subclass__()
        cls.code = code or cls.code

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class StoreUnavailable(TransientError, code="store_unavailable"):
    """Table or bucket did not take the write; it was read again and nothing is recorded."""


class NewerFormat(TransientError, code="newer_format"):
    """Stored by a later version of this code: wait for the deploy to finish, write nothing."""


class QueueUnavailable(TransientError, code="queue_unavailable"):
    """The queue or the step machine did not take the message."""


class SecretUnavailable(TransientError, code="secret_unavailable"):
    """The place of a secret did not give it out."""


class WorkerUnavailable(TransientError, code="worker_unavailable"):
    """The worker did not answer, or said that it has not started."""


class ProviderThrottled(TransientError, code="provider_throttled"):
    """The model provider answered 429."""


class ProviderUnavailable(TransientError, code="provider_unavailable"):
    """5xx, no network, or a stream that broke off."""


class TerminalError(EverturnError):
    """Final for this piece of work, and recorded as its outcome."""


class ProviderRefused(TerminalError):
    """The model provider answered with a 4xx that no repetition will change."""


class OutcomeUnknown(TerminalError):
    """It may have happened, and repeating it is forbidden. Source: agent-session.md 6."""


class SessionConflict(TerminalError):
    """A child is to have the id of a session that is another's. Source: decision-protocol B-3."""


class DefectError(EverturnError):
    """A state that correct code cannot reach."""


class StoreRefused(DefectError):
    """The store called our own request malformed, forbidden or too large."""


class StoreUnreadable(DefectError):
    """What is stored cannot be read, and will not be by reading it again."""


@dataclass(frozen=True, slots=True)
class Handling:
    """What a family means to its surroundings. Source: house-style.md 5."""

    status: int
    queue: Literal["done", "retry"]
    log: Literal["info", "warning", "exception"]


def handling(error: BaseException) -> Handling:
    """Return the row of the table for `error`; whatever is none of ours counts as a defect."""
    match error:
        case RejectedError():
            return Handling(error.status, "done", "info")
        case ConflictError() | TransientError():
            return Handling(503, "retry", "warning")
        case TerminalError():
            return Handling(500, "done", "warning")
        case _:
            return Handling(500, "retry", "exception")


def to_http(error: BaseException) -> tuple[int, dict[str, Any]]:
    """Return status and JSON body for a caller: `{error, code, message, hint?, ...fields}`.

    `error` repeats `code`. A 503 has `retry_after` in whole seconds and is safe to repeat with the
    same `turn_id`; a 500 says nothing, or that it is no use to try again. Source: F-2, O-21.
    """
    status = handling(error).status
    match error:
        case RejectedError():
            hint = {} if error.hint is None else {"hint": error.hint}
            return status, _body(error.code, error.message) | hint | error.fields
        case ConflictError():
            return status, _unavailable("session_busy", DEFAULT_RETRY_AFTER_S)
        case TransientError():
            return status, _unavailable(error.code, error.retry_after_s or DEFAULT_RETRY_AFTER_S)
        case StoreUnreadable():
            return status, _body("unreadable", "what is stored cannot be read; operators are told")
        case _:
            return status, _body("internal", "the engine failed; the error is recorded")


def queue_outcome(error: BaseException) -> Literal["done", "retry"]:
    """Return whether a queue message that ended in `error` is finished or comes back."""
    return handling(error).queue


def log_level(error: BaseException) -> Literal["info", "warning", "exception"]:
    """Return the name of the logger method for `error`."""
    return handling(error).log


def _body(code: str, message: str) -> dict[str, Any]:
    return {"error": code, "code": code, "message": message}


def _unavailable(code: str, retry_after_s: float) -> dict[str, Any]:
    body = _body(code, "nothing was recorded; repeat the same request later")
    return body | {"retry_after": max(1, math.ceil(retry_after_s))}
