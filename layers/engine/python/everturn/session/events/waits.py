"""Events of waits: a call is open and somebody else is awaited, a person or a task elsewhere."""

from __future__ import annotations

from typing import Literal

from everturn.session.events.shape import Json, Part, Stored

WaitKind = Literal["question", "task"]
"""What a call waits for. Source: architecture, section 1."""

WaitOutcome = Literal["answered", "declined", "deadline_passed", "finished", "withdrawn"]
"""Of a question the first three, of a task `finished`; `withdrawn`: the call ended without it."""


class WaitPrivate(Part):
    """What only the worker is told again."""

    continuation: Json = None
    """What it said with its question, or its task; none keeps what it said before."""


class WaitOpened(Stored):
    """A call waits: its siblings and its session go on. Source: agent-session.md 11, 12."""

    type: Literal["call.wait.opened"] = "call.wait.opened"
    id: str
    kind: WaitKind
    call_id: str
    name: str
    """The tool's."""

    question: str | None = None
    choices: tuple[str, ...] | None = None
    allows_free_text: bool | None = None
    deadline_ms: int | None = None
    """Of a question: when it is withdrawn by itself; none: never."""

    task_id: str | None = None
    poll_interval_seconds: float | None = None
    next_poll_at_ms: int | None = None
    private: WaitPrivate = WaitPrivate()


class WaitExtended(Stored):
    """A poll found that a task is not finished. Source: agent-session.md 12."""

    type: Literal["call.wait.extended"] = "call.wait.extended"
    id: str
    kind: WaitKind
    call_id: str
    poll_interval_seconds: float
    next_poll_at_ms: int
    private: WaitPrivate = WaitPrivate()


class WaitClosed(Stored):
    """The wait is over; what becomes of the call is another event's to say."""

    type: Literal["call.wait.closed"] = "call.wait.closed"
    id: str
    kind: WaitKind
    call_id: str
    outcome: WaitOutcome
    answer: str | None = None
    """Of a question: what the tool is told, the user's words or ours."""
