"""Events of decisions: what was asked, of whom, and what came of it."""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Json, Part, Stored


class QueuedPrivate(Part):
    """What a trigger is made from, beside the bodies that the event carries."""

    about_seq: int = 0
    """The event that the trigger reports, the end of a call; 0 where it reports none."""

    base_id: str | None = None
    """Of an input: the message that its news stand behind."""

    appends: bool = False
    """Of an input: its news go to the end of the path as that is when the question is put."""

    leaves: bool = False
    """Of an input: it leaves the paused path, so the pause does not hold it. Source: D-16, I-7."""

    is_mail: bool = False
    """Of an input: another session sent it. Source: decision-protocol B-14."""


class DecisionQueued(Stored):
    """A question waits to be answered."""

    type: Literal["decision.queued"] = "decision.queued"
    id: str
    trigger_type: str
    call_id: str | None = None
    news: list[Json] | None = None
    """Messages of the input, each with its id: they are in the log before they are in the tree."""

    client: Json = None
    """Of an input: the `ClientContext` that came with it."""

    action: Json = None
    """Of a `client.action`: `{name, args?}`."""

    agent: Json = None
    """Of a `session.start`: the config that is declared for the agent at that moment."""

    private: QueuedPrivate = QueuedPrivate()


class AsOf(Part):
    """What the first delivery was computed from, so that a redelivery is the same. Source: D-3."""

    seq: int
    head_id: str | None = None
    calls: tuple[Json, ...] = ()
    state_seq: int = 0
    agent_seq: int = 0


class DecisionPrivate(Part):
    """Beside a delivery."""

    started_ms: int = 0
    as_of: AsOf | None = None
    """On the first delivery only."""

    by_machine: bool = False
    """The step machine makes this delivery: no driver does, so none can leave it orphaned."""


class DecisionDispatched(Stored):
    """A delivery starts."""

    type: Literal["decision.dispatched"] = "decision.dispatched"
    id: str
    attempt: int
    deadline_ms: int
    private: DecisionPrivate = DecisionPrivate()


class DecisionDeferred(Stored):
    """The worker took the question and will answer by `workers/submit`. Source: D-7."""

    type: Literal["decision.deferred"] = "decision.deferred"
    id: str
    attempt: int


class DecisionCompleted(Stored):
    """A valid answer was applied."""

    type: Literal["decision.completed"] = "decision.completed"
    id: str
    attempt: int = 1


class ErroredPrivate(Part):
    """Beside a failed delivery."""

    may_have_started: bool = False
    """The worker may have begun the work that the delivery asked for."""

    invalid: bool = False
    """An answer came and could not be applied; three in a row are enough. Source: D-8."""


class DecisionErrored(Stored):
    """A delivery failed. Source: decision-protocol D-10."""

    type: Literal["decision.errored"] = "decision.errored"
    id: str
    attempt: int
    error: str
    code: str
    retryable: bool
    next_attempt_at_ms: int | None = None
    private: ErroredPrivate = ErroredPrivate()


class DecisionDropped(Stored):
    """The question lost its point. Source: decision-protocol D-13."""

    type: Literal["decision.dropped"] = "decision.dropped"
    id: str
    reason: str
