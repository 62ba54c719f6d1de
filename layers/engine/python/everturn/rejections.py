"""Every way in which a caller can be told no: a code, a status, and when it is said.

It decides nothing: whoever finds a request wanting raises one of these.
"""

from __future__ import annotations

from everturn.errors import RejectedError


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


class InvalidAnswer(RejectedError, code="invalid_answer", status=400):
    """An answer that the question does not allow; the hint says what it allows."""


class InvalidRequest(RejectedError, code="invalid_request", status=400):
    """A body of the agent runs API, or a form of OAuth, does not fit; the message says where."""


class InvalidModel(RejectedError, code="invalid_model", status=400):
    """No such model for a run; field `candidates` has those that are called nearly so."""


class NotYetSupported(RejectedError, code="unsupported", status=400):
    """A documented wish that this version does not grant."""


class UnsupportedGrantType(RejectedError, code="unsupported_grant_type", status=400):
    """Tokens are not given out for that. Source: RFC 6749, 5.2."""


class UnsupportedTokenType(RejectedError, code="unsupported_token_type", status=400):
    """The token is good, and no revocation reaches it. Source: RFC 7009, 2.2.1."""


class InvalidGrant(RejectedError, code="invalid_grant", status=400):
    """The refresh token is not whole, over, revoked, or another client's. Source: RFC 6749, 5.2."""


class InvalidScope(RejectedError, code="invalid_scope", status=400):
    """A scope that is not known, or was not granted. Source: RFC 6749, 5.2."""


class InvalidClient(RejectedError, code="invalid_client", status=401):
    """The client is not known, or its secret is another one. Source: RFC 6749, 5.2."""


class Unauthenticated(RejectedError, code="unauthenticated", status=401):
    """No credential, or one that is not accepted."""


class TokenExpired(RejectedError, code="token_expired", status=401):
    """The client token of an open connection has expired; over HTTP `Unauthenticated` says so."""


class InsufficientScope(RejectedError, code="insufficient_scope", status=403):
    """A client token lacks the scope that field `required` names. Source: agent-runs.md."""


class WrongTenant(RejectedError, code="wrong_tenant", status=403):
    """The credential belongs to another tenant, and the caller may know it. Source: F-3."""


class NotOwner(RejectedError, code="not_owner", status=403):
    """The session belongs to another owner, and the caller may know it. Source: A-6."""


class WrongHandler(RejectedError, code="wrong_handler", status=403):
    """The call is not this caller's to settle. Source: U-6."""


class InsufficientPrivilege(RejectedError, code="insufficient_privilege", status=403):
    """It takes a caller above this one; field `required` names it on a route. Source: A-1, I-10."""


class RoleNotAllowed(RejectedError, code="role_not_allowed", status=403):
    """A frontend submits new messages of role system or assistant. Source: V-11."""


class UnknownSession(RejectedError, code="unknown_session", status=404):
    """No such session for this caller. Source: O-13."""


class UnknownAgent(RejectedError, code="unknown_agent", status=404):
    """No agent of this id. Source: S-3."""


class UnknownBudget(RejectedError, code="unknown_budget", status=404):
    """The owner, or the tenant, has no budget. Source: Y-4."""


class UnknownCall(RejectedError, code="unknown_call", status=404):
    """The session never had this call. Source: P-3, F-2."""


class UnknownDecision(RejectedError, code="unknown_decision", status=404):
    """The session never had this decision. Source: D-12."""


class UnknownTurn(RejectedError, code="unknown_turn", status=404):
    """The session never had this turn."""


class UnknownUpload(RejectedError, code="unknown_upload", status=404):
    """The tenant has no such upload, or nothing was put there yet."""


class UnknownTenant(RejectedError, code="unknown_tenant", status=404):
    """No tenant of this name; operators alone are told."""


class UnknownSetting(RejectedError, code="unknown_setting", status=404):
    """No provider, model or alias of this name in a record; operators alone are told."""


class UnknownKey(RejectedError, code="unknown_key", status=404):
    """No API key of this id; operators alone are told."""


class UnknownWait(RejectedError, code="unknown_wait", status=404):
    """The session never had that wait."""


class UnknownRun(RejectedError, code="unknown_run", status=404):
    """No such run for this caller. Source: agent-runs.md."""


class UnknownToolUse(RejectedError, code="unknown_tool_use", status=404):
    """The run waits for no result of that id. Source: agent-runs.md, "Routes"."""


class UnknownItem(RejectedError, code="unknown_item", status=404):
    """No message of that id waits in the inbox. Source: session-log IB-5."""


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


class SessionDeleting(RejectedError, code="session_deleting", status=409):
    """A session of this id is being deleted; the id can be used again once that is done."""


class SessionCancelled(RejectedError, code="session_cancelled", status=409):
    """The session is final. Source: S-8."""


class InboxFull(RejectedError, code="inbox_full", status=409):
    """As many turns wait in the session as may; send it when some have ended."""


class RunTerminal(RejectedError, code="run_terminal", status=409):
    """The run has ended: what comes now is dropped. Source: agent-runs.md, "Routes"."""


class TooLarge(RejectedError, code="too_large", status=413):
    """Over a limit of size; fields `limit_bytes`, `size_bytes` where known."""


class UnsupportedMediaType(RejectedError, code="unsupported_media_type", status=415):
    """The body is not announced as JSON."""


class UnknownInput(RejectedError, code="unknown_input", status=422):
    """JSON, but no known kind of client input. Source: F-2."""


class TooManyRequests(RejectedError, code="too_many_requests", status=429):
    """The caller is throttled; field `retry_after` in seconds."""
