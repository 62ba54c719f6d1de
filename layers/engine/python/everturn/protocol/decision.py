"""The decision: what a worker is asked, what it may answer, and the checks that need no session.

It must not apply an answer. Errors that depend on the session's state are found where it is known.
"""

from collections.abc import Iterator
from typing import Annotated, assert_never

from pydantic import Field, TypeAdapter

from everturn.errors import RejectedError
from everturn.protocol.action import (
    Action,
    DoneAction,
    InterruptAction,
    LlmCallAction,
    LlmErrorAction,
    LlmResultAction,
    MessageSendAction,
    SubAgentSpawnAction,
    ToolAskAction,
    ToolCallAction,
    ToolErrorAction,
    ToolPendingAction,
    ToolResultAction,
    ToolTaskAction,
)
from everturn.protocol.agent import AgentConfig, Decides, check_agent
from everturn.protocol.call import Call
from everturn.protocol.held import check_held
from everturn.protocol.ids import AgentId, DecisionId, SessionId, TurnId
from everturn.protocol.json_text import compact
from everturn.protocol.limits import (
    MAX_ACTIONS,
    MAX_AGENT_BYTES,
    MAX_DONE_DATA_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_REASON_BYTES,
    MAX_STATE_BYTES,
    MAX_VIEW_MESSAGES,
)
from everturn.protocol.message import DraftMessage, Message, MessageTree, check_message
from everturn.protocol.trigger import Trigger
from everturn.protocol.wire import Json, Maybe, Seq, WireModel, to_json
from everturn.rejections import DoneWithInterrupt, InvalidHandler, MultipleDone, SchemaViolation


class WorkerIdentity(WireModel):
    """The session's owner without the tenant."""

    id: Maybe[str] = None
    metadata: Maybe[dict[str, str]] = None


class DecisionResponse(WireModel):
    """What was decided; `{}` is always valid. Null or absent `state` and `agent` keep (Z-1)."""

    messages: Maybe[Annotated[Seq[DraftMessage], Field(max_length=MAX_VIEW_MESSAGES)]] = None
    actions: Maybe[Annotated[Seq[Action], Field(max_length=MAX_ACTIONS)]] = None
    state: Maybe[Json] = None
    agent: Maybe[AgentConfig] = None


class DecisionRequest(WireModel):
    """What a worker is sent. Source: section 5."""

    session_id: SessionId
    decision_id: DecisionId
    agent_id: AgentId
    identity: WorkerIdentity
    trigger: Trigger
    proposed: DecisionResponse
    state: Json
    agent: AgentConfig | None
    calls: Seq[Call]
    pending_calls: int
    """Tool and sub-agent entries in `calls` (Q-4)."""

    messages: Seq[Message]
    message_tree: MessageTree
    ancestry: Seq[SessionId]
    """From the root session to the direct parent (Q-7)."""

    attempts: int
    """Deliveries of this decision, from 1 (D-5)."""

    deadline: str | None
    """RFC 3339; the end of this delivery attempt (D-5)."""

    turn_id: TurnId | None


DECISION_REQUEST = TypeAdapter(DecisionRequest)
DECISION_RESPONSE = TypeAdapter(DecisionResponse)


def check_response(response: DecisionResponse, *, decides: Decides) -> None:
    """Accept a response that is in order by itself, whatever the session holds.

    Raises `InvalidMessage`, `InvalidHandler`, `MultipleDone`, `DoneWithInterrupt`,
    `SchemaViolation` and the errors of `check_agent`. Source: P-3, V-10, section 23, O-16.
    """
    for message in response.messages or ():
        check_message(message)
    _check_size(response.state, MAX_STATE_BYTES, "/state")
    if response.agent is not None:
        _check_size(to_json(response.agent), MAX_AGENT_BYTES, "/agent")
        check_agent(response.agent, decides=decides, at="/agent")
    actions = response.actions or ()
    for index, action in enumerate(actions):
        check_action(action, at=f"/actions/{index}")
    if problem := next(_endings(actions), None):
        raise problem


def check_action(action: Action, *, at: str = "") -> None:
    """Accept an action that is in order by itself; `at` begins every path.

    Raises `InvalidHandler`, `InvalidMessage` or `SchemaViolation`. Source: P-3, section 23.
    """
    match action:
        case LlmCallAction(handler="client"):
            raise InvalidHandler(f"{at}/handler: model calls run on server or worker, not client")
        case ToolCallAction(handler="server"):
            raise InvalidHandler(f"{at}/handler: tools run on worker or client, not on server")
        case MessageSendAction(message=message):
            check_message(message)
        case InterruptAction(reason=reason, payload=payload):
            check_interrupt(reason, payload, at=at)
        case DoneAction(data=data):
            _check_size(data, MAX_DONE_DATA_BYTES, f"{at}/data")
        case (
            LlmCallAction()
            | ToolCallAction()
            | ToolResultAction()
            | ToolErrorAction()
            | LlmResultAction()
            | LlmErrorAction()
            | SubAgentSpawnAction()
        ):
            return
        case ToolAskAction() | ToolTaskAction() | ToolPendingAction():
            check_held(action, at=at)
        case _:
            assert_never(action)


def check_interrupt(reason: str, payload: Json, *, at: str = "") -> None:
    """Accept an interrupt's texts by size, whoever raises it.

    Raises `SchemaViolation`. Source: section 23.
    """
    if len(reason.encode()) > MAX_REASON_BYTES:
        raise SchemaViolation(f"{at}/reason: more than {MAX_REASON_BYTES} bytes")
    _check_size(payload, MAX_PAYLOAD_BYTES, f"{at}/payload")


def _check_size(value: Json, limit_bytes: int, path: str) -> None:
    if value is not None and len(compact(value).encode()) > limit_bytes:
        raise SchemaViolation(f"{path}: more than {limit_bytes} bytes")


def _endings(actions: tuple[Action, ...]) -> Iterator[RejectedError]:
    """Yield what is wrong with the ends of a turn among `actions`. Source: X-8, P-3."""
    done = sum(isinstance(action, DoneAction) for action in actions)
    if done > 1:
        yield MultipleDone("/actions: done stands there twice")
    if done and any(isinstance(action, InterruptAction) for action in actions):
        yield DoneWithInterrupt("/actions: done and interrupt exclude each other")
