"""Bodies about messages that wait for turns of their own. Source: session-log, section 10."""

from typing import Annotated, Literal

from pydantic import TypeAdapter

from everturn.protocol.ids import VALID_ID, TurnId
from everturn.protocol.message import Content, DraftMessage
from everturn.protocol.wire import Maybe, WireModel

Target = Literal["next-turn", "next-step"]


class InboxRequest(WireModel):
    """Body of `POST /v1/sessions/{id}/inbox`. Source: session-log IB-1, IB-9."""

    target: Target = "next-turn"
    wakeup: bool = True
    """Whether it opens its turn by itself; else it is taken along once another one does."""

    message: DraftMessage
    turn_id: Maybe[Annotated[TurnId, VALID_ID]] = None
    """Of the turn that it will open; the same one again changes nothing."""


class InboxEdit(WireModel):
    """Body of `PATCH /v1/sessions/{id}/inbox/{item_id}`: other content. Source: IB-5."""

    content: Content


INBOX_REQUEST = TypeAdapter(InboxRequest)
INBOX_EDIT = TypeAdapter(InboxEdit)
