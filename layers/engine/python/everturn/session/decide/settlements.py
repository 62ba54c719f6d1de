"""Ends an open call on somebody's word: an answer's settle action, an API key's, a client's.

It must not know what follows from a call's end. Source: decision-protocol U-6, U-12, X-4, X-5, P-4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everturn.protocol.json_text import compact
from everturn.protocol.limits import MAX_RESULT_BYTES
from everturn.rejections import CallNotOpen, MissingCallId, StaleAttempt, UnknownCall, WrongHandler
from everturn.session.commands import ModelAnswered, ModelFailure, Reading, ToolRefused
from everturn.session.decide.model_answer import take_reply
from everturn.session.decide.model_failure import fail_attempt
from everturn.session.decide.tool_result import fail_tool, finish_tool
from everturn.session.events.tool_calls import SettleIgnored
from everturn.session.journal import Journal
from everturn.session.slots import RUNS_TOOLS
from everturn.session.state import Call, CallStatus, Decision

KINDS = {"tool": "tool_call", "llm": "llm_call"}


def settle(
    journal: Journal, decision: Decision, action: Mapping[str, Any], reading: Reading | None
) -> None:
    """Apply a settle action of an answer; one that comes too late is noted and skipped.

    Raises `MissingCallId`, `UnknownCall`, `WrongHandler`.
    """
    kind = KINDS[action["type"].partition(".")[0]]
    call_id = action.get("id") or _subject(decision, kind)
    try:
        call = settleable(journal, call_id, kind, action.get("attempt"), handlers=("worker",))
    except (CallNotOpen, StaleAttempt) as late:
        journal.add(
            SettleIgnored(
                turn_id=journal.turn_id, id=call_id, attempt=action.get("attempt"), reason=late.code
            )
        )
        return
    settle_open(journal, call, action, reading)


def _subject(decision: Decision, kind: str) -> str:
    """Source: X-4, I-13."""
    executes = RUNS_TOOLS if kind == "tool_call" else ("llm.execute",)
    resumed = decision.trigger == "interrupt.resumed" and decision.call_id
    if decision.trigger not in executes and not resumed:
        raise MissingCallId("A settle action needs the id of the call that it ends.")
    return decision.call_id


def settleable(
    journal: Journal, call_id: str, kind: str, attempt: int | None, *, handlers: tuple[str, ...]
) -> Call:
    """Return the running call of that id, if it may be settled now.

    Raises `UnknownCall`, `WrongHandler`, `CallNotOpen`, `StaleAttempt`. Source: U-6, U-12.
    """
    call = journal.session.call(call_id)
    if call is None:
        if journal.was_asked(call_id):
            raise CallNotOpen(f"The call {call_id} has ended.")
        raise UnknownCall(f"The session never had a call {call_id}.")
    if call.kind == "sub_agent":
        raise WrongHandler(f"The call {call_id} is answered by its child session alone.")
    if call.kind != kind:
        raise UnknownCall(f"The call {call_id} is of another kind.")
    if call.handler not in handlers:
        raise WrongHandler(f"The call {call_id} is run by {call.handler}; it is not yours to end.")
    if call.status is not CallStatus.PENDING:
        raise CallNotOpen(f"The call {call_id} has no attempt under way.")
    if attempt is not None and attempt != call.attempt:
        raise StaleAttempt(
            f"Attempt {attempt} of the call {call_id} was replaced.", attempt=call.attempt
        )
    return call


def settle_open(
    journal: Journal,
    call: Call,
    action: Mapping[str, Any],
    reading: Reading | None,
    *,
    reports: bool = True,
) -> None:
    """End the running attempt of `call` as `action` says. Source: U-7, U-9, U-10."""
    match action["type"]:
        case "tool.result":
            _tool_result(journal, call, action, reading, reports=reports)
        case "tool.error":
            fail_tool(journal, call, _refusal(action), reports=reports)
        case "llm.result" if isinstance(reading, ModelAnswered):
            take_reply(journal, call, reading)
        case "llm.result" if isinstance(reading, ModelFailure):
            fail_attempt(journal, call, reading)
        case _:
            refused = _refusal(action)
            failure = ModelFailure(refused.error, refused.code, refused.retryable, refused.detail)
            fail_attempt(journal, call, failure)


def _refusal(action: Mapping[str, Any]) -> ToolRefused:
    return ToolRefused(
        action["error"], bool(action.get("retryable")), action.get("code"), action.get("detail")
    )


def _tool_result(
    journal: Journal,
    call: Call,
    action: Mapping[str, Any],
    reading: Reading | None,
    *,
    reports: bool,
) -> None:
    result = action.get("result")
    text = result if isinstance(result, str) else compact(result)
    if len(text.encode()) > MAX_RESULT_BYTES:
        error = f"The result of {call.name} is over {MAX_RESULT_BYTES} bytes."
        refused = ToolRefused(error, detail={"reason": "too_large"})
        fail_tool(journal, call, refused, reports=reports)
    elif isinstance(reading, str):
        fail_tool(journal, call, ToolRefused(reading), reports=reports)
    else:
        files = action.get("files") or ()
        finish_tool(journal, call, text, "", reports=reports, files=files)
