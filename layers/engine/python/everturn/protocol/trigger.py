"""Triggers: what a decision is asked about.

It must not say what is proposed for one; that is the session's business.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from everturn.protocol.agent import AgentTool
from everturn.protocol.call import ErrorCode
from everturn.protocol.ids import AgentId, CallId, InterruptId, SessionId
from everturn.protocol.llm import Format, Money
from everturn.protocol.message import DraftMessage
from everturn.protocol.wire import DEFERRED, Json, Maybe, Seq, WireModel


class ClientContext(WireModel):
    """What a client brings along with its view. Source: K-4 to K-7."""

    tools: Maybe[Seq[AgentTool]] = None
    """Run by the client, whatever their `handler` says (K-6)."""

    context: Maybe[Seq[Json]] = None
    state: Maybe[Json] = None
    forwarded_props: Maybe[Json] = None


class ValidInput(WireModel):
    """Arguments that fit the tool's schema, exactly as parsed."""

    status: Literal["valid"] = "valid"
    value: Json


class InvalidInput(WireModel):
    """Arguments that are JSON but do not fit."""

    status: Literal["invalid"] = "invalid"
    value: Json
    error: str


class MalformedInput(WireModel):
    """Arguments that are no JSON object."""

    status: Literal["malformed"] = "malformed"
    error: str


ToolInput = Annotated[ValidInput | InvalidInput | MalformedInput, Field(discriminator="status")]


class SessionStartTrigger(WireModel):
    """The first decision of every session."""

    type: Literal["session.start"] = "session.start"


class ClientMessagesTrigger(WireModel):
    """The client's view of the conversation; `new_from` is the index of its first new message."""

    type: Literal["client.messages"] = "client.messages"
    messages: Seq[DraftMessage]
    new_from: Annotated[int, Field(ge=0)]
    client: ClientContext


class ClientActionTrigger(WireModel):
    """A named signal."""

    type: Literal["client.action"] = "client.action"
    name: str
    args: Maybe[Json] = None


class QuestionAnswer(WireModel):
    """How a question was resolved. Source: agent-session reference, `QuestionAnswer`."""

    interrupt_id: InterruptId
    """The wait's id."""

    question: str
    answer: str
    """The user's words; of a decline the reason, if one was given, else a sentence of ours."""

    resolution: Literal["answered", "declined", "deadline_passed"]
    """The last two are a task's to know: a tool that asked itself does not run again with them."""


class ToolExecuteTrigger(WireModel):
    """Run a tool; `idempotency_key` is the same for every attempt of a repeatable write.

    `answers` and `continuation` are what came of its questions so far. Source: O-3, O-12.
    """

    type: Literal["tool.execute"] = "tool.execute"
    id: CallId
    name: str
    arguments: str
    input: ToolInput
    answers: Maybe[Seq[QuestionAnswer]] = None
    continuation: Maybe[Json] = None
    attempt: int
    deadline: Maybe[str] = None
    idempotency_key: Maybe[str] = None


class ToolPollTrigger(WireModel):
    """Ask for the state of a task that the worker started. Ours: O-12, agent-session.md 12."""

    type: Literal["tool.poll"] = "tool.poll"
    id: CallId
    name: str
    task_id: str
    continuation: Maybe[Json] = None
    pending_answer: Maybe[QuestionAnswer] = None
    """How the question that the task asked last was resolved, until a poll was answered."""

    attempt: int
    deadline: Maybe[str] = None
    idempotency_key: Maybe[str] = None


class ToolFinishedTrigger(WireModel):
    """A tool call is over: `result` where `ok`, else `error`."""

    type: Literal["tool.finished"] = "tool.finished"
    id: CallId
    ok: bool
    name: str
    result: Maybe[str] = None
    error: Maybe[str] = None


class LlmExecuteTrigger(WireModel):
    """Run a model call; `request` is an `LlmRequest`, or the provider's body with `format`."""

    type: Literal["llm.execute"] = "llm.execute"
    id: CallId
    request: Json
    format: Maybe[Format] = None
    stream: bool
    attempt: int
    deadline: Maybe[str] = None


class LlmFinishedTrigger(WireModel):
    """A model call is over: `message` where `ok`, else `error` and what is known about it."""

    type: Literal["llm.finished"] = "llm.finished"
    id: CallId
    ok: bool
    message: Maybe[DraftMessage] = None
    truncated: bool
    usage: Maybe[Json] = None
    cost: Maybe[Money] = None
    error: Maybe[str] = None
    code: Maybe[ErrorCode] = None
    detail: Maybe[Json] = None


class SubAgentFinishedTrigger(WireModel):
    """A child's first turn is over; `id` is the tool call id that it answers (B-12)."""

    type: Literal["sub_agent.finished"] = "sub_agent.finished"
    id: CallId
    ok: bool
    session_id: SessionId
    agent_id: AgentId
    result: Maybe[str] = None
    error: Maybe[str] = None


class InterruptResumedTrigger(WireModel):
    """An interrupt was cleared."""

    type: Literal["interrupt.resumed"] = "interrupt.resumed"
    interrupt_id: InterruptId
    payload: Maybe[Json] = None


Trigger = Annotated[
    SessionStartTrigger
    | ClientMessagesTrigger
    | ClientActionTrigger
    | ToolExecuteTrigger
    | ToolPollTrigger
    | ToolFinishedTrigger
    | LlmExecuteTrigger
    | LlmFinishedTrigger
    | SubAgentFinishedTrigger
    | InterruptResumedTrigger,
    Field(discriminator="type"),
]

TRIGGER: TypeAdapter[Trigger] = TypeAdapter(Trigger, config=DEFERRED)
