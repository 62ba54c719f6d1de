"""Keeps calls open that wait for a person or a task, and goes on when that is over.

A wait holds no place and pauses nothing: only the question to the worker that follows does.
Source: agent-session.md 11 and 12; vocabulary, "Waits on a call".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, assert_never

from everturn.rejections import SchemaViolation
from everturn.session.commands import ResolveWait, ToolRefused
from everturn.session.decide.questions import queue
from everturn.session.decide.tool_result import fail_tool
from everturn.session.events.tool_calls import SettleIgnored
from everturn.session.events.waits import WaitClosed, WaitExtended, WaitOpened, WaitPrivate
from everturn.session.journal import Journal
from everturn.session.state import Call, CallStatus, Decision, Wait
from everturn.session.waiting import (
    HOLDS,
    Held,
    TaskBegun,
    TaskPending,
    UserAsked,
    held_by,
    misplaced,
)

DECLINED: Final = "The user does not want to answer this question."
"""What is told of a decline without a message. Source: the agent-session reference."""

UNANSWERED: Final = "Nobody answered this question in time."
"""Source: the agent-session reference, `questionDeadlinePassed`."""


def hold(journal: Journal, call: Call, held: Held) -> None:
    """Keep `call` open as its worker says; the time of its attempt stands still meanwhile."""
    match held:
        case UserAsked():
            _ask(journal, call, held)
        case TaskBegun():
            _begin_task(journal, call, held)
        case TaskPending():
            _extend(journal, call, held)
        case _:
            assert_never(held)


def _ask(journal: Journal, call: Call, held: UserAsked) -> None:
    limit_s = journal.facts.agent.config.get("question_deadline_secs")
    journal.add(
        WaitOpened(
            turn_id=call.turn_id or None,
            id=f"{call.id}-input-{call.questions + 1}",
            kind="question",
            call_id=call.id,
            name=call.name,
            question=held.question,
            choices=held.choices,
            allows_free_text=held.allows_free_text,
            deadline_ms=journal.now_ms + round(limit_s * 1000) if limit_s else None,
            private=WaitPrivate(continuation=held.continuation),
        )
    )


def _begin_task(journal: Journal, call: Call, held: TaskBegun) -> None:
    journal.add(
        WaitOpened(
            turn_id=call.turn_id or None,
            id=f"{call.id}-task-{call.attempt}",
            kind="task",
            call_id=call.id,
            name=call.name,
            task_id=held.task_id,
            poll_interval_seconds=held.interval_s,
            next_poll_at_ms=journal.now_ms + round(held.interval_s * 1000),
            private=WaitPrivate(continuation=held.continuation),
        )
    )


def _extend(journal: Journal, call: Call, held: TaskPending) -> None:
    for wait in journal.session.waits_of(call.id, "task"):
        interval_s = wait.interval_s if held.interval_s is None else held.interval_s
        journal.add(
            WaitExtended(
                turn_id=call.turn_id or None,
                id=wait.id,
                kind="task",
                call_id=call.id,
                poll_interval_seconds=interval_s,
                next_poll_at_ms=journal.now_ms + round(interval_s * 1000),
                private=WaitPrivate(continuation=held.continuation),
            )
        )


def keep_open(
    journal: Journal, decision: Decision, actions: Mapping[int, Mapping[str, Any]]
) -> None:
    """Apply what of an answer keeps its call open; `actions` are all of it, by position.

    A poll that says nothing about its task finds it pending. An answer about a call that has ended
    meanwhile is noted and skipped (P-4). Raises `SchemaViolation`.
    """
    holds = {at: action for at, action in actions.items() if action["type"] in HOLDS}
    for at, action in holds.items():
        problem = misplaced(decision.trigger, action["type"])
        if not problem and _is_settled_too(decision, actions.values(), len(holds)):
            problem = f"{action['type']} stands alone: a call ends, or it stays open in one way"
        if problem:
            raise SchemaViolation(f"/actions/{at}: {problem}")
    call = journal.session.call(decision.call_id)
    is_open = call is not None and call.status is CallStatus.PENDING
    for action in holds.values():
        if call is not None and is_open:
            hold(journal, call, held_by(action))
        else:
            late = SettleIgnored(
                turn_id=journal.turn_id, id=decision.call_id, reason="call_not_open"
            )
            journal.add(late)
    if decision.trigger == "tool.poll" and call is not None and is_open and not holds:
        hold(journal, call, TaskPending())


def _is_settled_too(decision: Decision, actions: Any, holds: int) -> bool:
    own = {None, decision.call_id}
    ends = [one for one in actions if one["type"] in {"tool.result", "tool.error"}]
    return holds > 1 or any(one.get("id") in own for one in ends)


def resolve_wait(journal: Journal, command: ResolveWait) -> None:
    """Take an answer or a decline; what comes too late finds the question withdrawn.

    A question that is not open any more stays as it is.
    """
    wait = journal.session.wait(command.wait_id)
    if wait is None or wait.kind != "question":
        return
    if wait.deadline_ms is not None and wait.deadline_ms <= journal.now_ms:
        _resolve(journal, wait, "deadline_passed", UNANSWERED)
    else:
        _resolve(journal, wait, command.outcome, command.text or DECLINED)


def lapse_wait(journal: Journal, wait: Wait) -> None:
    """Do what is due about a wait: nobody answered, or the worker is to say how far its task is."""
    due_ms = journal.session.wait_due_ms(wait)
    if due_ms is None or due_ms > journal.now_ms:
        return
    if wait.kind == "question":
        _resolve(journal, wait, "deadline_passed", UNANSWERED)
    else:
        _put(journal, "tool.poll", wait.call_id)


def _resolve(
    journal: Journal,
    wait: Wait,
    outcome: Literal["answered", "declined", "deadline_passed"],
    text: str,
) -> None:
    """Close a question, and go on with its call.

    A task is told in every case; a tool that asked itself is run again with an answer, and ends
    without one. Source: the agent-session reference, `QuestionResolution`.
    """
    call = next(one for one in journal.session.calls if one.id == wait.call_id)
    journal.add(
        WaitClosed(
            turn_id=journal.turn_id,
            id=wait.id,
            kind=wait.kind,
            call_id=wait.call_id,
            outcome=outcome,
            answer=text,
        )
    )
    if journal.session.waits_of(call.id, "task"):
        _put(journal, "tool.poll", call.id)
    elif outcome == "answered":
        _put(journal, "tool.execute", call.id)
    else:
        detail = {"reason": "rejected", "resolution": outcome}
        fail_tool(journal, call, ToolRefused(text, detail=detail))


def _put(journal: Journal, trigger: str, call_id: str) -> None:
    queue(journal, trigger, turn_id=journal.turn_id, call_id=call_id)
