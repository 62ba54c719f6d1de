"""What the HTTP routes answer, one model a body; the published description is made from these.

It must not know how an answer is found. Whoever answers builds plain JSON, and the tests hold it
against these models: a Lambda does not pay for a second check of what it has just made.
"""

from typing import Literal

from pydantic import ConfigDict

from everturn.protocol.agent import AgentConfig, Decides
from everturn.protocol.call import Call
from everturn.protocol.events import EventEnvelope
from everturn.protocol.ids import AgentId, CallId, InterruptId, MessageId, NodeId, SessionId, TurnId
from everturn.protocol.message import Message
from everturn.protocol.wire import Json, Maybe, Seq, WireModel

SessionStatus = Literal["idle", "active", "interrupted", "done", "cancelled"]
"""Source: decision-protocol S-6."""


class Ok(WireModel):
    """It was done, or the function runs; there is no more to say."""

    ok: Literal[True]


class ClientToken(WireModel):
    """A token that its holder sends as `Authorization: Bearer`. Source: decision-protocol A-3."""

    token: str
    expires_at: int
    """Unix seconds."""


class Accepted(WireModel):
    """An input is recorded. Source: decision-protocol T-3, T-4."""

    session_id: SessionId
    turn_id: TurnId
    duplicate: Maybe[Literal[True]] = None
    """The session knows this turn already; nothing new was recorded."""

    turn_status: Maybe[Literal["running", "parked", "completed"]] = None
    """With `duplicate`: how far that turn is."""

    continued: Maybe[Literal[True]] = None
    """It went on with the open turn, whose id this is."""


class Continued(WireModel):
    """An input that opens no turn is recorded. Source: decision-protocol O-22."""

    ok: Literal[True]
    session_id: SessionId
    resumed: Maybe[bool] = None
    """Of a resume: whether the interrupt was open."""


class Answered(WireModel):
    """A late answer is taken. Source: decision-protocol D-11."""

    ok: Literal[True]
    duplicate: Maybe[Literal[True]] = None
    """The question was over already; nothing was recorded."""


class Interrupting(WireModel):
    """The session is paused."""

    ok: Literal[True]
    interrupt_id: InterruptId


class Cancelled(WireModel):
    """A turn or a session is stopped, or was over before."""

    ok: Literal[True]
    session_id: SessionId
    turn_id: Maybe[TurnId] = None
    """Of a turn: its own id, whatever name was given."""

    cancelled: bool
    """Whether it was open until now."""


class Quarantined(WireModel):
    """Why an operator has to look after a session, and since when. Source: docs/storage.md."""

    reason: str
    at: str


class ShownNode(WireModel):
    """A message and the one it follows; the oldest that is shown names no parent."""

    message: Message
    parent_id: Maybe[MessageId] = None


class ShownTree(WireModel):
    """The messages that are shown, as a tree; `head_id` is the newest of the active path."""

    nodes: Seq[ShownNode]
    head_id: Maybe[NodeId] = None


class OpenWait(WireModel):
    """What an open call waits for: a person's answer, or a task elsewhere."""

    id: InterruptId
    kind: Literal["question", "task"]
    call_id: CallId
    name: str
    """The tool's."""

    question: Maybe[str] = None
    choices: Maybe[Seq[str]] = None
    allows_free_text: Maybe[bool] = None
    deadline: Maybe[str] = None
    """When the question is withdrawn by itself."""

    task_id: Maybe[str] = None
    next_poll_at: Maybe[str] = None
    """When the worker is asked how far the task is; absent while it is, or while it asks."""


class WaitingTurn(WireModel):
    """A turn that waits for those before it. Source: session-log IB-9."""

    item_id: str
    turn_id: TurnId
    wakeup: bool
    """Whether it opens by itself."""


class SessionView(WireModel):
    """A session as it stands. Source: decision-protocol F-1, S-6, Q-3."""

    session_id: SessionId
    agent_id: AgentId
    status: SessionStatus
    seq: int
    """Number of the last event."""

    interrupts: Seq[Json]
    """What pauses the active path."""

    messages: Seq[Message]
    """The newest messages of the path, at most 200, oldest first."""

    calls: Seq[Call]
    """Calls that are not over."""

    waits: Seq[OpenWait]
    """What those wait for."""

    quarantined: Maybe[Quarantined] = None
    turn_id: Maybe[TurnId] = None
    """The open turn."""

    last_outcome: Maybe[str] = None
    """Where no turn is open: how the last one ended."""

    before_seq: Maybe[int] = None
    """There may be older messages: ask again with `before` at this number."""

    inbox: Maybe[Seq[WaitingTurn]] = None
    """Turns that wait for theirs, in their order; absent where none does."""

    ancestry: Maybe[Seq[SessionId]] = None
    """Of a sub-agent's session: from the root session to the direct parent."""

    message_tree: Maybe[ShownTree] = None


class SessionRow(WireModel):
    """A session in a list; of one that cannot be read only its place is known."""

    session_id: SessionId
    agent_id: Maybe[AgentId] = None
    owner: Maybe[str] = None
    status: Maybe[SessionStatus] = None
    turns: Maybe[int] = None
    """Turns that it has had, an open one included."""

    turn_id: Maybe[TurnId] = None
    """The open turn."""

    created_at: Maybe[str] = None
    last_turn_at: Maybe[str] = None
    """When its last turn began."""

    quarantined: Maybe[Quarantined] = None


class SessionsPage(WireModel):
    """Sessions that the caller may see, the newest last turn first."""

    sessions: Seq[SessionRow]
    cursor: Maybe[str] = None
    """Where the next page begins; absent at the end. A page may be short and still have one."""


class Deleting(WireModel):
    """The session is gone for everybody; what it has stored is deleted in the next minutes."""

    ok: Literal[True]
    deleting: Literal[True]


class EventsPage(WireModel):
    """Events after a place in the log. Source: decision-protocol O-24."""

    events: Seq[EventEnvelope]
    next_after_seq: int
    """What to ask with next, as `after_seq`."""

    more: bool
    """There are events behind this page already."""


class ShownSecret(WireModel):
    """Where an agent's signing secret is; never the secret. Source: decision-protocol O-23."""

    secret_arn: Maybe[str] = None
    ssm: Maybe[str] = None
    env: Maybe[str] = None


class AgentView(AgentConfig):
    """An agent's definition under its id."""

    agent_id: AgentId
    worker: Maybe[str] = None
    decides: Maybe[Decides] = None
    worker_secret: Maybe[ShownSecret] = None


class AgentRow(WireModel):
    """An agent in a list."""

    agent_id: AgentId
    model: Maybe[str] = None
    updated_at: str


class AgentsPage(WireModel):
    """Agents of the tenant by their ids."""

    agents: Seq[AgentRow]
    cursor: Maybe[str] = None
    """Where the next page begins; absent at the end."""


class UploadTicket(WireModel):
    """Leave to store one file."""

    upload_id: str
    url: str
    """Where to `PUT` the bytes, once."""

    headers: dict[str, str]
    """Send all of them along: they are part of the signature."""

    expires_at: str
    """Until when `url` can be used."""

    file_url: str
    """What a message carries to mean this file."""


class UploadView(WireModel):
    """A file that was stored, and where to get it."""

    upload_id: str
    filename: str
    content_type: str
    size_bytes: int
    sha256: Maybe[str] = None
    """Of the file, in lower-case hex, where the uploader gave it."""

    file_url: str
    """What a message carries to mean this file."""

    url: str
    """Where to `GET` the bytes."""

    expires_at: str
    """Until when `url` can be used."""


class ErrorBody(WireModel):
    """Why a request was refused or failed; some codes bring more fields. Source: F-2, O-21."""

    model_config = ConfigDict(extra="allow")

    error: str
    """The same as `code`."""

    code: str
    message: str
    ok: Maybe[Literal[False]] = None
    """On the routes whose answers say `ok: true` for a call or a question: it is not."""

    hint: Maybe[str] = None
    """What to do instead."""

    error_description: Maybe[str] = None
    """On the routes that give tokens out and take them back: the same as `message`."""

    retry_after: Maybe[int] = None
    """With a 503: seconds to wait before the same request is sent again."""

    turn_id: Maybe[TurnId] = None
    """With `turn_already_active`: the open turn."""

    limit_bytes: Maybe[int] = None
    size_bytes: Maybe[int] = None
    required: Maybe[str] = None
    """With `insufficient_scope`, `insufficient_privilege`: what the route takes."""

    allow: Maybe[str] = None
    """With `method_not_allowed`: what the path takes."""

    candidates: Maybe[Seq[str]] = None
    """With `invalid_model`: those that are called nearly so."""

    reason: Maybe[str] = None
    """With `session_quarantined`: what could not be done."""

    at: Maybe[str] = None
    """With `session_quarantined`: since when."""
