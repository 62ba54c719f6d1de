"""The wake-up: the one message on the queue, and in the input of the step machine.

It must not carry content; whoever wakes reads the session.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from everturn.protocol.ids import SessionId, TenantId
from everturn.protocol.wire import Maybe, WireModel

Step = Literal["decision", "llm", "tool", "timer"]


class WakeUp(WireModel):
    """Advance this session; fields of later versions are ignored."""

    model_config = ConfigDict(extra="ignore")

    step: Step
    tenant: TenantId
    session: SessionId
    version: Annotated[int, Field(ge=0)]
    """The session's version that asked for it."""

    due: Maybe[str] = None
    """RFC 3339; a firing proves its due time (architecture.md 4)."""

    subject: Maybe[str] = None
    """The call, decision or wait that is due."""


WakeUp.model_rebuild()  # an adapter of a model that is not built would quote bad input in errors
WAKE = TypeAdapter(WakeUp)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that failed too often, as its queue gives it out."""

    message_id: str
    group: str
    body: str
    """A `WakeUp` as JSON, or what could not be read as one."""

    receipt: str
    """What the queue wants to see when the message is deleted."""
