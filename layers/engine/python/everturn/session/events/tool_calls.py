"""Events of tool calls, and of calls in general."""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Anchor, Json, Part, Retry, Stored

Effect = Literal["read", "idempotent_write", "non_idempotent_write", "unclassified"]
"""What running a tool twice would do. Source: agent-session 4."""


class ToolPrivate(Part):
    """What was frozen when the call was asked for. Source: decision-protocol Z-6."""

    effect: Effect | None = "unclassified"
    """None: the tool of a worker-decided agent that sets none. Source: decision-protocol O-11."""

    overlap: bool = False
    is_serial: bool = False
    """Of a client's tool: it is not told while an earlier call waits for its client."""


class ToolCallRequested(Stored):
    """The model, or a decision, asked for a tool."""

    type: Literal["tool.call.requested"] = "tool.call.requested"
    id: str
    name: str
    arguments: str | None = None
    """The raw argument text."""

    handler: Literal["worker", "client"] = "worker"
    retry: Retry
    anchor: Anchor | None = None
    llm_call_id: str | None = None
    private: ToolPrivate = ToolPrivate()


class ToolCallDispatched(Stored):
    """An attempt starts."""

    type: Literal["tool.call.dispatched"] = "tool.call.dispatched"
    id: str
    attempt: int
    deadline_ms: int | None = None


class ToolCallCompleted(Stored):
    """A result, as text."""

    type: Literal["tool.call.completed"] = "tool.call.completed"
    id: str
    name: str
    attempt: int
    result: str | None = None


class ToolCallErrored(Stored):
    """An attempt failed; `retryable` means that another one follows."""

    type: Literal["tool.call.errored"] = "tool.call.errored"
    id: str
    name: str
    attempt: int
    error: str | None = None
    code: str | None = None
    detail: Json = None
    retryable: bool
    next_attempt_at_ms: int | None = None


class VoidedPrivate(Part):
    """What the public event does not say."""

    outcome_unknown: bool = False
    aborts: bool = False
    """It is a model call under way: whoever runs it breaks it off and says what it had said."""


class CallVoided(Stored):
    """A call was given up; no `*.finished` follows. Source: decision-protocol V-1."""

    type: Literal["call.voided"] = "call.voided"
    id: str
    kind: Literal["tool_call", "llm_call", "sub_agent"]
    reason: str
    private: VoidedPrivate = VoidedPrivate()


class SettleIgnored(Stored):
    """A settle action came too late. Source: decision-protocol P-4."""

    type: Literal["call.settle_ignored"] = "call.settle_ignored"
    id: str
    attempt: int | None = None
    reason: str
