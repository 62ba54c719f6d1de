"""Events that write messages, and versions of what holds on a path."""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Anchor, Json, Part, Stored
from everturn.session.events.tree import Fork


class MessageSource(Part):
    """Who made a message. Source: session-log MB-3."""

    kind: Literal["user", "model", "tool", "worker", "engine", "agent"]
    provider: str | None = None
    model: str | None = None


class MessagePrivate(Part):
    """What the engine keeps beside a message and never shows. Source: session-log MB-4."""

    source: MessageSource
    branch: int = 0
    depth: int
    """Position on the path, from 1."""

    parent_seq: int | None = None
    """The `message.new` this one hangs under."""

    size_bytes: int
    """Compact JSON of the whole message; the model's window is filled by it."""

    blocks: Json = None
    is_error: bool | None = None
    fork: Fork | None = None
    """Where the message does not stand under the head: it begins a branch."""


class MessageNew(Stored):
    """A node of the message tree; the head moves to it."""

    type: Literal["message.new"] = "message.new"
    id: str
    """The message's id; not shown, for the message has it."""

    message: Json = None
    """`protocol.Message` as JSON; its body may stand in an earlier event."""

    parent_id: str | None = None
    private: MessagePrivate


class AgentPrivate(Part):
    """The hash that tells whether a definition at hand is the pinned one."""

    sha256: str
    layered: tuple[str, ...] = ()
    """Names of the client's tools that are in it for this turn only. Source: K-5."""

    has_session_budget: bool | None = None
    """From here on the session's spending is added up. Source: decision-protocol Y-4."""


class AgentUpdated(Stored):
    """A version of the agent config."""

    type: Literal["agent.updated"] = "agent.updated"
    agent: Json = None
    anchor: Anchor | None = None
    private: AgentPrivate


class StateUpdated(Stored):
    """A version of the worker's state; a cleared one is `null`. Source: decision-protocol Z-1."""

    type: Literal["worker.state.updated"] = "worker.state.updated"
    state: Json = None
    anchor: Anchor | None = None
