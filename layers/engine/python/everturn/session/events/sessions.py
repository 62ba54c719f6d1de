"""Events of a session and of its turns and steps."""

from __future__ import annotations

from typing import Final, Literal

from everturn.session.events.shape import Json, Part, Stored, Usage

TurnOutcome = Literal[
    "done", "failed", "cancelled", "steered", "blocked", "quiescent", "abandoned", "interrupted"
]
"""How a turn can end. Source: vocabulary, "Session and turn"."""


CancelCause = Literal["user", "parent"]
"""On whose behalf a turn or a session is stopped. Source: session-log CA-1."""


class Owner(Part):
    """Who a session belongs to, without the tenant. Source: decision-protocol S-2."""

    id: str
    metadata: dict[str, str] | None = None


DEFAULT_OWNER: Final = Owner(id="default")
"""Whom an API key acts for that names nobody. Source: decision-protocol O-13."""


class SessionHeader(Part):
    """Facts beside the log that never change. Source: session-log LG-7."""

    delegation_depth: int = 0
    decides: Literal["engine", "worker"] = "engine"


class Parent(Part):
    """Whose child a session is. Source: decision-protocol E-7."""

    session_id: str
    tool_call_id: str


class SessionCreated(Stored):
    """The first event of every log."""

    type: Literal["session.created"] = "session.created"
    session_id: str
    agent_id: str
    owner: Owner
    ancestry: tuple[str, ...] = ()
    """From the root session to the direct parent. Source: decision-protocol Q-7."""

    parent: Parent | None = None
    private: SessionHeader = SessionHeader()


class StartedPrivate(Part):
    """Where the settings stand that the turn was asked for with."""

    run_seq: int = 0
    """The `run.requested` that asked for it; 0 where none did."""


class TurnStarted(Stored):
    """A submit was accepted."""

    type: Literal["turn.started"] = "turn.started"
    reason: Literal["submit", "message", "late_finish"] = "submit"
    input_type: str | None = None
    stream: bool = False
    private: StartedPrivate = StartedPrivate()


class TurnAdmitted(Stored):
    """The prompt passed admission and got its number. Source: session-log section 3."""

    type: Literal["turn.admitted"] = "turn.admitted"
    turn: int
    trigger: str


class TurnContinued(Stored):
    """Another input went on with the open turn; its id is a further name of that turn."""

    type: Literal["turn.continued"] = "turn.continued"
    alias: str


class TurnCancelRequested(Stored):
    """Somebody stops the turn; its end follows in the same commit. Source: session-log CA-4."""

    type: Literal["turn.cancel_requested"] = "turn.cancel_requested"
    cause: CancelCause


class TurnStalled(Stored):
    """Nothing is in flight and nothing will happen by itself. Source: decision-protocol T-9."""

    type: Literal["turn.stalled"] = "turn.stalled"


class TurnFailure(Part):
    """Why a turn failed: a sentence, and the code of the failure where there is one."""

    message: str
    code: str | None = None
    detail: Json = None


class TurnParked(Stored):
    """Another turn opens beside a pause: this one stays behind it. Source: T-3.3, T-13."""

    type: Literal["turn.parked"] = "turn.parked"


class TurnUnparked(Stored):
    """The head is back on the paused branch: its turn is open again. Source: T-13."""

    type: Literal["turn.unparked"] = "turn.unparked"


class TurnCompleted(Stored):
    """A turn ended, exactly once. Source: decision-protocol T-6, T-7."""

    type: Literal["turn.completed"] = "turn.completed"
    outcome: TurnOutcome
    data: Json = None
    error: TurnFailure | None = None
    truncated: bool | None = None
    cost: str = "0"
    sub_agent_cost: str = "0"
    usage: Usage = Usage()


class SessionDone(Stored):
    """Follows a turn that ended through `done`. Source: decision-protocol T-14."""

    type: Literal["session.done"] = "session.done"


class SessionCancelled(Stored):
    """The session is over for good: it takes no input any more. Source: decision-protocol S-8."""

    type: Literal["session.cancelled"] = "session.cancelled"
    cause: CancelCause | None = None


class StepStarted(Stored):
    """One attempt of one conversation model call was dispatched. Source: session-log TS-3."""

    type: Literal["step.started"] = "step.started"
    step: int
    call_id: str
    attempt: int


class StepEnded(Stored):
    """The step's reply and all that it asked for are recorded, or its attempt failed."""

    type: Literal["step.ended"] = "step.ended"
    step: int
    call_id: str
    attempt: int
