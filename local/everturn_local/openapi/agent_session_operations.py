"""What the operations on sessions made for runs take and give."""

from __future__ import annotations

from typing import Final

from everturn.commands.agent_sessions import LOOKED_AT, MAX_MESSAGES
from everturn.protocol.runs.bodies import MessageBody, SessionBody
from everturn.protocol.runs.views import (
    AgentSessionMade,
    AgentSessionsPage,
    AgentSessionView,
    Replay,
    RunAccepted,
)
from everturn.protocol.views import Ok
from everturn.rejections import (
    InboxFull,
    InvalidId,
    InvalidRequest,
    SchemaViolation,
    SessionCancelled,
    SessionQuarantined,
    UnknownSession,
)
from everturn.surfaces.agent_session_routes import (
    DEFAULT_SESSIONS,
    MAX_OFFSET,
    PAGE_SESSIONS,
    STATUSES,
)
from everturn_local.openapi import run_examples
from everturn_local.openapi.run_operations import SPEC, UPLOADS
from everturn_local.openapi.shape import CURSOR, FLAG, Answer, Given, Spoken, limit_of

AGENT_SESSION_OPERATIONS: Final[dict[str, Spoken]] = {
    "create_agent_session": Spoken(
        "Make a session for runs",
        "Its spec is what its runs fall back to. No run begins.",
        (Answer(201, "It is there.", AgentSessionMade, run_examples.SESSION_MADE),),
        body=SessionBody,
        bodies=(("for a customer", run_examples.SESSION_WANTED),),
        refusals=SPEC,
    ),
    "list_agent_sessions": Spoken(
        "List sessions made for runs",
        "The last used first. A client token sees its owner's alone. "
        f"At most {LOOKED_AT} sessions of the workspace are looked at; `total` counts among those.",
        (Answer(200, "A page of sessions.", AgentSessionsPage, run_examples.SESSIONS),),
        takes=(
            Given(
                "metadata",
                "`key:value` that a session is to have; may be repeated, and all have to fit.",
                {"type": "array", "items": {"type": "string", "pattern": "^[^:]+:"}},
            ),
            Given("status", "Sessions of this status only.", {"enum": [*STATUSES]}),
            limit_of("sessions", PAGE_SESSIONS, DEFAULT_SESSIONS),
            Given(
                "offset",
                "How many to leave out.",
                {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET},
            ),
            Given("cursor", "The `nextCursor` of the page before.", CURSOR.schema),
        ),
        refusals=(InvalidRequest, SchemaViolation, InvalidId),
    ),
    "get_agent_session": Spoken(
        "Read a session made for runs",
        "Its settings and the newest messages.",
        (Answer(200, "The session.", AgentSessionView, run_examples.SESSION),),
        refusals=(UnknownSession, SessionQuarantined),
    ),
    "replay_agent_session": Spoken(
        "Read a session's conversation as frames",
        f"The newest {MAX_MESSAGES} messages at most, oldest first.",
        (Answer(200, "A page of frames.", Replay, run_examples.REPLAY),),
        takes=(
            Given("full", "All that there are; wins over `lastMessages`.", FLAG),
            Given(
                "lastMessages",
                "The newest ones only.",
                {"type": "integer", "minimum": 1, "maximum": MAX_MESSAGES},
            ),
            Given("beforeSeq", "Older ones than this.", {"type": "integer", "minimum": 1}),
        ),
        refusals=(SchemaViolation, UnknownSession, SessionQuarantined),
    ),
    "send_message": Spoken(
        "Begin a run in a session",
        "What the body says holds for this run alone. While another one is open, it waits.",
        (Answer(202, "The run is recorded.", RunAccepted, run_examples.ACCEPTED),),
        body=MessageBody,
        bodies=run_examples.RUNS[:1],
        refusals=(
            *SPEC,
            UPLOADS,
            UnknownSession,
            SessionCancelled,
            SessionQuarantined,
            InboxFull,
        ),
    ),
    "end_agent_session": Spoken(
        "End a session",
        "For good, and its runs with it; it can still be read. Once more changes nothing.",
        (Answer(200, "It has ended.", Ok, {"ok": True}),),
        refusals=(UnknownSession, SessionQuarantined),
    ),
}
