"""Calls as the wire shows them, and the two closed sets that go with them: handlers, error codes.

It must not know how a call is requested or settled; that is `action`.
"""

from typing import Literal

from everturn.protocol.ids import AgentId, CallId, NodeId, SessionId
from everturn.protocol.wire import Maybe, WireModel

Handler = Literal["server", "worker", "client"]
"""Who runs a call. Which values fit where is tested apart (O-21: `invalid_handler`)."""

CallKind = Literal["tool_call", "llm_call", "sub_agent"]

CallStatus = Literal["pending", "completed", "failed", "retry_scheduled", "queued"]

ErrorCode = Literal[
    "provider_error", "rate_limited", "refused", "budget_exceeded", "deadline_exceeded"
]
"""Descriptive only: a code never decides about a retry. Source: F-4, R-3."""


class Call(WireModel):
    """A call that is not over, or whose end is not reported yet. Source: Q-3."""

    id: CallId
    """Of a sub-agent call: the tool call id that it answers (Q-5)."""

    kind: CallKind
    status: CallStatus
    attempt: int
    """From 1 (Q-6)."""

    deadline: Maybe[str] = None
    """RFC 3339; the end of the running attempt, absent where there is none (Q-6)."""

    anchor: Maybe[NodeId] = None
    name: Maybe[str] = None
    arguments: Maybe[str] = None
    handler: Maybe[Handler] = None
    stream: Maybe[bool] = None
    agent_id: Maybe[AgentId] = None
    session_id: Maybe[SessionId] = None
