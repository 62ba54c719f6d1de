"""Actions: what a decision wants done next.

It must not do any of them, nor judge whether the session allows it.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from everturn.protocol.agent import RetryPolicy
from everturn.protocol.call import ErrorCode, Handler
from everturn.protocol.ids import VALID_ID, AgentId, CallId, InterruptId, SessionId
from everturn.protocol.limits import MAX_POLICY_SECS, MIN_POLL_SECONDS
from everturn.protocol.llm import LlmTool, ReasoningConfig, Temperature, Tokens
from everturn.protocol.message import DraftMessage
from everturn.protocol.wire import DEFERRED, Json, Maybe, Number, Seq, WireModel

OutsideCallId = Annotated[CallId, VALID_ID]

Attempt = Annotated[int, Field(ge=1)]

PollSeconds = Annotated[Number, Field(ge=MIN_POLL_SECONDS, le=MAX_POLICY_SECS)]


class LlmCallAction(WireModel):
    """Call the model; what is left out is filled from the config (L-1)."""

    type: Literal["llm.call"] = "llm.call"
    id: Maybe[OutsideCallId] = None
    model: Maybe[str] = None
    messages: Maybe[Seq[DraftMessage]] = None
    """Explicit messages, also none at all, are sent as they are (L-3)."""

    tools: Maybe[Seq[LlmTool]] = None
    temperature: Maybe[Temperature] = None
    max_completion_tokens: Maybe[Tokens] = None
    reasoning: Maybe[ReasoningConfig] = None
    stream: Maybe[bool] = None
    retry: Maybe[RetryPolicy] = None
    handler: Maybe[Handler] = None


class ToolCallAction(WireModel):
    """Call a tool; a string as `arguments` is the raw text (U-1)."""

    type: Literal["tool.call"] = "tool.call"
    id: Maybe[OutsideCallId] = None
    name: str
    arguments: Json
    handler: Maybe[Handler] = None
    retry: Maybe[RetryPolicy] = None


class ToolResultAction(WireModel):
    """Settle a tool call."""

    type: Literal["tool.result"] = "tool.result"
    id: Maybe[OutsideCallId] = None
    attempt: Maybe[Attempt] = None
    result: Json


class ToolErrorAction(WireModel):
    """Settle a tool call as failed; terminal unless `retryable`."""

    type: Literal["tool.error"] = "tool.error"
    id: Maybe[OutsideCallId] = None
    attempt: Maybe[Attempt] = None
    error: str
    retryable: Maybe[bool] = None
    code: Maybe[ErrorCode] = None
    detail: Maybe[Json] = None


class LlmResultAction(WireModel):
    """Settle a model call; the provider's own body where the call carried a format."""

    type: Literal["llm.result"] = "llm.result"
    id: Maybe[OutsideCallId] = None
    attempt: Maybe[Attempt] = None
    response: Json


class LlmErrorAction(WireModel):
    """Settle a model call as failed; terminal unless `retryable`."""

    type: Literal["llm.error"] = "llm.error"
    id: Maybe[OutsideCallId] = None
    attempt: Maybe[Attempt] = None
    error: str
    retryable: Maybe[bool] = None
    code: Maybe[ErrorCode] = None
    detail: Maybe[Json] = None


class SubAgentSpawnAction(WireModel):
    """Start a child session that answers one tool call of the model."""

    type: Literal["sub_agent.spawn"] = "sub_agent.spawn"
    session_id: Annotated[SessionId, VALID_ID]
    agent_id: Annotated[AgentId, VALID_ID]
    tool_call_id: OutsideCallId
    retry: Maybe[RetryPolicy] = None


class MessageSendAction(WireModel):
    """Send a message to another session of the same owner, or to this one."""

    type: Literal["message.send"] = "message.send"
    session_id: Annotated[SessionId, VALID_ID]
    message: DraftMessage


class InterruptAction(WireModel):
    """Pause this branch."""

    type: Literal["interrupt"] = "interrupt"
    interrupt_id: Maybe[Annotated[InterruptId, VALID_ID]] = None
    reason: str
    payload: Maybe[Json] = None


class DoneAction(WireModel):
    """End the turn."""

    type: Literal["done"] = "done"
    data: Maybe[Json] = None


class ToolAskAction(WireModel):
    """Answer to a running tool: ask its user something. Ours: O-12, agent-session.md 11."""

    type: Literal["tool.ask"] = "tool.ask"
    question: str
    choices: Maybe[Seq[str]] = None
    """The answer is one of them; without any it is free text."""

    allows_free_text: Maybe[bool] = None
    """With `choices`: whether another answer is taken, too; default no."""

    continuation: Maybe[Json] = None


class ToolTaskAction(WireModel):
    """Answer to a running tool: it goes on elsewhere, poll it. Ours: O-12, agent-session.md 12."""

    type: Literal["tool.task"] = "tool.task"
    task_id: str
    poll_interval_seconds: PollSeconds
    continuation: Maybe[Json] = None


class ToolPendingAction(WireModel):
    """Answer to a poll: not finished yet. Ours: O-12, agent-session.md 12."""

    type: Literal["tool.pending"] = "tool.pending"
    """What is left out stays as it was."""

    poll_interval_seconds: Maybe[PollSeconds] = None
    continuation: Maybe[Json] = None


SettleAction = Annotated[
    ToolResultAction | ToolErrorAction | LlmResultAction | LlmErrorAction,
    Field(discriminator="type"),
]
"""What ends a call, or its attempt; also the body of `calls/settle` (F-1)."""

Action = Annotated[
    LlmCallAction
    | ToolCallAction
    | ToolResultAction
    | ToolErrorAction
    | LlmResultAction
    | LlmErrorAction
    | SubAgentSpawnAction
    | MessageSendAction
    | InterruptAction
    | DoneAction
    | ToolAskAction
    | ToolTaskAction
    | ToolPendingAction,
    Field(discriminator="type"),
]

ACTION: TypeAdapter[Action] = TypeAdapter(Action, config=DEFERRED)
SETTLE_ACTION: TypeAdapter[SettleAction] = TypeAdapter(SettleAction, config=DEFERRED)
