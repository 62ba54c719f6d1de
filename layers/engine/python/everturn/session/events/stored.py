"""The closed union of stored events, and how they become JSON and come back.

No event is defined here.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, TypeAdapter

from everturn.session.events.children import (
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentInterrupted,
    SubAgentRequested,
    SubAgentStarted,
    SubAgentTurnCompleted,
)
from everturn.session.events.decisions import (
    DecisionCompleted,
    DecisionDeferred,
    DecisionDispatched,
    DecisionDropped,
    DecisionErrored,
    DecisionQueued,
)
from everturn.session.events.guards import (
    GuardNoted,
    LoopDetected,
    ModelFellBack,
    OutputRejected,
    ToolBudgetExceeded,
)
from everturn.session.events.interrupts import InterruptResumed, SessionInterrupted
from everturn.session.events.mail import (
    InboxDequeued,
    InboxDiscarded,
    InboxEnqueued,
    InboxUpdated,
    MessageRequested,
    OutboxDelivered,
)
from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.model_calls import (
    ModelCallAborted,
    ModelCallCompleted,
    ModelCallDispatched,
    ModelCallErrored,
    ModelCallRequested,
    RequestContext,
    RequestHeader,
)
from everturn.session.events.runs import RunRequested, SessionDescribed
from everturn.session.events.sessions import (
    SessionCancelled,
    SessionCreated,
    SessionDone,
    StepEnded,
    StepStarted,
    TurnAdmitted,
    TurnCancelRequested,
    TurnCompleted,
    TurnContinued,
    TurnParked,
    TurnStalled,
    TurnStarted,
    TurnUnparked,
)
from everturn.session.events.tool_calls import (
    CallVoided,
    SettleIgnored,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
    ToolCallRequested,
)
from everturn.session.events.tree import HeadMoved
from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened

Event = (
    SessionCreated
    | TurnStarted
    | TurnAdmitted
    | TurnContinued
    | TurnCancelRequested
    | TurnStalled
    | TurnParked
    | TurnUnparked
    | TurnCompleted
    | SessionDone
    | SessionCancelled
    | StepStarted
    | StepEnded
    | MessageNew
    | HeadMoved
    | AgentUpdated
    | StateUpdated
    | DecisionQueued
    | DecisionDispatched
    | DecisionDeferred
    | DecisionCompleted
    | DecisionErrored
    | DecisionDropped
    | RequestHeader
    | RequestContext
    | ModelCallRequested
    | ModelCallDispatched
    | ModelCallCompleted
    | ModelCallErrored
    | ModelCallAborted
    | ToolCallRequested
    | ToolCallDispatched
    | ToolCallCompleted
    | ToolCallErrored
    | SessionInterrupted
    | InterruptResumed
    | WaitOpened
    | WaitExtended
    | WaitClosed
    | SubAgentRequested
    | SubAgentDispatched
    | SubAgentStarted
    | SubAgentTurnCompleted
    | SubAgentErrored
    | SubAgentInterrupted
    | MessageRequested
    | OutboxDelivered
    | InboxEnqueued
    | InboxUpdated
    | InboxDequeued
    | InboxDiscarded
    | CallVoided
    | SettleIgnored
    | SessionDescribed
    | RunRequested
    | GuardNoted
    | LoopDetected
    | ToolBudgetExceeded
    | OutputRejected
    | ModelFellBack
)

EVENT: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="type")], config=ConfigDict(hide_input_in_errors=True)
)

BODY_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "message.new": ("message",),
    "agent.updated": ("agent",),
    "worker.state.updated": ("state",),
    "decision.queued": ("news", "client", "action", "agent"),
    "llm.call.requested": ("messages",),
    "request.header": ("header",),
    "llm.call.completed": ("message", "private"),
    "llm.call.errored": ("error", "detail"),
    "llm.call.aborted": ("partial_text",),
    "tool.call.requested": ("arguments",),
    "tool.call.completed": ("result",),
    "tool.call.errored": ("error", "detail"),
    "sub_agent.turn_completed": ("result",),
    "sub_agent.errored": ("error", "detail"),
    "session.message_requested": ("message",),
    "inbox.enqueued": ("message",),
    "inbox.updated": ("message",),
    "turn.completed": ("data", "error"),
    "session.interrupted": ("payload",),
    "session.interrupt_resumed": ("payload",),
    "call.wait.opened": ("question", "choices", "private"),
    "call.wait.extended": ("private",),
    "call.wait.closed": ("answer",),
    "session.described": ("description",),
    "run.requested": ("run", "config", "client", "messages"),
    "output.rejected": ("problem",),
}
"""Fields that may be large and are not needed to evolve: the store may keep them in the bucket."""


def to_json(event: Event) -> dict[str, Any]:
    """Return the stored JSON of `event`: `type` first, fields at their default left out."""
    body = event.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {"type": event.type, **body}


def from_json(value: dict[str, Any]) -> Event:
    """Return the event that `to_json` wrote; older bodies pass `upcast` first."""
    return EVENT.validate_python(upcast(value))


def upcast(value: dict[str, Any]) -> dict[str, Any]:
    """Return a stored body of any earlier format as the newest one reads it."""
    return value
