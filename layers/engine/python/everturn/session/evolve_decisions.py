"""What the events of decisions do to a session; it decides nothing and refuses nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from everturn.session.events.decisions import (
    DecisionCompleted,
    DecisionDeferred,
    DecisionDispatched,
    DecisionDropped,
    DecisionErrored,
    DecisionQueued,
)
from everturn.session.state import Decision, Session


def with_decision_event(
    session: Session,
    event: DecisionQueued
    | DecisionDispatched
    | DecisionDeferred
    | DecisionCompleted
    | DecisionErrored
    | DecisionDropped,
) -> Session:
    """Return `session` as an event of a decision leaves it."""
    match event:
        case DecisionQueued():
            decision = Decision(
                id=event.id,
                trigger=event.trigger_type,
                seq=session.seq,
                call_id=event.call_id or "",
                turn_id=(event.turn_id or "") if session.decides == "worker" else "",
                leaves=event.private.leaves,
            )
            return replace(session, decisions=_in_line(session, decision))
        case DecisionDispatched():
            return _with_decision(session, event)
        case DecisionDeferred(id=decision_id):
            decisions = tuple(
                replace(one, status="deferred", may_have_started=True)
                if one.id == decision_id
                else one
                for one in session.decisions
            )
            return replace(session, decisions=decisions)
        case DecisionErrored(retryable=True):
            invalid = event.private.invalid
            decisions = tuple(
                replace(
                    one,
                    status="retry_scheduled",
                    strikes=one.strikes + 1 if invalid else 0,
                    may_have_started=one.may_have_started or event.private.may_have_started,
                    deadline_ms=None,
                    next_attempt_at_ms=event.next_attempt_at_ms,
                    by_machine=False,
                )
                if one.id == event.id
                else one
                for one in session.decisions
            )
            return replace(session, decisions=decisions)
        case DecisionErrored() | DecisionCompleted() | DecisionDropped():
            kept = tuple(one for one in session.decisions if one.id != event.id)
            return replace(session, decisions=kept)
        case _:
            assert_never(event)


def _in_line(session: Session, decision: Decision) -> tuple[Decision, ...]:
    """Return the decisions with a new one at the end; a resumed interrupt goes to the front.

    It stands behind those that are live, and behind interrupts resumed before it. D-16, I-9.
    """
    line = session.decisions
    if decision.trigger != "interrupt.resumed":
        return (*line, decision)
    at = next(
        (
            at
            for at, one in enumerate(line)
            if one.status == "queued" and one.trigger != "interrupt.resumed"
        ),
        len(line),
    )
    return (*line[:at], decision, *line[at:])


def _with_decision(session: Session, event: DecisionDispatched) -> Session:
    decisions = tuple(
        replace(
            one,
            status="live",
            attempt=event.attempt,
            dispatched_seq=one.dispatched_seq or session.seq,
            first_ms=one.first_ms or event.private.started_ms,
            deadline_ms=event.deadline_ms,
            next_attempt_at_ms=None,
            by_machine=event.private.by_machine,
        )
        if one.id == event.id
        else one
        for one in session.decisions
    )
    return replace(session, decisions=decisions)
