"""What can be asked of a session, as values; what comes of it is decided in `decide`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from everturn.session.events.interrupts import Origin
from everturn.session.events.sessions import CancelCause, Owner
from everturn.session.events.shape import Usage
from everturn.session.facts import Facts, Place, Stamp
from everturn.session.inbox_commands import InboxCommand, RunOrder
from everturn.session.mail_commands import BetweenSessions
from everturn.session.waiting import Held


@dataclass(frozen=True, slots=True)
class SubmitInput:
    """A client's message, or its view of the whole conversation. Source: decision-protocol K-1."""

    stamp: Stamp
    facts: Facts
    session_id: str
    agent_id: str
    owner: Owner
    turn_id: str
    """The client's, or minted."""

    input_type: Literal["client.message", "client.messages", "client.action"]
    view: tuple[Mapping[str, Any], ...]
    """`DraftMessage`s as JSON; a single message is a view that has the path before it."""

    known: tuple[Place, ...] = ()
    """Where those messages stand that the view names and the session has."""

    stream: bool = False
    decides: Literal["engine", "worker"] = "engine"
    """Who decides in a session that this creates; of one that is there it is known."""

    client: Mapping[str, Any] | None = None
    """A `ClientContext` as JSON. Source: decision-protocol K-4 to K-7."""

    action: Mapping[str, Any] | None = None
    """Of a `client.action`: `{name, args?}`."""

    readings: Mapping[str, str] = field(default_factory=dict)
    """By call id: how the view's answer to a client tool breaks its output schema. U-8."""
    is_frontend: bool = False
    """An end user's client sends it, which may not write everybody's part. Source: V-11."""
    run: RunOrder | None = None
    """Its turn has settings of its own, and waits where another one is open. Source: IB-9."""


@dataclass(frozen=True, slots=True)
class Deliveries:
    """The engine's own policy for deliveries to workers. Source: decision-protocol D-4."""

    max_attempts: int = 10
    attempt_timeout_s: float = 300
    total_s: float = 1800
    backoff_base_s: float = 2
    backoff_max_s: float = 60


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A model call's attempt ended with an answer."""

    message: Mapping[str, Any]
    """`{role: "assistant", content?, tool_calls?}` without id."""

    finish_reason: str
    usage: Usage | None = None
    cost: str | None = None
    kept: Mapping[str, Any] | None = None
    """`{provider, model, blocks?, replay_state?}`: what the message cannot hold and its provider
    wants back with it. Source: session-log MB-4, MB-5."""

    output_problem: str | None = None
    """How its text breaks the output schema, `<JSON pointer>: <reason>`; counts where no tool of
    the reply is run. Source: field case F26."""

    unfit: Mapping[int, str] = field(default_factory=dict)
    """By a tool call's position: how its arguments break the schema of a client's tool, worded for
    the model. Source: agent-runs 3.1."""


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """A model call's attempt failed. Source: decision-protocol L-9."""

    error: str
    code: str | None
    retryable: bool
    detail: Any = None
    retry_after_s: float | None = None
    usage: Usage | None = None
    cost: str | None = None


Reading = str | ModelAnswered | ModelFailure
"""What a use case found out about an action: what breaks a schema, or what a model's body says."""


@dataclass(frozen=True, slots=True)
class SettleModelCall:
    """Report what came of one attempt of a model call."""

    stamp: Stamp
    facts: Facts
    call_id: str
    attempt: int
    outcome: ModelAnswered | ModelFailure
    deliveries: Deliveries = field(default_factory=Deliveries)


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """A worker's result, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolRefused:
    """A worker's error. Source: decision-protocol U-10."""

    error: str
    retryable: bool = False
    code: str | None = None
    detail: Any = None


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """The worker will settle the call later. Source: decision-protocol 8.4, `{}`."""


@dataclass(frozen=True, slots=True)
class AnswerDecision:
    """A worker that decides answered a question. Source: decision-protocol, section 6."""

    stamp: Stamp
    facts: Facts
    decision_id: str
    response: Mapping[str, Any]
    """A `DecisionResponse` as JSON, in order by itself."""

    readings: Mapping[int, Reading] = field(default_factory=dict)
    """By an action's position: what breaks a tool's schema, or what a model's body says."""

    attempt: int | None = None
    """The delivery that was answered; `None` where the answer came by `workers/submit`."""

    deliveries: Deliveries = field(default_factory=Deliveries)


@dataclass(frozen=True, slots=True)
class DeferDecision:
    """The worker took a question and will answer later. Source: decision-protocol D-7."""

    stamp: Stamp
    facts: Facts
    decision_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SettleCall:
    """Somebody ends a call from outside. Source: decision-protocol U-6, U-12."""

    stamp: Stamp
    facts: Facts
    action: Mapping[str, Any]
    """A settle action as JSON, with its `id`."""

    handlers: tuple[str, ...]
    """Whose calls this caller may end."""

    reading: Reading | None = None
    deliveries: Deliveries = field(default_factory=Deliveries)


@dataclass(frozen=True, slots=True)
class RaiseInterrupt:
    """Somebody outside pauses the path. Source: decision-protocol I-12."""

    stamp: Stamp
    facts: Facts
    interrupt_id: str
    origin: Origin
    reason: str
    payload: Any = None


@dataclass(frozen=True, slots=True)
class ResumeInterrupt:
    """Somebody outside clears an interrupt. Source: decision-protocol I-8."""

    stamp: Stamp
    facts: Facts
    interrupt_id: str
    origin: Origin
    """The privilege of who asks."""

    payload: Any = None


@dataclass(frozen=True, slots=True)
class CancelTurn:
    """Somebody stops a turn. Source: decision-protocol T-12."""

    stamp: Stamp
    facts: Facts
    turn_id: str
    cause: CancelCause = "user"
    keep_inbox: bool = False
    """Whether messages that wait for turns of their own stay. Source: session-log CA-1."""


@dataclass(frozen=True, slots=True)
class CancelSession:
    """Somebody ends a session for good. Source: decision-protocol S-8."""

    stamp: Stamp
    facts: Facts
    cause: CancelCause = "user"


@dataclass(frozen=True, slots=True)
class NoteAborted:
    """A model call that was voided under way was broken off; these are its last words."""

    stamp: Stamp
    facts: Facts
    call_id: str
    partial_text: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class SetBudgets:
    """Somebody sets what the session and its turns may spend. Source: decision-protocol Y-4."""

    stamp: Stamp
    facts: Facts
    budgets: Mapping[str, Any] | None
    """As in an agent config; `None` takes them away."""


@dataclass(frozen=True, slots=True)
class ResolveWait:
    """Somebody answers a question that a call waits with, or declines to."""

    stamp: Stamp
    facts: Facts
    wait_id: str
    outcome: Literal["answered", "declined"]
    text: str = ""
    """The answer, which the question allows; of a decline the reason, if one was given."""


@dataclass(frozen=True, slots=True)
class AnswerDelivery:
    """A worker answered an order to run a call, or how far it is, where the engine decides."""

    stamp: Stamp
    facts: Facts
    decision_id: str
    attempt: int
    outcome: ToolAnswered | ToolRefused | ModelAnswered | ModelFailure | LeftOpen | Held
    state: Any = None
    """A new agent state, where the answer had one that differs from the one that holds."""

    has_state: bool = False
    deliveries: Deliveries | None = field(default_factory=Deliveries)
    """`None` where it came from outside a driver, which alone makes deliveries."""


@dataclass(frozen=True, slots=True)
class FailDelivery:
    """A delivery brought no valid answer. Source: decision-protocol D-8, O-11."""

    stamp: Stamp
    facts: Facts
    decision_id: str
    attempt: int
    error: str
    code: str
    retryable: bool
    started: Literal["no", "unknown"]
    """Whether the worker may have begun the work."""

    invalid: bool = False
    """An answer came and could not be applied."""

    retry_after_s: float | None = None
    deliveries: Deliveries = field(default_factory=Deliveries)


@dataclass(frozen=True, slots=True)
class DeliverDirectly:
    """Take a delivery back that the step machine cannot make and has not been asked to make."""

    stamp: Stamp
    facts: Facts
    decision_id: str
    attempt: int
    deliveries: Deliveries = field(default_factory=Deliveries)


@dataclass(frozen=True, slots=True)
class Proceed:
    """Start what is due and what has room, and let lapse what is over its deadline."""

    stamp: Stamp
    facts: Facts
    deliveries: Deliveries = field(default_factory=Deliveries)


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Another driver vanished: deal with what it was running. Source: architecture 4."""

    stamp: Stamp
    facts: Facts
    deliveries: Deliveries = field(default_factory=Deliveries)


@dataclass(frozen=True, slots=True)
class FailTurn:
    """End the open turn: what it needs cannot be done. Source: decision-protocol T-16."""

    stamp: Stamp
    facts: Facts
    error: str
    code: str


Command = (
    SubmitInput
    | SettleModelCall
    | AnswerDecision
    | DeferDecision
    | SettleCall
    | RaiseInterrupt
    | ResumeInterrupt
    | CancelTurn
    | CancelSession
    | NoteAborted
    | SetBudgets
    | ResolveWait
    | AnswerDelivery
    | FailDelivery
    | DeliverDirectly
    | Proceed
    | TakeOver
    | FailTurn
    | BetweenSessions
    | InboxCommand
)
