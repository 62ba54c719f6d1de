"""What a worker's answer to an order to run a call means, where the engine decides; no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from everturn.errors import DefectError, RejectedError
from everturn.llm.formats.reading import read_reply
from everturn.ports.decider import DeliveryFailed
from everturn.protocol.action import (
    Action,
    LlmErrorAction,
    LlmResultAction,
    ToolAskAction,
    ToolErrorAction,
    ToolPendingAction,
    ToolResultAction,
    ToolTaskAction,
)
from everturn.protocol.decision import DecisionResponse, check_response
from everturn.protocol.json_text import canonical, compact
from everturn.protocol.limits import MAX_RESULT_BYTES
from everturn.protocol.tool_texts import invalid_result_text
from everturn.protocol.wire import to_json
from everturn.session.commands import (
    AnswerDelivery,
    Deliveries,
    LeftOpen,
    ModelAnswered,
    ModelFailure,
    ToolAnswered,
    ToolRefused,
)
from everturn.session.facts import Facts, Stamp
from everturn.session.state import Call, Decision
from everturn.session.waiting import Held, held_by, misplaced
from everturn.tools.answer import client_inputs, judged
from everturn.tools.schema import check_output

UNSUPPORTED: Final = "unsupported_answer"
"""Code of an answer that this version cannot apply."""

HOLDING: Final = (ToolAskAction, ToolTaskAction, ToolPendingAction)
ABOUT_A_TOOL: Final = (ToolResultAction, ToolErrorAction, *HOLDING)
ABOUT_A_MODEL: Final = (LlmResultAction, LlmErrorAction)

Settles = ToolResultAction | ToolErrorAction | LlmResultAction | LlmErrorAction
Outcome = ToolAnswered | ToolRefused | ModelAnswered | ModelFailure | LeftOpen | Held


@dataclass(frozen=True, slots=True)
class Settled:
    """What an answer does: how the call ends or stays open, and a new state where there is one."""

    outcome: Outcome
    state: Any = None
    has_state: bool = False


def settled_by(
    response: DecisionResponse, trigger: str, call: Call, facts: Facts, state: Any
) -> Settled | DeliveryFailed:
    """Return what an answer does to `call`, or why it is no answer; `state` is what holds.

    Source: decision-protocol P-2, O-5, X-4.
    """
    refused = _refused(response, trigger, call)
    if refused is not None:
        return refused
    try:
        return _settled(response, call, facts, state)
    except RejectedError as error:
        return _invalid(error)


def answer_command(
    stamp: Stamp, facts: Facts, decision: Decision, settled: Settled, deliveries: Deliveries | None
) -> AnswerDelivery:
    """Return the command that an answer means."""
    return AnswerDelivery(
        stamp,
        facts,
        decision.id,
        decision.attempt,
        settled.outcome,
        settled.state,
        settled.has_state,
        deliveries,
    )


def _settled(response: DecisionResponse, call: Call, facts: Facts, state: Any) -> Settled:
    outcome: Outcome = LeftOpen()
    for action in response.actions or ():
        outcome = _outcome(action, call, facts)
    new_state = _new_state(response.state, state)
    if new_state is _SAME:
        return Settled(outcome)
    return Settled(outcome, new_state, has_state=True)


def _outcome(action: Action, call: Call, facts: Facts) -> Outcome:
    """Return how a call ends. Raises `InvalidLlmResponse` for a reply that cannot be read."""
    match action:
        case ToolResultAction():
            return _result(action, call, facts)
        case ToolErrorAction():
            return ToolRefused(action.error, bool(action.retryable), action.code, action.detail)
        case LlmResultAction():
            config = facts.agent.config
            reply = read_reply(config.get("format"), action.response)
            return judged(reply, config.get("output_schema"), client_inputs(config))
        case LlmErrorAction():
            retryable = bool(action.retryable)
            return ModelFailure(action.error, action.code, retryable, action.detail)
        case ToolAskAction() | ToolTaskAction() | ToolPendingAction():
            return held_by(to_json(action))
        case _:
            raise DefectError(f"{action.type} was let through")


_SAME: Final = object()


def _new_state(given: Any, holds: Any) -> Any:
    """Return the state to record. Absent or null keeps, an empty value clears. Source: Z-1, Z-3."""
    if given is None:
        return _SAME
    wanted = None if given in ({}, [], "") else given
    return _SAME if canonical(wanted) == canonical(holds) else wanted


def _result(action: ToolResultAction, call: Call, facts: Facts) -> ToolAnswered | ToolRefused:
    """Source: decision-protocol U-9, section 23."""
    value = action.result
    text = value if isinstance(value, str) else compact(value)
    if len(text.encode()) > MAX_RESULT_BYTES:
        return ToolRefused(
            f"The result of {call.name} is over {MAX_RESULT_BYTES} bytes.",
            detail={"reason": "too_large"},
        )
    tool = facts.agent.tool(call.name)
    if tool is not None and tool.get("output") is not None:
        violation = check_output(tool["output"], text)
        if violation is not None:
            return ToolRefused(invalid_result_text(call.name, violation))
    return ToolAnswered(text)


def _invalid(error: RejectedError) -> DeliveryFailed:
    return DeliveryFailed(error.message, error.code, True, "unknown", invalid=True)


def _refused(response: DecisionResponse, trigger: str, call: Call) -> DeliveryFailed | None:
    """Return what is wrong with an answer as a whole. Source: decision-protocol P-2, P-3, D-8."""
    try:
        check_response(response, decides="engine")
    except RejectedError as error:
        return _invalid(error)
    problem = _unsupported(response, trigger, call)
    return DeliveryFailed(problem, UNSUPPORTED, True, "unknown", invalid=True) if problem else None


def _unsupported(response: DecisionResponse, trigger: str, call: Call) -> str:
    """Say what of an answer cannot be applied; empty where all of it can."""
    actions = response.actions or ()
    about = ABOUT_A_TOOL if call.kind == "tool_call" else ABOUT_A_MODEL
    if len(actions) > 1 or not all(isinstance(action, about) for action in actions):
        return f"an answer to {trigger} takes one action, about the call that it was asked about"
    for action in actions:
        if isinstance(action, HOLDING) and (problem := misplaced(trigger, action.type)):
            return problem
    if {action.id for action in actions if isinstance(action, Settles)} - {None, call.id}:
        return f"an answer to {trigger} settles the call that it was asked about"
    if response.messages or response.agent is not None:
        return f"an answer to {trigger} takes no messages and no agent"
    if call.overlap and response.state is not None:
        return "a tool that may overlap takes no state"
    return ""
