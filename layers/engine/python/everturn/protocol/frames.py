"""WebSocket frames, in and out.

It must not know connections or how a frame is sent. Source: architecture.md 7.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from everturn.protocol.client_input import (
    ClientInput,
    InputIdentity,
    check_input,
    parse_with_input,
)
from everturn.protocol.events import EventEnvelope
from everturn.protocol.ids import VALID_ID, AgentId, CallId, SessionId, TurnId
from everturn.protocol.llm import StreamDelta
from everturn.protocol.wire import DEFERRED, Json, Maybe, WireModel

FrameId = Annotated[str, VALID_ID]
"""Chosen by the client; answers repeat it."""


class SubscribeFrame(WireModel):
    """Send what happens in a session, from `after` (a cursor) onward."""

    action: Literal["subscribe"] = "subscribe"
    id: FrameId
    session_id: Annotated[SessionId, VALID_ID]
    after: Maybe[str] = None
    turn_id: Maybe[Annotated[TurnId, VALID_ID]] = None


class InputFrame(WireModel):
    """The same as `POST /v1/sessions/input`."""

    action: Literal["input"] = "input"
    id: FrameId
    session_id: Maybe[Annotated[SessionId, VALID_ID]] = None
    identity: Maybe[InputIdentity] = None
    input: ClientInput


class PingFrame(WireModel):
    """Ask for a pong."""

    action: Literal["ping"] = "ping"
    id: Maybe[FrameId] = None


class UnsubscribeFrame(WireModel):
    """End the subscription of this id."""

    action: Literal["unsubscribe"] = "unsubscribe"
    id: FrameId


class AuthenticateFrame(WireModel):
    """Say who is there: on a connection without a credential, or before its token expires."""

    action: Literal["authenticate"] = "authenticate"
    id: FrameId
    token: str
    """A client token, or an API key."""


InFrame = Annotated[
    SubscribeFrame | InputFrame | PingFrame | UnsubscribeFrame | AuthenticateFrame,
    Field(discriminator="action"),
]


class SubscribedFrame(WireModel):
    """The subscription stands; what was missed follows."""

    type: Literal["subscribed"] = "subscribed"
    id: str
    session_id: SessionId
    seq: int
    """The session's last event at that moment."""


class UnsubscribedFrame(WireModel):
    """The subscription of this id is over."""

    type: Literal["unsubscribed"] = "unsubscribed"
    id: str


class Placed(WireModel):
    """Where a frame stands among a session's events: it follows the frame of `prev_seq`."""

    id: Maybe[str] = None
    session_id: SessionId
    cursor: str
    seq: int
    prev_seq: int


class EventFrame(Placed):
    """One event; a client that does not know `prev_seq` yet has a gap."""

    type: Literal["event"] = "event"
    event: EventEnvelope


class TokenDelta(StreamDelta):
    """A piece of a model's answer, with its place. Source: E-4, O-7."""

    type: Literal["llm.token.delta"] = "llm.token.delta"
    session_id: SessionId
    agent_id: AgentId
    turn_id: Maybe[TurnId] = None
    call_id: CallId
    attempt: int
    seq: int
    """Counts per call and attempt."""


class DeltaFrame(WireModel):
    """A piece of a model's answer."""

    type: Literal["delta"] = "delta"
    id: Maybe[str] = None
    session_id: SessionId
    cursor: str
    prev_n: int
    """The piece before; a merged frame spans all from there to the cursor's `n`."""

    delta: TokenDelta


class MoreFrame(WireModel):
    """The replay ends here with more to come: subscribe again after `cursor`."""

    type: Literal["more"] = "more"
    id: str
    session_id: SessionId
    cursor: str


class EventRefFrame(Placed):
    """An event too large for a frame: fetch it by its seq."""

    type: Literal["event_ref"] = "event_ref"
    event_type: str


class SkippedFrame(Placed):
    """What came after `prev_seq` up to `seq` is not for this reader: nothing is missing."""

    type: Literal["skipped"] = "skipped"


class AcceptedFrame(WireModel):
    """An input was recorded; the fields are those of the 202 answer (T-3, T-4, O-22)."""

    type: Literal["accepted"] = "accepted"
    id: str
    session_id: SessionId
    turn_id: Maybe[TurnId] = None
    duplicate: Maybe[bool] = None
    turn_status: Maybe[Literal["queued", "running", "parked", "completed"]] = None
    continued: Maybe[bool] = None
    resumed: Maybe[bool] = None


class AuthenticatedFrame(WireModel):
    """The connection is the caller's from now on."""

    type: Literal["authenticated"] = "authenticated"
    id: str
    expires_at: Maybe[int] = None
    """When its token expires, in Unix seconds; an API key does not."""


class ErrorFrame(WireModel):
    """A frame was refused; beside these fields stands what the error body has."""

    model_config = ConfigDict(extra="allow")

    type: Literal["error"] = "error"
    id: Maybe[str] = None
    error: str
    code: str
    message: str
    hint: Maybe[str] = None


class PongFrame(WireModel):
    """Answer to a ping."""

    type: Literal["pong"] = "pong"
    id: Maybe[str] = None


OutFrame = Annotated[
    SubscribedFrame
    | UnsubscribedFrame
    | EventFrame
    | DeltaFrame
    | MoreFrame
    | EventRefFrame
    | SkippedFrame
    | AcceptedFrame
    | AuthenticatedFrame
    | ErrorFrame
    | PongFrame,
    Field(discriminator="type"),
]

IN_FRAME: TypeAdapter[InFrame] = TypeAdapter(InFrame, config=DEFERRED)
OUT_FRAME: TypeAdapter[OutFrame] = TypeAdapter(OutFrame, config=DEFERRED)


def read_frame(data: Json) -> InFrame:
    """Return the frame that `data` is, its input checked.

    Raises what `client_input.read_input` raises.
    """
    frame = parse_with_input(IN_FRAME, data)
    if isinstance(frame, InputFrame):
        check_input(frame.input)
    return frame
