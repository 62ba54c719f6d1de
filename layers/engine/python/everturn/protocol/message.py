"""Messages, their content, and the tree they stand in.

It must not decide where a message goes; that is the session's business.
"""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from everturn.protocol.ids import VALID_ID, MessageId, NodeId
from everturn.protocol.wire import Maybe, Seq, WireModel
from everturn.rejections import InvalidMessage

Role = Literal["system", "user", "assistant", "tool"]


class TextPart(WireModel):
    """Text as one part of several."""

    type: Literal["text"] = "text"
    text: str


class ImageUrl(WireModel):
    """Where an image is: an https or data URL."""

    url: str


class ImagePart(WireModel):
    """An image."""

    type: Literal["image_url"] = "image_url"
    image_url: ImageUrl


class FileData(WireModel):
    """A file by value."""

    filename: str
    file_data: str


class FilePart(WireModel):
    """A file."""

    type: Literal["file"] = "file"
    file: FileData


class AudioData(WireModel):
    """Audio by value, base64, with the name of its format."""

    data: str
    format: str


class AudioPart(WireModel):
    """Audio."""

    type: Literal["input_audio"] = "input_audio"
    input_audio: AudioData


class VideoUrl(WireModel):
    """Where a video is."""

    url: str


class VideoPart(WireModel):
    """A video."""

    type: Literal["video_url"] = "video_url"
    video_url: VideoUrl


ContentPart = Annotated[
    TextPart | ImagePart | FilePart | AudioPart | VideoPart, Field(discriminator="type")
]


def _form(content: object) -> str | None:
    match content:
        case str():
            return "text"
        case list() | tuple():
            return "parts"
        case _:
            return None


Content = Annotated[
    Annotated[str, Tag("text")] | Annotated[Seq[ContentPart], Tag("parts")],
    Discriminator(
        _form,
        custom_error_type="content_form",
        custom_error_message="should be a string or a list of content parts",
    ),
]


class ToolCallFunction(WireModel):
    """What the model calls, with the raw argument text."""

    name: str
    arguments: str


class ToolCall(WireModel):
    """One tool call of an assistant message; a model made the id, so its spelling is open (X-7)."""

    id: str
    type: str
    function: ToolCallFunction


class DraftMessage(WireModel):
    """A message that need not be recorded yet: its id is optional."""

    id: Maybe[Annotated[MessageId, VALID_ID]] = None
    role: Role
    content: Maybe[Content] = None
    tool_calls: Maybe[Seq[ToolCall]] = None
    tool_call_id: Maybe[str] = None
    name: Maybe[str] = None


class Message(DraftMessage):
    """A recorded message."""

    id: Annotated[MessageId, VALID_ID]


class MessageNode(WireModel):
    """One node of the tree; a root has no parent."""

    message: Message
    parent_id: Maybe[NodeId] = None


class MessageTree(WireModel):
    """Every node of every branch, and the active leaf; no head where the tree is empty."""

    nodes: Seq[MessageNode]
    head_id: Maybe[NodeId] = None


def check_message(message: DraftMessage) -> None:
    """Accept a new message that has what its role needs; an empty content is no content.

    Raises `InvalidMessage`, which names the message by its id and shows none of it. Source: V-10,
    O-21.
    """
    name = f"message {message.id}" if message.id else f"the new {message.role} message"
    calls = message.tool_calls or ()
    if calls and message.role != "assistant":
        raise InvalidMessage(f"{name}: only role assistant has tool_calls")
    if len({call.id for call in calls}) != len(calls):
        raise InvalidMessage(f"{name}: two tool_calls have the same id")
    match message.role:
        case "tool" if not message.tool_call_id:
            raise InvalidMessage(f"{name}: role tool needs tool_call_id")
        case "user" | "system" if not message.content:
            raise InvalidMessage(f"{name}: role {message.role} needs content")
        case "assistant" if not (message.content or calls):
            raise InvalidMessage(f"{name}: role assistant needs content or tool_calls")
        case _:
            return
