"""Sub-agent calls: opens them, starts them, hears what became of the child; starts no session.

Source: decision-protocol, section 15.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from everturn.protocol.limits import MAX_SPAWN_DEPTH
from everturn.session.decide.requests import made_by
from everturn.session.decide.tool_result import report_end
from everturn.session.events.children import (
    ErroredPrivate,
    SubAgentDispatched,
    SubAgentErrored,
    SubAgentInterrupted,
    SubAgentPrivate,
    SubAgentRequested,
    SubAgentStarted,
    SubAgentTurnCompleted,
)
from everturn.session.events.shape import Retry
from everturn.session.journal import Journal
from everturn.session.mail_commands import (
    ChildDone,
    ChildFailed,
    ChildPaused,
    HearChild,
    NoteStart,
    StartFailed,
)
from everturn.session.refs import Ref, same_as
from everturn.session.retries import START_RETRY, max_attempts, wait_ms
from everturn.session.state import Call, CallStatus

TOO_DEEP = f"a session below {MAX_SPAWN_DEPTH} others starts no sub-agents; do the task yourself"
"""Source: decision-protocol B-4."""


def spawn(journal: Journal, action: Mapping[str, Any]) -> None:
    """Open the call of a `sub_agent.spawn`, unless its id was asked for before.

    A session that is too deep fails it at once. Source: B-1, B-4, X-6.
    """
    call_id = action["tool_call_id"]
    if journal.was_asked(call_id):
        return
    retry = action.get("retry")
    journal.add(
        SubAgentRequested(
            turn_id=journal.turn_id,
            id=call_id,
            session_id=action["session_id"],
            agent_id=action["agent_id"],
            retry=Retry(**retry) if retry else START_RETRY,
            anchor=journal.anchor,
            private=SubAgentPrivate(llm_call_id=made_by(journal, call_id)[0]),
        )
    )
    if len(journal.session.ancestry) >= MAX_SPAWN_DEPTH:
        refused = StartFailed(TOO_DEEP, None, retryable=False, detail={"reason": "too_deep"})
        _fail_start(journal, journal.session.calls[-1], refused, attempt=1)


def start_children(journal: Journal) -> None:
    """Have the children started that may be; none while the path is paused. Source: P-6."""
    for call in journal.session.calls:
        is_new = call.kind == "sub_agent" and call.status is CallStatus.QUEUED
        if is_new and not journal.session.is_paused:
            dispatch_child(journal, call)


def dispatch_child(journal: Journal, call: Call) -> None:
    """Begin the next attempt to start a child; its clock runs from here."""
    timeout_s = call.retry.timeout_secs
    journal.add(
        SubAgentDispatched(
            turn_id=call.turn_id or None,
            id=call.id,
            session_id=call.session_id,
            agent_id=call.name,
            attempt=call.attempt + 1,
            deadline_ms=journal.now_ms + round(timeout_s * 1000) if timeout_s else None,
        )
    )


def note_start(journal: Journal, command: NoteStart) -> None:
    """Note that a child is there, or why it is not; an attempt that is over changes nothing."""
    call = journal.session.call(command.call_id)
    if call is None or call.is_started or call.attempt != command.attempt:
        return
    if call.status is not CallStatus.PENDING:
        return
    if command.failure is not None:
        _fail_start(journal, call, command.failure)
        return
    max_ms = round(command.max_run_s * 1000) if command.max_run_s else None
    _started(journal, call, journal.now_ms + max_ms if max_ms else None)


def _started(journal: Journal, call: Call, deadline_ms: int | None = None) -> None:
    journal.add(
        SubAgentStarted(
            turn_id=call.turn_id or None,
            id=call.id,
            session_id=call.session_id,
            agent_id=call.name,
            attempt=call.attempt,
            deadline_ms=deadline_ms,
        )
    )


def _fail_start(
    journal: Journal, call: Call, failure: StartFailed, *, attempt: int | None = None
) -> None:
    """Schedule the next attempt, or end the call. Source: R-3, B-9, B-11."""
    attempt = call.attempt if attempt is None else attempt
    policy = call.retry
    again = failure.retryable and attempt < max_attempts(policy)
    wait = wait_ms(policy.backoff_base_secs, policy.backoff_max_secs, attempt, None)
    errored = SubAgentErrored(
        turn_id=call.turn_id or None,
        id=call.id,
        session_id=call.session_id,
        agent_id=call.name,
        attempt=attempt,
        error=failure.error,
        code=failure.code,
        detail=failure.detail,
        retryable=again,
        next_attempt_at_ms=journal.now_ms + wait if again else None,
        private=ErroredPrivate(gives_up=not again and call.attempt > 0),
    )
    seq = journal.add(errored)
    if not again:
        report_end(journal, call, failure.error, seq, "error", call.id, is_error=True)


def lapse_child(journal: Journal, call: Call) -> None:
    """End what took too long: an attempt to start the child, or the child's run. Source: B-11."""
    if call.is_started:
        error = f"the session {call.session_id} ran into the longest time that a child may take"
        failure = StartFailed(error, "deadline_exceeded", retryable=False)
    else:
        error = f"attempt {call.attempt} passed its deadline"
        failure = StartFailed(error, "deadline_exceeded", retryable=True)
    _fail_start(journal, call, failure)


def hear_child(journal: Journal, command: HearChild) -> bool:
    """Take in what became of a child; whoever is not waited for changes nothing.

    Returns whether its call has ended. Source: B-7 to B-10.
    """
    call = journal.session.call(command.call_id)
    if call is None or call.kind != "sub_agent" or call.session_id != command.child_id:
        return False
    if not call.is_started:
        _started(journal, call)
    match command.report:
        case ChildPaused(interrupt_id=interrupt_id, reason=reason):
            if call.interrupt_id != interrupt_id:
                _paused(journal, call, interrupt_id, reason)
            return False
        case ChildDone() as done:
            _done(journal, call, done)
        case ChildFailed() as failed:
            _failed(journal, call, failed)
        case _:
            assert_never(command.report)
    return True


def _paused(journal: Journal, call: Call, interrupt_id: str, reason: str) -> None:
    journal.add(
        SubAgentInterrupted(
            turn_id=call.turn_id or None,
            id=call.id,
            session_id=call.session_id,
            interrupt_id=interrupt_id,
            reason=reason,
        )
    )


def _done(journal: Journal, call: Call, done: ChildDone) -> None:
    seq = journal.add(
        SubAgentTurnCompleted(
            turn_id=call.turn_id or None,
            id=call.id,
            session_id=call.session_id,
            agent_id=call.name,
            result=done.result,
            cost=done.cost,
            usage=done.usage,
        )
    )
    report_end(journal, call, done.result, seq, "result", call.id)


def _failed(journal: Journal, call: Call, failed: ChildFailed) -> None:
    seq = journal.add(
        SubAgentErrored(
            turn_id=call.turn_id or None,
            id=call.id,
            session_id=call.session_id,
            agent_id=call.name,
            attempt=max(call.attempt, 1),
            error=failed.error,
            code=failed.code,
            detail=failed.detail,
            retryable=False,
            cost=failed.cost,
            usage=failed.usage,
        )
    )
    report_end(journal, call, failed.error, seq, "error", call.id, is_error=True)


Refs = dict[str, Ref]


def result_place(seq: int, event: SubAgentTurnCompleted | SubAgentErrored) -> Refs:
    """Return where the text of an ended call stands, for a message that repeats it."""
    field = "result" if isinstance(event, SubAgentTurnCompleted) else "error"
    return {"message.content": same_as(seq, field)}
