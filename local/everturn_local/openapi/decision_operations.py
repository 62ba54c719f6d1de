"""What the operations on calls, interrupts and questions take and give."""

from __future__ import annotations

from typing import Final

from everturn.protocol.outside import (
    CancelRequest,
    InterruptRequest,
    LateAnswer,
    Resolution,
    ResumeRequest,
    Settlement,
)
from everturn.protocol.views import Answered, Cancelled, Continued, Interrupting, Ok
from everturn.rejections import (
    CallNotOpen,
    DecisionNotLive,
    DoneWithInterrupt,
    DuplicateToolName,
    ForbiddenTarget,
    FormatRequiresWorker,
    InsufficientPrivilege,
    InvalidAnswer,
    InvalidHandler,
    InvalidId,
    InvalidLlmResponse,
    InvalidMessage,
    MissingCallId,
    ModelRequired,
    MultipleDone,
    NoActiveTurn,
    NotYetSupported,
    SessionCancelled,
    SessionQuarantined,
    StaleAttempt,
    TooManyCalls,
    UnknownCall,
    UnknownDecision,
    UnknownSession,
    UnknownTarget,
    UnknownTurn,
    UnknownWait,
    WrongHandler,
)
from everturn_local.openapi import examples
from everturn_local.openapi.shape import BODY, Answer, Spoken

SETTLING: Final = (
    *BODY,
    InvalidId,
    MissingCallId,
    UnknownCall,
    WrongHandler,
    InvalidLlmResponse,
    UnknownSession,
    SessionQuarantined,
)

DECISION_OPERATIONS: Final[dict[str, Spoken]] = {
    "settle_call": Spoken(
        "End a call",
        "Says how a call ended that a worker or a client runs, for whoever left it open. Without "
        "`attempt` the running attempt is meant.",
        (Answer(200, "It is recorded.", Ok, {"ok": True}),),
        body=Settlement,
        bodies=(("a result", examples.SETTLEMENT),),
        refusals=(*SETTLING, CallNotOpen, StaleAttempt, SessionCancelled),
    ),
    "interrupt_session": Spoken(
        "Pause a session",
        "Gives up the model calls under way and starts nothing more until it is resumed; tools "
        "that run go on.",
        (Answer(200, "It is paused.", Interrupting, examples.INTERRUPTED),),
        body=InterruptRequest,
        bodies=(("a question", examples.INTERRUPT),),
        refusals=(
            *BODY,
            InvalidId,
            NoActiveTurn,
            UnknownSession,
            SessionCancelled,
            SessionQuarantined,
        ),
    ),
    "resume_session": Spoken(
        "Let a paused session go on",
        "Clears one interrupt; one that is not open changes nothing.",
        (Answer(202, "It is recorded.", Continued, examples.RESUMED),),
        body=ResumeRequest,
        bodies=(("with an answer", examples.RESUME),),
        refusals=(
            *BODY,
            InvalidId,
            InsufficientPrivilege,
            UnknownSession,
            SessionCancelled,
            SessionQuarantined,
        ),
    ),
    "cancel_turn": Spoken(
        "Stop a turn",
        "Gives up what is under way at once: nobody is waited for. Named by its id, another name "
        "of it, or `turn-<n>` while it is open; one that has ended stays as it is.",
        (Answer(200, "It is stopped, or was over before.", Cancelled, examples.CANCELLED_TURN),),
        body=CancelRequest,
        needs_body=False,
        refusals=(*BODY, UnknownSession, UnknownTurn, SessionQuarantined),
    ),
    "cancel_session": Spoken(
        "End a session for good",
        "Stops what is open and takes no input from then on; what is recorded can still be read.",
        (Answer(200, "It is over.", Cancelled, examples.CANCELLED),),
        body=CancelRequest,
        needs_body=False,
        refusals=(*BODY, UnknownSession, SessionQuarantined),
    ),
    "resolve_wait": Spoken(
        "Answer what a call waits for",
        "Answers a question that a tool asked its user, or declines to. The id is that of a wait, "
        "as the session and the event `call.wait.opened` have it. One that is over stays as it is.",
        (Answer(200, "It is recorded, or the question was over.", Answered, {"ok": True}),),
        body=Resolution,
        bodies=(("an answer", examples.RESOLUTION), ("a decline", examples.DECLINE)),
        refusals=(
            *BODY,
            InvalidAnswer,
            UnknownSession,
            UnknownWait,
            SessionCancelled,
            SessionQuarantined,
        ),
    ),
    "submit_answer": Spoken(
        "Answer a question later",
        "For workers that answered a delivery with 202. Ids of calls, and the model of an "
        "`llm.call`, have to be named.",
        (Answer(200, "It is applied, or the question was over.", Answered, {"ok": True}),),
        body=LateAnswer,
        bodies=(("a result", examples.LATE_ANSWER),),
        refusals=(
            *SETTLING,
            InvalidMessage,
            InvalidHandler,
            FormatRequiresWorker,
            DuplicateToolName,
            ModelRequired,
            MultipleDone,
            DoneWithInterrupt,
            TooManyCalls,
            UnknownTarget,
            ForbiddenTarget,
            NotYetSupported,
            UnknownDecision,
            DecisionNotLive,
            CallNotOpen,
        ),
    ),
}
