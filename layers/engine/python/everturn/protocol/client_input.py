"""What a client may send into a session, and the envelope it comes in.

It must not know the session: what is allowed there and then is decided in the core.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from everturn.errors import RejectedError
from everturn.protocol.action import Attempt, OutsideCallId
from everturn.protocol.ids import VALID_ID, AgentId, InterruptId, SessionId, TurnId
from everturn.protocol.limits import MAX_VIEW_MESSAGES
from everturn.protocol.message import DraftMessage, check_message
from everturn.protocol.trigger import ClientContext
from everturn.protocol.wire import (
    DEFERRED,
    UNKNOWN_TAG,
    Json,
    Maybe,
    Seq,
    WireModel,
    first_problem,
    to_rejection,
)
from everturn.rejections import EmptyMessages, UnknownInput

T = TypeVar("T")


class ClientMessageInput(WireModel):
    """One message at the end of the active path; `turn_id` is the idempotency key (T-4)."""

    type: Literal["client.message"] = "client.message"
    agent_id: Annotated[AgentId, VALID_ID]
    turn_id: Maybe[Annotated[TurnId, VALID_ID]] = None
    message: DraftMessage
    stream: Maybe[bool] = None


class ClientMessagesInput(WireModel):
    """The client's full view of the conversation."""

    type: Literal["client.messages"] = "client.messages"
    agent_id: Annotated[AgentId, VALID_ID]
    turn_id: Maybe[Annotated[TurnId, VALID_ID]] = None
    messages: Annotated[Seq[DraftMessage], Field(max_length=MAX_VIEW_MESSAGES)]
    stream: Maybe[bool] = None
    client: Maybe[ClientContext] = None


class ClientActionInput(WireModel):
    """A named signal."""

    type: Literal["client.action"] = "client.action"
    agent_id: Annotated[AgentId, VALID_ID]
    turn_id: Maybe[Annotated[TurnId, VALID_ID]] = None
    name: str
    args: Maybe[Json] = None


class InterruptResumeInput(WireModel):
    """Clear an interrupt."""

    type: Literal["interrupt.resume"] = "interrupt.resume"
    interrupt_id: Annotated[InterruptId, VALID_ID]
    payload: Maybe[Json] = None


class ToolResultInput(WireModel):
    """The result of a client tool; a missing one is null (U-9)."""

    type: Literal["tool.result"] = "tool.result"
    id: OutsideCallId
    attempt: Maybe[Attempt] = None
    result: Maybe[Json] = None


class ToolErrorInput(WireModel):
    """The failure of a client tool; here `retryable` is required (U-10)."""

    type: Literal["tool.error"] = "tool.error"
    id: OutsideCallId
    error: str
    retryable: bool
    attempt: Maybe[Attempt] = None


SubmitInput = ClientMessageInput | ClientMessagesInput | ClientActionInput
"""Inputs that open, join or repeat a turn."""

ClientInput = Annotated[
    ClientMessageInput
    | ClientMessagesInput
    | ClientActionInput
    | InterruptResumeInput
    | ToolResultInput
    | ToolErrorInput,
    Field(discriminator="type"),
]


class InputIdentity(WireModel):
    """The owner that an API key acts for. Source: O-13, O-22."""

    id: Annotated[str, VALID_ID]
    metadata: Maybe[dict[str, str]] = None


class InputRequest(WireModel):
    """Body of `POST /v1/sessions/input`. Source: O-22."""

    session_id: Maybe[Annotated[SessionId, VALID_ID]] = None
    identity: Maybe[InputIdentity] = None
    input: ClientInput


CLIENT_INPUT: TypeAdapter[ClientInput] = TypeAdapter(ClientInput, config=DEFERRED)
INPUT_REQUEST = TypeAdapter(InputRequest)


def read_input(data: Json) -> InputRequest:
    """Return the request that `data` is, its messages checked.

    Raises `UnknownInput`, `InvalidId`, `SchemaViolation`, `EmptyMessages` or `InvalidMessage`.
    """
    request = parse_with_input(INPUT_REQUEST, data)
    check_input(request.input)
    return request


def parse_with_input(adapter: TypeAdapter[T], data: Json) -> T:
    """Return `data` as the adapter's type, which has a `ClientInput` in its field `input`.

    Raises what `wire.parse` raises, and `UnknownInput` for an input of no known type (422).
    """
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        raise _to_rejection(error, data) from None


def check_input(client_input: ClientInput) -> None:
    """Accept an input whose messages have what their roles need.

    Raises `EmptyMessages` or `InvalidMessage`. Source: K-2, V-10.
    """
    match client_input:
        case ClientMessageInput(message=message):
            check_message(message)
        case ClientMessagesInput(messages=()):
            raise EmptyMessages("client.messages needs at least one message")
        case ClientMessagesInput(messages=messages):
            for message in messages:
                check_message(message)
        case _:
            return


def _to_rejection(error: ValidationError, data: Json) -> RejectedError:
    problem = first_problem(error, data)
    if problem.kind in UNKNOWN_TAG and problem.path == "/input":
        return UnknownInput(problem.sentence)
    return to_rejection(problem)
