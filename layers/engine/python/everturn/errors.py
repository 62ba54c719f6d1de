"""The engine's errors, sorted by who must act, and what a family means to HTTP, queue and log.

It must not know a vendor, a wire model or a use case: adapters translate into these names at their
own edge. All names stand in one module, because `statemachines/` is held against it.

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


class InvalidJson(RejectedError, code="invalid_json", status=400):
    """The text is not the lossless JSON that the engine keeps. Source: session-log.md LG-4."""


class InvalidId(RejectedError, code="invalid_id", status=400):
    """An id from outside is too long, empty, badly spelled or reserved. Source: M-6, O-9, O-21."""


class InvalidMessage(RejectedError, code="invalid_message", status=400):
    """A message lacks what its role needs. Source: V-10."""


class EmptyMessages(RejectedError, code="empty_messages", status=400):
    """A full view without any message. Source: K-2."""


class SchemaViolation(RejectedError, code="schema_violation", status=400):
    """JSON that does not fit its model or a limit; the message starts with the path."""


class InvalidLlmResponse(RejectedError, code="invalid_llm_response", status=400):
    """A model answer that cannot be read as the expected shape. Source: P-3."""


class ModelRequired(RejectedError, code="model_required", status=400):
    """An `llm.call` names no model and there is no config to take one from. Source: P-3."""


class InvalidHandler(RejectedError, code="invalid_handler", status=400):
    """`client` on a model call or `server` on a tool. Source: P-3, O-21."""


class FormatRequiresWorker(RejectedError, code="format_requires_worker", status=400):
    """`format` is set where the worker does not run the model calls. Source: P-3."""


class DuplicateToolName(RejectedError, code="duplicate_tool_name", status=400):
    """Two tools, or a tool and a sub-agent, share a name. Source: P-3."""


class InvalidToolSchema(RejectedError, code="invalid_tool_schema", status=400):
    """A tool's `input` or `output` is no schema that compiles. Source: P-3."""


class MissingCallId(RejectedError, code="missing_call_id", status=400):
    """A settle action without `id` and without a subject call. Source: X-4."""


class UnknownTarget(RejectedError, code="unknown_target", status=400):
    """`message.send` to a session that the tenant does not have. Source: B-14."""


class ForbiddenTarget(RejectedError, code="forbidden_target", status=400):
    """`message.send` to a session of another owner. Source: B-14."""


class MultipleDone(RejectedError, code="multiple_done", status=400):
    """Two `done` actions in one response. Source: X-8."""


class DoneWithInterrupt(RejectedError, code="done_with_interrupt", status=400):
    """`done` and `interrupt` in one response. Source: P-3."""


class TooManyCalls(RejectedError, code="too_many_calls", status=400):
    """A response would open more calls than a session may have. Source: decision protocol 23."""


class NotYetSupported(RejectedError, code="unsupported", status=400):
    """A documented wish that this version does not grant."""


class Unauthenticated(RejectedError, code="unauthenticated", status=401):
    """No credential, or one that is not accepted."""


class WrongTenant(RejectedError, code="wrong_tenant", status=403):
    """The credential belongs to another tenant, and the caller may know it. Source: F-3."""


class NotOwner(RejectedError, code="not_owner", status=403):
    """The session belongs to another owner, and the caller may know it. Source: A-6."""


class WrongHandler(RejectedError, code="wrong_handler", status=403):
    """The call is not this caller's to settle. Source: U-6."""


class InsufficientPrivilege(RejectedError, code="insufficient_privilege", status=403):
    """The interrupt was raised by someone above the caller. Source: I-10."""


class RoleNotAllowed(RejectedError, code="role_not_allowed", status=403):
    """A frontend submits new messages of role system or assistant. Source: V-11."""


class UnknownSession(RejectedError, code="unknown_session", status=404):
    """No such session for this caller. Source: O-13."""


class UnknownAgent(RejectedError, code="unknown_agent", status=404):
    """No agent of this id. Source: S-3."""


class UnknownCall(RejectedError, code="unknown_call", status=404):
    """The session never had this call. Source: P-3, F-2."""


class UnknownDecision(RejectedError, code="unknown_decision", status=404):
    """The session never had this decision. Source: D-12."""


class UnknownTurn(RejectedError, code="unknown_turn", status=404):
    """The session never had this turn."""


class UnknownUpload(RejectedError, code="unknown_upload", status=404):
    """The tenant has no such upload, or nothing was put there yet."""


class UnknownRoute(RejectedError, code="not_found", status=404):
    """No route of this path."""


class MethodNotAllowed(RejectedError, code="method_not_allowed", status=405):
    """The path exists, the method on it does not."""


class TurnAlreadyActive(RejectedError, code="turn_already_active", status=409):
    """Another turn is open; field `turn_id` names it. Source: T-2."""


class SessionInterrupted(RejectedError, code="session_interrupted", status=409):
    """The active path is paused; field `interrupts` lists why. Source: I-6."""


class CallNotOpen(RejectedError, code="call_not_open", status=409):
    """The call has ended, or waits for its next attempt. Source: U-12."""


class StaleAttempt(RejectedError, code="stale_attempt", status=409):
    """The answer is for a replaced attempt; field `attempt` is the running one. Source: U-12."""


class DecisionNotLive(RejectedError, code="decision_not_live", status=409):
    """The decision is still queued. Source: D-12."""


class AgentMismatch(RejectedError, code="agent_mismatch", status=409):
    """The session belongs to another agent. Source: S-3."""


class NoActiveTurn(RejectedError, code="no_active_turn", status=409):
    """What was asked needs an open turn. Source: I-12."""


class SessionQuarantined(RejectedError, code="session_quarantined", status=409):
    """Put aside until an operator lifts it; fields `reason` and `at`. Source: docs/storage.md."""


class SessionCancelled(RejectedError, code="session_cancelled", status=409):
    """The session is final. Source: S-8."""


class UnsupportedView(RejectedError, code="unsupported_view", status=409):
    """The session cannot be shown in the view that was asked for."""


class TooLarge(RejectedError, code="too_large", status=413):
    """Over a limit of size; fields `limit_bytes`, `size_bytes` where known."""


class UnsupportedMediaType(RejectedError, code="unsupported_media_type", status=415):
    """The body is not announced as JSON."""


class UnknownInput(RejectedError, code="unknown_input", status=422):
    """JSON, but no known kind of client input. Source: F-2."""


class TooManyRequests(RejectedError, code="too_many_requests", status=429):
    """The caller is throttled; field `retry_after` in seconds."""


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
    same `turn_id`; a 500 says nothing. Source: F-2, O-21.
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
