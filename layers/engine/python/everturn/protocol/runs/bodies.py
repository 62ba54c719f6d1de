"""The bodies of the agent runs API, read: each violation is one `InvalidRequest` with its path.

It must not know what a session allows: that is decided in the core.
"""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, TypeAdapter
from pydantic_core import PydanticCustomError

from everturn.protocol.limits import (
    MAX_FEEDBACK_CHARS,
    MAX_LOCAL_ERROR_BYTES,
    MAX_RESULT_BYTES,
    MAX_SNAPSHOT_BYTES,
)
from everturn.protocol.runs.files import ToolFiles, check_size
from everturn.protocol.runs.run_spec import RunSpec, check_spec
from everturn.protocol.runs.shape import RunsModel, read, size_bytes
from everturn.protocol.runs.turn_input import TurnInput, check_turn
from everturn.protocol.wire import Json, Maybe
from everturn.rejections import InvalidRequest


class AtMostBytes:
    """A limit of a text, in UTF-8."""

    def __init__(self, most: int) -> None:
        self._most = most

    def __call__(self, text: str) -> str:
        """Return a text that fits."""
        if size_bytes(text) <= self._most:
            return text
        raise PydanticCustomError(
            "too_many_bytes", "should have at most {most} bytes", {"most": self._most}
        )


class RunBody(TurnInput, RunSpec):
    """Of `POST /agent-runs`."""


class SessionBody(RunSpec):
    """Of `POST /agent-sessions`."""


class MessageBody(TurnInput, RunSpec):
    """Of `POST /agent-sessions/{id}/messages`; its spec is for the one run that it begins."""


class ToolResultBody(RunsModel):
    """Of `POST /agent-runs/{id}/tool-results`. Source: runs document, section 5."""

    tool_use_id: Annotated[str, Field(min_length=1)]
    """A model made it, so its spelling is open."""

    result: Maybe[Annotated[str, AfterValidator(AtMostBytes(MAX_RESULT_BYTES))]] = None
    error: Maybe[Annotated[str, AfterValidator(AtMostBytes(MAX_LOCAL_ERROR_BYTES))]] = None
    files: Maybe[ToolFiles] = None
    """None beside an error."""


class FeedbackBody(RunsModel):
    """Of `POST /agent-runs/{id}/feedback`. Source: the published clients."""

    verdict: Literal["UP", "DOWN"]
    explanation: Maybe[Annotated[str, Field(max_length=MAX_FEEDBACK_CHARS)]] = None
    content_snapshot: Maybe[Annotated[str, AfterValidator(AtMostBytes(MAX_SNAPSHOT_BYTES))]] = None


RUN_BODY: Final = TypeAdapter(RunBody)
SESSION_BODY: Final = TypeAdapter(SessionBody)
MESSAGE_BODY: Final = TypeAdapter(MessageBody)
TOOL_RESULT_BODY: Final = TypeAdapter(ToolResultBody)
FEEDBACK_BODY: Final = TypeAdapter(FeedbackBody)


def read_run(data: Json) -> RunBody:
    """Return the run that a body asks for. Raises `InvalidRequest`, as all below."""
    body = read(RUN_BODY, data)
    check_spec(body)
    check_turn(body)
    return body


def read_session(data: Json) -> SessionBody:
    """Return the session that a body asks for; messages in it are nothing to it."""
    body = read(SESSION_BODY, data)
    check_spec(body)
    return body


def read_message(data: Json) -> MessageBody:
    """Return the messages of a body, with what is to hold for their run alone."""
    body = read(MESSAGE_BODY, data)
    check_spec(body)
    check_turn(body)
    return body


def read_tool_result(data: Json) -> ToolResultBody:
    """Return what became of a tool call; files beside an error are not looked at."""
    failed = isinstance(data, dict) and data.get("error") is not None
    kept = {key: data[key] for key in data if key != "files"} if failed else data
    body = read(TOOL_RESULT_BODY, kept)
    if body.result is not None and body.error is not None:
        raise InvalidRequest("/error: only one of result and error is taken")
    check_size(body.files or (), "/files")
    return body


def read_feedback(data: Json) -> FeedbackBody:
    """Return what somebody thinks of a run."""
    return read(FEEDBACK_BODY, data)
