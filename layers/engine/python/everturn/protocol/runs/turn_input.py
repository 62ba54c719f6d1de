"""What a run is asked: a prompt, or messages of several roles, the last one with its files.

It must not know the conversation that they continue.
"""

from typing import Annotated, Literal

from pydantic import Field

from everturn.protocol.limits import MAX_VIEW_MESSAGES
from everturn.protocol.runs.files import Attachments, check_size
from everturn.protocol.runs.shape import RunsModel
from everturn.protocol.wire import Maybe, Seq
from everturn.rejections import InvalidRequest


class InputMessage(RunsModel):
    """One message of a body."""

    role: Literal["user", "assistant", "system"]
    content: str
    attachments: Maybe[Attachments] = None


class TurnInput(RunsModel):
    """Exactly one of `prompt` and `messages`, once `check_turn` has passed it."""

    prompt: Maybe[Annotated[str, Field(min_length=1)]] = None
    attachments: Maybe[Attachments] = None
    """Of a prompt; those of messages stand with them."""

    messages: Maybe[Annotated[Seq[InputMessage], Field(max_length=MAX_VIEW_MESSAGES)]] = None

    @property
    def turn(self) -> tuple[InputMessage, ...]:
        """The messages; a prompt is one of the user's."""
        if self.prompt is not None:
            files = {"attachments": self.attachments} if self.attachments else {}
            return (InputMessage(role="user", content=self.prompt, **files),)
        return self.messages or ()


def check_turn(asked: TurnInput) -> None:
    """Accept an input that a user speaks last in. Raises `InvalidRequest`. Source: 2.1.1."""
    if (asked.prompt is None) == (asked.messages is None):
        raise InvalidRequest("/prompt: exactly one of prompt and messages is required")
    if asked.messages is not None:
        _check_messages(asked.messages)
    check_size(asked.attachments or (), "/attachments")


def _check_messages(messages: tuple[InputMessage, ...]) -> None:
    spoken = [at for at, message in enumerate(messages) if message.role != "system"]
    if not spoken or messages[spoken[-1]].role != "user":
        raise InvalidRequest("/messages: the last one that is no system message should be a user's")
    last = spoken[-1]
    for at, message in enumerate(messages):
        if message.attachments and at != last:
            raise InvalidRequest(
                f"/messages/{at}/attachments: only the last user message may have files"
            )
    for at in spoken:
        message = messages[at]
        if not message.content and not message.attachments:
            raise InvalidRequest(f"/messages/{at}/content: should not be empty")
    check_size(messages[last].attachments or (), f"/messages/{last}/attachments")
