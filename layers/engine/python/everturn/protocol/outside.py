"""What outsiders say about a session that runs: pauses, resumes, ends of calls, late answers.

It must not know whether the session allows it.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from everturn.protocol.action import SettleAction
from everturn.protocol.decision import DecisionResponse
from everturn.protocol.ids import VALID_ID, DecisionId, InterruptId, SessionId
from everturn.protocol.wire import Json, Maybe, WireModel


class InterruptRequest(WireModel):
    """Body of `POST /v1/sessions/{id}/interrupt`. Source: decision-protocol F-1."""

    interrupt_id: Maybe[Annotated[InterruptId, VALID_ID]] = None
    """Raising an id that the session has had changes nothing."""

    reason: Annotated[str, Field(min_length=1)]
    payload: Maybe[Json] = None


class ResumeRequest(WireModel):
    """Body of `POST /v1/sessions/{id}/resume`. Source: decision-protocol O-22."""

    interrupt_id: Annotated[InterruptId, VALID_ID]
    payload: Maybe[Json] = None


class CancelRequest(WireModel):
    """Body of both cancels, which may be left out. Source: decision-protocol O-22."""

    cause: Maybe[Literal["user", "parent"]] = None
    keep_inbox: Maybe[bool] = None
    """Whether messages that wait for turns of their own stay."""


class Resolution(WireModel):
    """Body of `POST /v1/sessions/{id}/approvals/{id}`: an answer, or `outcome: "rejected"`.

    Source: vocabulary, "Tool calls": whatever a call waits for is resolved by this one command.
    """

    answer: Maybe[str] = None
    """To a question; where its choices are closed, one of them."""

    outcome: Maybe[Literal["rejected"]] = None
    """The question is declined."""

    message: Maybe[str] = None
    """With `outcome`: what the tool, or the model, is told."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.answer is None) == (self.outcome is None):
            raise PydanticCustomError("resolution", "needs exactly one of answer, outcome")
        if self.message is not None and self.outcome is None:
            raise PydanticCustomError("resolution", "a message goes with an outcome")
        return self


class LateAnswer(DecisionResponse):
    """Body of `POST /v1/workers/submit`: a decision, and the question it answers (F-1, D-7)."""

    session_id: Annotated[SessionId, VALID_ID]
    decision_id: Annotated[DecisionId, VALID_ID]


class Settlement(RootModel[SettleAction]):
    """Body of `POST /v1/sessions/{id}/calls/settle`: how a call ended; its `id` is needed (F-1)."""


INTERRUPT_REQUEST = TypeAdapter(InterruptRequest)
RESUME_REQUEST = TypeAdapter(ResumeRequest)
CANCEL_REQUEST = TypeAdapter(CancelRequest)
RESOLUTION = TypeAdapter(Resolution)
LATE_ANSWER = TypeAdapter(LateAnswer)
