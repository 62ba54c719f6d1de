"""How a tool call ends, and how its result enters the conversation.

It must not decide which calls may start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from everturn.protocol.ids import uuid5_in
from everturn.session.commands import ToolRefused
from everturn.session.decide.closed_waits import close_waits
from everturn.session.decide.model_call import open_model_call
from everturn.session.decide.questions import (
    attempt_deadline_ms,
    drop_questions_about,
    queue_finished,
)
from everturn.session.decide.turn_end import end_step
from everturn.session.events.decisions import DecisionCompleted, DecisionDropped, DecisionQueued
from everturn.session.events.messages import MessageSource
from everturn.session.events.tool_calls import (
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallErrored,
)
from everturn.session.journal import Journal
from everturn.session.refs import same_as
from everturn.session.retries import max_attempts, may_repeat, wait_ms
from everturn.session.state import Call, Decision

NOT_STARTED: Final = "Not started: "
"""How the error of a tool call begins that certainly never ran. Source: agent-session 6."""

CLIENT_LAPSED: Final = "Timed out waiting for the client's tool result"
"""What a model reads of a tool that its client did not answer in time. Source: agent-runs 5."""

OUTCOME_UNKNOWN: Final = (
    "The outcome of this call is unknown: it was started, and its end was not seen. It may have "
    "taken effect. Find out before doing it again; it was not repeated."
)
"""Source: agent-session 6."""


def dispatch_tool_call(journal: Journal, call: Call) -> None:
    """Start the next attempt of a tool call; its clock runs from here."""
    journal.add(
        ToolCallDispatched(
            turn_id=journal.turn_id,
            id=call.id,
            attempt=call.attempt + 1,
            deadline_ms=attempt_deadline_ms(journal, call),
        )
    )


def finish_tool(
    journal: Journal,
    call: Call,
    text: str,
    decision_id: str,
    *,
    reports: bool = True,
    files: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Record a result, and what reports it: the tool message, or a question to the worker.

    `reports` is false for a client's answer that its own view already tells (U-7). `files` are
    content parts that the model is shown with the text, where the engine decides.
    """
    close_waits(journal, call.id, has_ended=True)
    seq = journal.add(
        ToolCallCompleted(
            turn_id=journal.turn_id,
            id=call.id,
            name=call.name,
            attempt=call.attempt,
            result=text,
        )
    )
    spoken = [{"type": "text", "text": text}] if text else []  # providers refuse an empty one
    shown = [*spoken, *map(dict, files)] if files else text
    report_end(journal, call, shown, seq, "result", decision_id, reports=reports)


def fail_tool(
    journal: Journal,
    call: Call,
    refused: ToolRefused,
    *,
    decision_id: str = "",
    attempt: int | None = None,
    retry_after_s: float | None = None,
    reports: bool = True,
) -> None:
    """Record an error: another attempt follows, or the model reads it.

    Source: decision-protocol R-2, R-3, R-4, G-2.
    """
    attempt = call.attempt if attempt is None else attempt
    policy = call.retry
    again = refused.retryable and attempt < max_attempts(policy)
    wait = wait_ms(policy.backoff_base_secs, policy.backoff_max_secs, attempt, retry_after_s)
    close_waits(journal, call.id, has_ended=True)
    seq = journal.add(
        ToolCallErrored(
            turn_id=journal.turn_id,
            id=call.id,
            name=call.name,
            attempt=attempt,
            error=refused.error,
            code=refused.code,
            detail=refused.detail,
            retryable=again,
            next_attempt_at_ms=journal.now_ms + wait if again else None,
        )
    )
    if not again:
        told = decision_id or call.id
        report_end(journal, call, refused.error, seq, "error", told, is_error=True, reports=reports)


def outcome_unknown(journal: Journal, call: Call, decision_id: str) -> None:
    """End a call that must not be repeated and may have happened."""
    unknown = ToolRefused(OUTCOME_UNKNOWN, detail={"reason": "outcome_unknown"})
    fail_tool(journal, call, unknown, decision_id=decision_id)


def lapse_tool(journal: Journal, call: Call) -> None:
    """End an attempt that is over its deadline, and the delivery that carried it.

    Source: decision-protocol R-5, D-13, O-11; agent-session 6.
    """
    unsent = False
    for decision in journal.session.decisions:
        if decision.call_id == call.id:
            unsent = decision.status != "live" and never_started(call, decision)
            journal.add(
                DecisionDropped(turn_id=journal.turn_id, id=decision.id, reason="attempt_lapsed")
            )
    error = f"attempt {call.attempt} passed its deadline"
    if call.handler == "worker" and not may_repeat(call.effect):
        if not unsent:
            outcome_unknown(journal, call, "")
            return
        error = f"{NOT_STARTED}{error}"
    if call.handler == "client":
        error = CLIENT_LAPSED
    lapsed = ToolRefused(error, retryable=call.handler == "worker", code="deadline_exceeded")
    fail_tool(journal, call, lapsed)


def never_started(call: Call, decision: Decision) -> bool:
    """Return whether no delivery of `call` that failed so far can have begun the work."""
    asked = call.questions > 0 or decision.trigger == "tool.poll"
    return call.attempt <= 1 and not decision.may_have_started and not asked


def report_end(
    journal: Journal,
    call: Call,
    text: str | list[dict[str, Any]],
    seq: int,
    field: str,
    decision_id: str,
    *,
    is_error: bool = False,
    reports: bool = True,
) -> None:
    """Ask what the end of a call means, which event `seq` has; the engine answers as it proposes.

    `field` of that event is `text`, which the model reads; text with files stands in no event.
    Source: 8.5, 8.8, O-6, G-2.
    """
    trigger = "sub_agent.finished" if call.kind == "sub_agent" else "tool.finished"
    is_asked = journal.session.decides == "worker"
    drop_questions_about(journal, call.id, "call_settled")
    if is_asked and reports:
        queue_finished(journal, trigger, call, seq)
    if is_asked or not reports:
        return
    finished = journal.mint()
    turn_id = journal.turn_id
    journal.add(DecisionQueued(turn_id=turn_id, id=finished, trigger_type=trigger, call_id=call.id))
    journal.add(DecisionCompleted(turn_id=turn_id, id=finished))
    message = {
        "id": uuid5_in(journal.session.session_id, decision_id, call.id, str(call.attempt)),
        "role": "tool",
        "tool_call_id": call.id,
        "name": call.name,
        "content": text,
    }
    refs = {"message.content": same_as(seq, field)} if isinstance(text, str) else {}
    journal.write(message, MessageSource(kind="tool"), refs, is_error=is_error)


def write_result(journal: Journal) -> None:
    """Ask the model again once every call of the last reply has its result. Source: Q-4, TS-3."""
    turn = journal.session.turn
    if journal.session.is_paused:
        return  # P-6
    if turn is None or journal.session.calls or not turn.step_call:
        return
    end_step(journal)
    open_model_call(journal)
