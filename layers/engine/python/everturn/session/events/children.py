"""Events of sub-agents: a child session is asked for, started, heard of. Source: section 15."""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Anchor, Json, Part, Retry, Stored, Usage


class SubAgentPrivate(Part):
    """What the public event does not say."""

    llm_call_id: str | None = None
    """The model call whose reply asked for the child. Source: decision-protocol G-3."""


class SubAgentRequested(Stored):
    """A decision asked for a child; `id` is the tool call that it answers. Source: Q-5."""

    type: Literal["sub_agent.requested"] = "sub_agent.requested"
    id: str
    session_id: str
    agent_id: str
    retry: Retry
    """Of the start, not of the child's run. Source: decision-protocol B-11."""

    anchor: Anchor | None = None
    private: SubAgentPrivate = SubAgentPrivate()


class SubAgentDispatched(Stored):
    """An attempt to start the child begins."""

    type: Literal["sub_agent.dispatched"] = "sub_agent.dispatched"
    id: str
    session_id: str
    agent_id: str
    attempt: int
    deadline_ms: int | None = None


class SubAgentStarted(Stored):
    """The child is there, and runs by itself."""

    type: Literal["sub_agent.started"] = "sub_agent.started"
    id: str
    session_id: str
    agent_id: str
    attempt: int
    deadline_ms: int | None = None
    """When its run is given up, where the deployment says so. Source: decision-protocol B-11."""


class SubAgentTurnCompleted(Stored):
    """The child's first turn ended through `done`. Source: decision-protocol B-7, B-8."""

    type: Literal["sub_agent.turn_completed"] = "sub_agent.turn_completed"
    id: str
    session_id: str
    agent_id: str
    result: str | None = None
    cost: str = "0"
    usage: Usage = Usage()


class ErroredPrivate(Part):
    """What the public event does not say."""

    gives_up: bool = False
    """The child runs and is to be cancelled."""


class SubAgentErrored(Stored):
    """A start failed, or the child's first turn did; `retryable`: another start follows.

    Source: decision-protocol B-9.
    """

    type: Literal["sub_agent.errored"] = "sub_agent.errored"
    id: str
    session_id: str
    agent_id: str
    attempt: int
    error: str | None = None
    code: str | None = None
    detail: Json = None
    retryable: bool
    next_attempt_at_ms: int | None = None
    cost: str = "0"
    usage: Usage = Usage()
    private: ErroredPrivate = ErroredPrivate()


class SubAgentInterrupted(Stored):
    """The child is paused; its call stays open. Source: decision-protocol B-9."""

    type: Literal["sub_agent.interrupted"] = "sub_agent.interrupted"
    id: str
    session_id: str
    interrupt_id: str
    reason: str
