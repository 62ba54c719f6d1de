"""What a worker's answer to an order to run a call means, where the engine decides.

It must not know how a call ends; that is `tool_result`'s and `model_answer`'s.
"""

from __future__ import annotations

from typing import assert_never

from everturn.session.commands import (
    AnswerDelivery,
    LeftOpen,
    ModelAnswered,
    ModelFailure,
    ToolAnswered,
    ToolRefused,
)
from everturn.session.decide.model_answer import take_reply
from everturn.session.decide.model_failure import fail_attempt
from everturn.session.decide.moving import move_on
from everturn.session.decide.tool_result import fail_tool, finish_tool
from everturn.session.decide.waits import hold
from everturn.session.events.decisions import DecisionCompleted
from everturn.session.events.messages import StateUpdated
from everturn.session.events.tool_calls import SettleIgnored
from everturn.session.journal import Journal
from everturn.session.state import Call, CallStatus, Decision
from everturn.session.waiting import TaskBegun, TaskPending, UserAsked


def answer_delivery(journal: Journal, command: AnswerDelivery) -> None:
    """Apply a worker's answer to a live delivery; any other is a no-op. Source: D-11, P-5.

    What the step machine brings counts for its own attempt alone.
    """
    decision = journal.session.decision(command.decision_id)
    call = journal.session.call(decision.call_id) if decision else None
    if decision is None or call is None or decision.status == "queued":
        return
    if decision.by_machine and decision.attempt != command.attempt:
        return
    journal.add(DecisionCompleted(turn_id=journal.turn_id, id=decision.id, attempt=command.attempt))
    if command.has_state:
        journal.add(
            StateUpdated(turn_id=journal.turn_id, state=command.state, anchor=journal.anchor)
        )
    if call.status is CallStatus.PENDING:
        _settle(journal, decision, call, command)
    elif not isinstance(command.outcome, LeftOpen):  # somebody failed the attempt meanwhile
        late = SettleIgnored(turn_id=journal.turn_id, id=call.id, reason="call_not_open")
        journal.add(late)
    move_on(journal, command.deliveries)


def _settle(journal: Journal, decision: Decision, call: Call, command: AnswerDelivery) -> None:
    match command.outcome:
        case ToolAnswered(text=text):
            finish_tool(journal, call, text, command.decision_id)
        case ToolRefused() as refused:
            fail_tool(journal, call, refused, decision_id=command.decision_id)
        case ModelAnswered() as answer:
            take_reply(journal, call, answer)
        case ModelFailure() as failure:
            fail_attempt(journal, call, failure)
        case UserAsked() | TaskBegun() | TaskPending() as held:
            hold(journal, call, held)
        case LeftOpen() if decision.trigger == "tool.poll":
            hold(journal, call, TaskPending())
        case LeftOpen():
            pass
        case _:
            assert_never(command.outcome)
