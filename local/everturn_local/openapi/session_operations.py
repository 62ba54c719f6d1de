"""What the operations on sessions take and give."""

from __future__ import annotations

from typing import Final

from everturn.commands.list_sessions import DEFAULT_SESSIONS, LOOKED_AT, PAGE_SESSIONS, STATUSES
from everturn.commands.read_events import DEFAULT_PAGE_EVENTS, PAGE_EVENTS, WAIT_S
from everturn.protocol.client_input import InputRequest
from everturn.protocol.views import (
    Accepted,
    Continued,
    Deleting,
    EventsPage,
    Ok,
    SessionsPage,
    SessionView,
)
from everturn.rejections import (
    AgentMismatch,
    CallNotOpen,
    EmptyMessages,
    InsufficientPrivilege,
    InvalidId,
    InvalidMessage,
    NotYetSupported,
    RoleNotAllowed,
    SchemaViolation,
    SessionCancelled,
    SessionDeleting,
    SessionInterrupted,
    SessionQuarantined,
    StaleAttempt,
    TurnAlreadyActive,
    UnknownAgent,
    UnknownCall,
    UnknownInput,
    UnknownSession,
    UnknownTurn,
    WrongHandler,
)
from everturn_local.openapi import examples
from everturn_local.openapi.shape import (
    BODY,
    CURSOR,
    EVENT_STREAM,
    FLAG,
    IDENTIFIER,
    SEQ,
    Answer,
    Given,
    Spoken,
    limit_of,
)

SESSION_OPERATIONS: Final[dict[str, Spoken]] = {
    "submit_input": Spoken(
        "Send an input into a session",
        "Records the input and answers; the turn then goes on by itself. An unused `session_id` "
        "begins a session. The same `turn_id` again changes nothing.",
        (
            Answer(202, "The input is recorded.", Accepted, examples.ACCEPTED),
            Answer(202, "An input that opens no turn is.", Continued, examples.RESUMED),
        ),
        body=InputRequest,
        bodies=examples.INPUTS,
        refusals=(
            *BODY,
            InvalidId,
            InvalidMessage,
            EmptyMessages,
            NotYetSupported,
            UnknownAgent,
            UnknownSession,
            RoleNotAllowed,
            AgentMismatch,
            SessionDeleting,
            TurnAlreadyActive,
            SessionQuarantined,
            UnknownInput,
            SessionInterrupted,
            SessionCancelled,
            UnknownCall,
            WrongHandler,
            CallNotOpen,
            StaleAttempt,
            InsufficientPrivilege,
        ),
    ),
    "list_sessions": Spoken(
        "List sessions",
        "The newest last turn first; of one owner, the newest session first. A client token sees "
        f"its owner's alone. A page looks at {LOOKED_AT} sessions at most.",
        (Answer(200, "A page of sessions.", SessionsPage, examples.SESSIONS),),
        takes=(
            Given("agent_id", "Sessions of this agent only.", IDENTIFIER),
            Given("status", "Sessions of this status only.", {"type": "string", "enum": STATUSES}),
            Given("owner", "Sessions of this owner only.", IDENTIFIER),
            limit_of("sessions", PAGE_SESSIONS, DEFAULT_SESSIONS),
            CURSOR,
        ),
        refusals=(SchemaViolation, InvalidId),
    ),
    "get_session": Spoken(
        "Read a session",
        "The state of the session and the newest messages of its path.",
        (Answer(200, "The session.", SessionView, examples.SESSION),),
        takes=(
            Given("tree", "Show the messages as a tree, too.", FLAG),
            Given(
                "before",
                "Show the messages before this event; `before_seq` of an answer goes here.",
                {"type": "integer", "minimum": 1},
            ),
        ),
        refusals=(SchemaViolation, UnknownSession, SessionQuarantined),
    ),
    "delete_session": Spoken(
        "Delete a session",
        "From then on it is gone for everybody, and its id can be used again once all of it is "
        "deleted. What runs is dropped.",
        (
            Answer(200, "All of it is deleted.", Ok, {"ok": True}),
            Answer(202, "It is gone, and the rest follows.", Deleting, examples.DELETING),
        ),
        refusals=(UnknownSession,),
    ),
    "read_events": Spoken(
        "Read or follow the events of a session",
        "A page of JSON or, where `text/event-stream` is accepted, a stream: its frames are named "
        "after the event's type and hold an `EventEnvelope`, or `llm.token.delta` and hold a "
        f"`TokenDelta`. A stream that has nothing to tell waits up to {WAIT_S:g} s; then it "
        "closes, and the client comes back with the last `id` as `Last-Event-ID`.",
        (
            Answer(200, "Events after a place in the log.", EventsPage, examples.EVENTS_PAGE),
            Answer(200, "Events as they come.", example=examples.STREAM, media=EVENT_STREAM),
            Answer(204, "Of a stream of one turn: everything was seen; do not come back."),
        ),
        takes=(
            Given(
                "after_seq",
                "Begin behind this event; a stream also takes a cursor here.",
                {"oneOf": [SEQ, {"type": "string", "pattern": r"^\d{1,15}\.\d{1,15}-\d{1,9}$"}]},
            ),
            limit_of("events", PAGE_EVENTS, DEFAULT_PAGE_EVENTS),
            Given("turn_id", "Events of this turn only.", {"type": "string"}),
            Given("requests", "In a page, show what each model call was sent.", FLAG),
            Given(
                "Last-Event-ID",
                "The cursor of the last frame seen; wins over `after_seq`.",
                {"type": "string"},
                "header",
            ),
        ),
        refusals=(
            SchemaViolation,
            InvalidId,
            InsufficientPrivilege,
            UnknownSession,
            UnknownTurn,
            SessionQuarantined,
        ),
    ),
}
