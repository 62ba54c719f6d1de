"""The wake-up: the one message on the queue, and in the input of the step machine.

It must not carry content, but for the outcome of a function that the step machine has run: that
stands nowhere else. Whoever wakes reads the session.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from everturn.protocol.ids import DecisionId, SessionId, TenantId
from everturn.protocol.wire import Json, Maybe, WireModel

Step = Literal["decision", "llm", "tool", "timer"]

UNREADABLE_ANSWER: Final = "UnreadableAnswer"
"""Name of the error in the place of an answer that is no lossless JSON."""


class Settles(WireModel):
    """What became of a delivery that the step machine made: `answer`, or else `error`."""

    model_config = ConfigDict(extra="ignore")

    decision_id: DecisionId
    attempt: Annotated[int, Field(ge=1)]
    """The delivery's; an outcome of any other is out of date."""

    answer: Json = None
    """What the function returned: a `DecisionResponse`, or null, which is `{}`."""

    error: Maybe[str] = None
    """The name of what went wrong, never its text."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if ("answer" in self.model_fields_set) == (self.error is not None):
            raise PydanticCustomError("settles", "needs an answer or an error")
        return self


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

    settles: Maybe[Settles] = None
    """On `tool` only."""

    def without_content(self) -> Self:
        """Return what may be kept of it: whom it wakes, and why."""
        return self.model_copy(update={"settles": None})


WakeUp.model_rebuild()  # an adapter of a model that is not built would quote bad input in errors
WAKE = TypeAdapter(WakeUp)


def read_wake(body: str) -> WakeUp:
    """Return the wake-up that a message's body is.

    A worker's answer must not stop it: one that cannot be read counts as `UNREADABLE_ANSWER`.
    Raises pydantic's `ValidationError`.
    """
    try:
        return WAKE.validate_json(body)
    except ValidationError:
        match _lenient(body):
            case {"settles": {"answer": _, **about}, **rest}:
                about["error"] = UNREADABLE_ANSWER
                return WAKE.validate_python({**rest, "settles": about})
        raise


def _lenient(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that failed too often, as its queue gives it out."""

    message_id: str
    group: str
    body: str
    """A `WakeUp` as JSON, or what could not be read as one."""

    receipt: str
    """What the queue wants to see when the message is deleted."""
