"""Ends a turn: closes its steps and calls, keeps the transcript well-formed, says how it went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.session.decide.closed_waits import close_waits
from everturn.session.events.decisions import DecisionDropped
from everturn.session.events.messages import MessageSource
from everturn.session.events.sessions import (
    SessionDone,
    StepEnded,
    TurnCompleted,
    TurnFailure,
    TurnOutcome,
)
from everturn.session.events.tool_calls import CallVoided, VoidedPrivate
from everturn.session.journal import Journal
from everturn.session.refs import Ref
from everturn.session.retries import may_repeat
from everturn.session.state import Call, CallStatus

FAILED_BEFORE_RESULT: Final = '{"error":"failed before a result was recorded"}'
"""Source: decision-protocol T-16."""


def end_step(journal: Journal) -> None:
    """Close the open step, if there is one."""
    turn = journal.session.turn
    if turn is not None and turn.step_call:
        journal.add(
            StepEnded(
                turn_id=turn.id, step=turn.step, call_id=turn.step_call, attempt=turn.step_attempt
            )
        )


def complete_turn(
    journal: Journal,
    outcome: TurnOutcome,
    *,
    data: Any = None,
    refs: dict[str, Ref] | None = None,
    error: TurnFailure | None = None,
) -> None:
    """Say how the open turn ended. Source: decision-protocol T-6, T-14."""
    turn = journal.session.turn
    if turn is None:
        return
    end_step(journal)
    journal.add(
        TurnCompleted(
            turn_id=turn.id,
            outcome=outcome,
            data=data,
            error=error,
            truncated=turn.truncated or None,
            cost=turn.cost,
            sub_agent_cost=turn.sub_agent_cost,
            usage=turn.usage,
            refs=refs or {},
        )
    )
    if outcome == "done":
        journal.add(SessionDone(turn_id=turn.id))


def fail_turn(
    journal: Journal,
    error: str,
    code: str | None,
    detail: Any = None,
    *,
    refs: dict[str, Ref] | None = None,
) -> None:
    """End the open turn as failed: nothing stays in flight, every tool call has its result.

    `refs` tell where parts of the failure stand already. Source: decision-protocol T-16.
    """
    if journal.session.turn is None:
        return
    for decision in journal.session.decisions:
        journal.add(DecisionDropped(turn_id=journal.turn_id, id=decision.id, reason="turn_failed"))
    for call in journal.session.calls:
        void_call(journal, call, "turn_failed", aborts=False)
    answer_open_tool_calls(journal, lambda _call_id: Closing(FAILED_BEFORE_RESULT))
    failure = TurnFailure(message=error, code=code, detail=detail)
    complete_turn(journal, "failed", error=failure, refs=refs)


def void_open_calls(journal: Journal, reason: str) -> None:
    """Give up the open turn's tool calls, and their questions; model calls go on. Source: T-10."""
    turn = journal.session.turn
    for call in journal.session.calls:
        if call.kind != "llm_call" and turn is not None and call.turn_id == turn.id:
            for decision in journal.session.decisions:
                if decision.call_id == call.id:
                    journal.add(
                        DecisionDropped(turn_id=journal.turn_id, id=decision.id, reason=reason)
                    )
            void_call(journal, call, reason)


def void_call(
    journal: Journal, call: Call, reason: str, *, has_run: bool = True, aborts: bool = True
) -> None:
    """Give up a call; nothing reports its end.

    `has_run` is false for one that is dispatched and that nobody was sent. A model call under way
    is to be broken off (`aborts`) by whoever runs it, and its last words follow.
    """
    close_waits(journal, call.id, has_ended=False)
    is_under_way = call.status is CallStatus.PENDING
    is_write = call.kind == "tool_call" and not may_repeat(call.effect)
    journal.add(
        CallVoided(
            turn_id=journal.turn_id,
            id=call.id,
            kind=call.kind,
            reason=reason,
            private=VoidedPrivate(
                outcome_unknown=is_under_way and is_write and has_run,
                aborts=is_under_way and call.kind == "llm_call" and aborts,
            ),
        )
    )


@dataclass(frozen=True, slots=True)
class Closing:
    """What the model reads of a tool call whose result never came to the path."""

    text: str
    refs: Mapping[str, Ref] = field(default_factory=dict)
    """Where the text stands already: it is a result that was recorded after all."""

    is_error: bool = True


def answer_open_tool_calls(journal: Journal, closing: Callable[[str], Closing]) -> None:
    """Write a tool message for each tool call of the path's last reply that has none, in order.

    `closing` says by its id what one is closed with. Source: decision-protocol T-16.
    """
    answered = {
        node.message.get("tool_call_id") for node in journal.path if node.message["role"] == "tool"
    }
    replies = [node for node in journal.path if node.message["role"] == "assistant"]
    calls = (replies[-1].message.get("tool_calls") or []) if replies else []
    for call in calls:
        if call["id"] not in answered:
            closed = closing(call["id"])
            message = {
                "id": journal.mint(),
                "role": "tool",
                "tool_call_id": call["id"],
                "name": call["function"]["name"],
                "content": closed.text,
            }
            source = MessageSource(kind="tool" if closed.refs else "engine")
            journal.write(message, source, dict(closed.refs), is_error=closed.is_error)
