"""What the world should be doing for a session right now; whoever does it may be told twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from everturn.session.slots import has_room, may_go_live
from everturn.session.state import Call, CallStatus, Decision, Session, has_next

CROSSINGS: Final = 10
"""Children that are started at once, and entries of the outbox that are carried at once."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Run one attempt of a model call."""

    call_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class DeliverToWorker:
    """Send one delivery of a decision to the worker."""

    decision_id: str
    attempt: int
    call_id: str


@dataclass(frozen=True, slots=True)
class HandToMachine:
    """Have the step machine make one delivery; asked for twice it makes one all the same."""

    decision_id: str
    attempt: int
    call_id: str


@dataclass(frozen=True, slots=True)
class NoteLastWords:
    """Record what a model call had said that was voided under way."""

    call_id: str
    attempt: int
    seq: int
    """The event that asked for the call."""


@dataclass(frozen=True, slots=True)
class StartSubAgent:
    """Have a child session begin; one that is there has begun."""

    call_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SendOut:
    """Carry what is in the outbox to the session that it is for; it takes it once."""

    entry: int
    """The event that put it there."""


Effect = CallModel | DeliverToWorker | HandToMachine | NoteLastWords | StartSubAgent | SendOut


@dataclass(frozen=True, slots=True)
class Proposals:
    """What should run, and the earliest moment at which `Proceed` has something to do."""

    effects: tuple[Effect, ...]
    next_due_ms: int | None
    due_subject: str = ""
    """What is due then; names the timer."""

    is_ready: bool = False
    """`Proceed` has something to do at once."""

    @property
    def runs_here(self) -> bool:
        """Return whether a driver has anything to run itself, that would be lost with it."""
        return any(not isinstance(effect, HandToMachine) for effect in self.effects)


def propose(session: Session) -> Proposals:
    """Return what should be running. Model calls of one session run one at a time. Source: L-8."""
    models = [
        CallModel(call.id, call.attempt)
        for call in session.calls
        if call.kind == "llm_call" and call.handler == "server" and _runs(call)
    ]
    deliveries = [
        (HandToMachine if one.by_machine else DeliverToWorker)(one.id, one.attempt, one.call_id)
        for one in session.decisions
        if one.status == "live"
    ]
    dues = sorted(
        [_due(session, call) for call in session.calls]
        + [(_decision_due(one), f"{one.id}/{one.attempt}") for one in session.decisions]
        + [(session.wait_due_ms(one) or 0, one.id) for one in session.waits]
    )  # a live delivery keeps its own deadline: whoever sends it sees to that
    pending = [(due, subject) for due, subject in dues if due]
    due_ms, subject = pending[0] if pending else (None, "")
    last_words = [NoteLastWords(one.id, one.attempt, one.seq) for one in session.aborting]
    starts = [
        StartSubAgent(call.id, call.attempt)
        for call in session.calls
        if call.kind == "sub_agent" and _runs(call) and not call.is_started
    ]
    effects = (*last_words, *models[:1], *deliveries, *starts[:CROSSINGS], *_on_their_way(session))
    return Proposals(effects, due_ms, subject, _is_ready(session))


def _on_their_way(session: Session) -> list[SendOut]:
    """Return what can be carried: in order for each target, to a child once it is there. B-6."""
    first = {one.target: one for one in reversed(session.outbox)}
    held = {call.session_id for call in session.calls if not call.is_started and call.session_id}
    ready = [
        SendOut(one.seq)
        for one in session.outbox
        if first[one.target] is one and (one.kind != "message" or one.target not in held)
    ]
    return ready[:CROSSINGS]


def _decision_due(decision: Decision) -> int:
    if decision.status == "deferred":
        return decision.deadline_ms or 0
    return decision.next_attempt_at_ms or 0


def _is_ready(session: Session) -> bool:
    """Return whether something waits only for a driver to start it."""
    queued = [one for one in session.decisions if one.status == "queued"]
    if has_next(session) or any(may_go_live(session, one) for one in queued):
        return True
    tools = [c for c in session.calls if c.kind == "tool_call" and c.status is CallStatus.QUEUED]
    is_free = session.decides == "engine" and not session.is_paused  # P-6
    return is_free and any(has_room(session, call) for call in tools)


def _runs(call: Call) -> bool:
    return call.status is CallStatus.PENDING


def _due(session: Session, call: Call) -> tuple[int, str]:
    """Return when something is due for `call`, 0 for never, and a name for the timer."""
    moments = [call.deadline_ms, call.next_attempt_at_ms]
    if call.kind == "llm_call" and session.is_paused:
        moments = [call.deadline_ms]  # a budget pauses the path: P-6
    if call.kind == "tool_call" and not has_room(session, call):
        moments = [call.deadline_ms]  # its turn comes with the end of another delivery
    due = [moment for moment in moments if moment is not None]
    return min(due, default=0), f"{call.id}/{call.attempt}"


def due_epoch_s(session: Session, now_ms: int, runnable_s: int, before: int | None) -> int | None:
    """Return when `recovery` is to look after the session.

    Absent while nothing but people is awaited; `before` stays where it would move by ten minutes or
    less. Source: storage-and-commits, "Commits" 6.
    """
    proposals = propose(session)
    if proposals.runs_here or proposals.is_ready:
        due = now_ms // 1000 + runnable_s
    elif proposals.next_due_ms is not None:
        due = proposals.next_due_ms // 1000 + TIMER_GRACE_S
    else:
        return None
    return before if before is not None and abs(due - before) <= DUE_SLACK_S else due


TIMER_GRACE_S = 300
DUE_SLACK_S = 600
