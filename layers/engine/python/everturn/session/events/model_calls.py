"""Events of model calls, and of the request header they are made with."""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Anchor, Json, Part, Retry, Stored, Usage


class RequestHeader(Stored):
    """Everything in a model request that is not history. Source: session-log RH-1."""

    type: Literal["request.header"] = "request.header"
    header: Json = None
    """`{config: {provider, model, …}, system?, tools?}`."""

    reason: Literal["initial", "resume", "change"]
    sha256: str
    """Of the canonical JSON of `header`; tells whether the next one differs."""


class RequestContext(Stored):
    """Capacity of the route, written when it differs from the last record. Source: RH-6."""

    type: Literal["request.context"] = "request.context"
    provider: str
    model: str
    context_window: int | None = None


class Boundary(Part):
    """Which messages a request was built from. Source: session-log RH-5."""

    head_id: str
    head_seq: int
    from_seq: int
    """The window's first event: messages before it are not part of the request."""

    generation: int = 0


class RequestPrivate(Part):
    """How to rebuild the request, and how to tell that it is the same."""

    header_seq: int
    boundary: Boundary | None = None
    """Absent where nothing of the path is in the request."""

    derivation: int
    """Version of the builder."""

    request_sha256: str
    """Of the canonical JSON of the neutral request."""

    repairs: tuple[str, ...] = ()
    """Tool call ids that got a synthetic result in the request only. Source: L-4."""

    asked: Json = None
    """What the `llm.call` action set itself; the next proposal goes on with it. Source: G-3."""


class ModelCallRequested(Stored):
    """A model call exists; readers get its `request` rebuilt."""

    type: Literal["llm.call.requested"] = "llm.call.requested"
    id: str
    model: str
    handler: Literal["server", "worker"] = "server"
    format: Literal["openai", "anthropic"] | None = None
    stream: bool = False
    retry: Retry
    anchor: Anchor | None = None
    messages: Json = None
    """Explicit messages, sent as they are in place of the path. Source: decision-protocol L-3."""

    private: RequestPrivate


class ModelCallDispatched(Stored):
    """An attempt starts; its clock runs from here."""

    type: Literal["llm.call.dispatched"] = "llm.call.dispatched"
    id: str
    attempt: int
    deadline_ms: int | None = None


class ModelCallCompleted(Stored):
    """The provider answered in full."""

    type: Literal["llm.call.completed"] = "llm.call.completed"
    id: str
    attempt: int
    message: Json = None
    finish_reason: str | None = None
    usage: Usage | None = None
    cost: str | None = None
    private: Json = None
    """`{provider, model, blocks?, replay_state?}`: what the public message cannot hold and its
    provider wants back with it.

    Source: session-log MB-4, MB-5.
    """


class ModelCallErrored(Stored):
    """An attempt failed; `retryable` means that another one follows. Source: O-25."""

    type: Literal["llm.call.errored"] = "llm.call.errored"
    id: str
    attempt: int
    error: str
    code: str | None = None
    detail: Json = None
    retryable: bool
    next_attempt_at_ms: int | None = None
    usage: Usage | None = None
    cost: str | None = None
    """Of what the failed attempt used all the same. Source: decision-protocol Y-1."""


class ModelCallAborted(Stored):
    """An attempt was broken off; what it said is kept. Source: storage-and-commits, "Cancel"."""

    type: Literal["llm.call.aborted"] = "llm.call.aborted"
    id: str
    attempt: int
    partial_text: str
    usage: Usage | None = None
