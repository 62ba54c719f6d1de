"""What a session's log adds up to: ids, statuses and places, never bodies.

How it changes is `evolve`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal

from pydantic import TypeAdapter

from everturn.session.events.interrupts import Origin
from everturn.session.events.shape import Retry, Usage
from everturn.session.events.tool_calls import Effect
from everturn.session.events.tree import Stretch
from everturn.session.events.waits import WaitKind
from everturn.session.guard_counts import Guard
from everturn.session.mailbox import Outgoing, Parent, Waiting

WINDOW_MARKS: Final = 16
"""How many turn starts the head remembers as places where the model's window may begin."""


class CallStatus(StrEnum):
    """Where a call is. Source: decision-protocol section 11, lifecycle."""

    QUEUED = "queued"
    PENDING = "pending"
    RETRY_SCHEDULED = "retry_scheduled"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest message of the active path."""

    id: str
    seq: int
    branch: int = 0
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """A turn's first message, and how many bytes of messages the path held before it."""

    seq: int
    before_bytes: int


@dataclass(frozen=True, slots=True)
class Window:
    """The newest part of the path, as much as a model is shown: whole turns, from `from_seq` on."""

    from_seq: int = 1
    from_bytes: int = 0
    total_bytes: int = 0
    """All messages of the path, together."""

    marks: tuple[Mark, ...] = ()
    """Places where it may begin later, oldest first."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What model calls have used. Source: decision-protocol Y-1, Y-2."""

    cost: str = "0"
    """US dollars, a decimal string."""

    tokens: int = 0
    """All disjoint counts together."""

    def plus(self, usage: Usage | None, cost: str | None) -> Spent:
        """Return the sum with what one more attempt reported."""
        return self.add(Spent(cost or "0", usage.tokens if usage else 0))

    def add(self, other: Spent) -> Spent:
        """Return the sum."""
        total = format(Decimal(self.cost) + Decimal(other.cost), "f")
        return Spent(total, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class Turn:
    """The open turn."""

    id: str
    number: int
    first_seq: int
    stream: bool = False
    step: int = 0
    step_call: str = ""
    step_attempt: int = 0
    model_calls: int = 0
    stalled: bool = False
    truncated: bool = False
    usage: Usage = field(default_factory=Usage)
    cost: str = "0"
    """Of its own calls and of its children's turns. Source: decision-protocol Y-3."""

    sub_agent_cost: str = "0"
    run_seq: int = 0
    """The event with the settings that it was asked for with; 0 for none of its own."""

    guard: Guard = field(default_factory=Guard)
    is_final: bool = False
    """A guard took the tools away: what the model says next is its last word."""

    rejected: int = 0
    """Final replies so far that broke the output schema. Source: field case F26."""

    fallbacks: int = 0
    """Models that failed for good so far."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has not ended."""

    id: str
    kind: Literal["llm_call", "tool_call", "sub_agent"]
    seq: int
    """The event that asked for it."""

    retry: Retry
    status: CallStatus = CallStatus.QUEUED
    attempt: int = 0
    """The running attempt, or the last one; 0 before the first."""

    name: str = ""
    """The tool's, or of a sub-agent call the agent's id."""

    handler: Literal["server", "worker", "client"] = "server"
    depth: int = 0
    branch: int = 0
    effect: Effect | None = "unclassified"
    overlap: bool = False
    is_serial: bool = False
    """Of a client's tool: its turn comes once those before it are answered."""

    stream: bool = False
    deadline_ms: int | None = None
    next_attempt_at_ms: int | None = None
    turn_id: str = ""
    questions: int = 0
    """What it has asked so far, over all its attempts."""

    session_id: str = ""
    """Of a sub-agent call: the child."""

    is_started: bool = False
    """The child is there. Source: decision-protocol B-6."""

    interrupt_id: str = ""
    """The newest pause of the child that was heard of."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What an open call waits for: it pauses nothing, and holds no place. Source: vocabulary."""

    id: str
    kind: WaitKind
    call_id: str
    seq: int
    """The event that opened it: it has the question."""

    deadline_ms: int | None = None
    """Of a question: when nobody has answered it."""

    interval_s: float = 0
    next_poll_ms: int | None = None
    """Of a task: when the worker is asked how far it is, unless it is being asked."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A question to a worker that has not been answered."""

    id: str
    trigger: str
    seq: int
    call_id: str = ""
    turn_id: str = ""
    """Where a worker decides: the turn that it belongs to, none for `session.start`. T-11."""

    status: Literal["queued", "live", "deferred", "retry_scheduled"] = "queued"
    """`deferred`: the worker has it and answers by `workers/submit`. Source: D-7."""

    attempt: int = 0
    strikes: int = 0
    """Invalid answers in a row. Source: decision-protocol D-8."""

    leaves: bool = False
    """An input that leaves the paused path, which therefore does not hold it. Source: D-16."""

    may_have_started: bool = False
    """A delivery failed after which the work may have begun."""

    dispatched_seq: int = 0
    """The first delivery: it holds what every redelivery is rebuilt from."""

    first_ms: int = 0
    deadline_ms: int | None = None
    next_attempt_at_ms: int | None = None
    by_machine: bool = False
    """The step machine makes the delivery that is live. Source: architecture, section 2."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """An interrupt that is open. Source: decision-protocol I-1."""

    id: str
    seq: int
    """The event that raised it: it has the reason and the payload."""

    origin: Origin
    turn_id: str = ""
    subject_call: str = ""
    branch: int = 0
    depth: int | None = None
    """Where it is anchored; without a depth it pauses every branch. Source: I-3."""

    is_here: bool = True
    """Whether that is on the active path."""


@dataclass(frozen=True, slots=True)
class Aborting:
    """A model call that was voided while it ran, and whose last words are not recorded yet."""

    id: str
    attempt: int
    seq: int
    """The event that asked for it."""

    turn_id: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """A session, folded. The empty one (`seq` 0) stands for a log without events."""

    session_id: str = ""
    agent_id: str = ""
    owner_id: str = ""
    decides: Literal["engine", "worker"] = "engine"
    seq: int = 0
    head: Head | None = None
    branches: int = 0
    """The number of the newest branch."""

    branch: int = 0
    """The one that messages are written to."""

    branch_seq: int = 1
    """The event with which it begins."""

    stretches: tuple[Stretch, ...] = ()
    """What the path consists of before this branch, as far back as the model's window."""

    is_cut: bool = False
    """The path has older stretches; they stand in the event with which the branch begins."""

    window: Window = field(default_factory=Window)
    turns: int = 0
    """Turn numbers given so far."""

    turn: Turn | None = None
    parked: tuple[Turn, ...] = ()
    """Turns that wait behind a pause of another branch. Source: decision-protocol T-13."""

    last_outcome: str = ""
    agent_seq: int = 0
    agent_sha: str = ""
    state_seq: int = 0
    header_seq: int = 0
    header_sha: str = ""
    route: str = ""
    """`provider/model/window` of the last `request.context`."""

    calls: tuple[Call, ...] = ()
    """In the order they were asked for."""

    decisions: tuple[Decision, ...] = ()
    """In the order they were queued, resumed interrupts in front."""

    interrupts: tuple[Interrupt, ...] = ()
    """Those that are open, oldest first."""

    aborting: tuple[Aborting, ...] = ()
    is_cancelled: bool = False
    """For good. Source: decision-protocol S-7, S-8."""
    spent: Spent | None = None
    """By all model calls since the config has a session budget; nothing before. Source: Y-4."""
    waits: tuple[Wait, ...] = ()
    """Those that are open, oldest first; each is an open call's."""
    parent: Parent | None = None
    ancestry: tuple[str, ...] = ()
    """From the root session to the direct parent. Source: decision-protocol Q-7."""
    children: int = 0
    """Sub-agents that it may have started so far."""
    has_reported: bool = False
    """Of a child: its first turn is over, and nothing later concerns its parent. Source: B-13."""
    inbox: tuple[Waiting, ...] = ()
    """Oldest first."""
    outbox: tuple[Outgoing, ...] = ()
    """Oldest first."""

    @property
    def pauses(self) -> tuple[Interrupt, ...]:
        """The interrupts that pause the active path. Source: decision-protocol I-3."""
        return tuple(one for one in self.interrupts if one.is_here)

    @property
    def is_paused(self) -> bool:
        """Whether an interrupt pauses the active path."""
        return bool(self.pauses)

    def call(self, call_id: str) -> Call | None:
        """Return the open call with that id, if there is one."""
        return next((call for call in self.calls if call.id == call_id), None)

    def decision(self, decision_id: str) -> Decision | None:
        """Return the unanswered decision with that id, if there is one."""
        return next((one for one in self.decisions if one.id == decision_id), None)

    def wait(self, wait_id: str) -> Wait | None:
        """Return the open wait with that id, if there is one."""
        return next((one for one in self.waits if one.id == wait_id), None)

    def waits_of(self, call_id: str, kind: WaitKind) -> tuple[Wait, ...]:
        """Return the open waits of a kind that a call has: one at most."""
        return tuple(one for one in self.waits if one.call_id == call_id and one.kind == kind)

    def wait_due_ms(self, wait: Wait) -> int | None:
        """Return when something is due about a wait; never while its call is asked about."""
        if wait.kind == "question":
            return wait.deadline_ms
        asked = any(one.call_id == wait.call_id for one in self.decisions)
        return None if asked or self.waits_of(wait.call_id, "question") else wait.next_poll_ms

    @property
    def charged(self) -> tuple[str, ...]:
        """The ancestors that pay for the open turn: none for a turn that nobody waits for. B-13."""
        return () if self.has_reported else self.ancestry

    @property
    def is_held(self) -> bool:
        """Whether a budget pauses the path: the system pauses for nothing else. Source: Y-4."""
        return any(one.origin == "system" for one in self.interrupts)

    @property
    def pending_calls(self) -> int:
        """Tool and sub-agent calls that have not ended. Source: decision-protocol Q-4."""
        return sum(call.kind != "llm_call" for call in self.calls)


SESSION: TypeAdapter[Session] = TypeAdapter(Session)


Status = Literal["cancelled", "interrupted", "active", "idle", "done"]


def is_on(stretches: tuple[Stretch, ...], branch: int, depth: int) -> bool:
    """Return whether a place in the tree is on a path that consists of `stretches`."""
    return any(one.branch == branch and depth <= one.upto_depth for one in stretches)


def status_of(session: Session) -> Status:
    """Return the protocol's status. Source: decision-protocol S-6, first match wins."""
    if session.is_cancelled:
        return "cancelled"
    if session.is_paused:
        return "interrupted"
    if session.turn is None:
        return "done" if session.last_outcome == "done" else "idle"
    asking = {one.call_id for one in session.waits if one.kind == "question"}
    busy = session.decisions or any(
        call.handler != "client" and call.id not in asking for call in session.calls
    )
    return "active" if busy else "idle"


def has_next(session: Session) -> bool:
    """Return whether a message of the inbox may open its turn. Source: decision-protocol B-14."""
    is_free = session.turn is None or is_quiescent(session)
    wakes = any(one.wakes for one in session.inbox)  # IB-2: the others are taken on the way
    return wakes and is_free and not session.is_paused and not session.is_cancelled


def is_quiescent(session: Session) -> bool:
    """Return whether the open turn waits for nothing. Source: decision-protocol T-9."""
    held = session.decisions or session.calls or session.is_paused
    return session.turn is not None and not held
