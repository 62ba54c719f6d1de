"""What follows a model call's attempt: a message and its tool calls, a turn's end, a new attempt.

It must not ask for a model call; that is `model_call`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from everturn.protocol.limits import MAX_ARGUMENTS_BYTES, MAX_OPEN_CALLS
from everturn.protocol.tool_texts import needs_message_text
from everturn.session.commands import (
    ModelAnswered,
    ModelFailure,
    SettleModelCall,
    ToolRefused,
)
from everturn.session.decide.call_ids import with_own_call_ids
from everturn.session.decide.children import spawn
from everturn.session.decide.deliveries import refuse_without_worker
from everturn.session.decide.guarded import (
    announce,
    fail_output,
    hold_back,
    judge,
)
from everturn.session.decide.model_failure import (
    decide_finished,
    fail_attempt,
    pause_at_end,
    wants_pause,
)
from everturn.session.decide.notes import write_note
from everturn.session.decide.outbox import send
from everturn.session.decide.questions import drop_questions_about, queue_finished
from everturn.session.decide.tool_result import fail_tool
from everturn.session.decide.turn_end import complete_turn, end_step
from everturn.session.events.messages import MessageSource
from everturn.session.events.model_calls import ModelCallCompleted
from everturn.session.events.tool_calls import Effect, ToolCallRequested, ToolPrivate
from everturn.session.guarded_reply import note_behind, refusals
from everturn.session.guards import Verdict, output_repairs
from everturn.session.journal import Journal
from everturn.session.proposal import CUT_OFF
from everturn.session.refs import same_as
from everturn.session.retries import tool_retry
from everturn.session.state import Call, CallStatus
from everturn.session.sub_agents import child_of, is_sub_agent, message_in
from everturn.session.turn_model import route_of_calls


def settle_model_call(journal: Journal, command: SettleModelCall) -> None:
    """Record what an attempt brought; one that is not running any more changes nothing."""
    call = journal.session.call(command.call_id)
    running = call is not None and call.status is CallStatus.PENDING
    if call is None or not running or call.attempt != command.attempt:
        return
    match command.outcome:
        case ModelAnswered() as answer:
            take_reply(journal, call, answer)
        case ModelFailure() as failure:
            fail_attempt(journal, call, failure)
        case _:
            assert_never(command.outcome)


def take_reply(journal: Journal, call: Call, answer: ModelAnswered) -> None:
    """Record a whole reply and what it leads to; where a worker decides, it is asked that."""
    reply = _record_reply(journal, call, answer)
    if reply is None or journal.session.decides == "worker":
        return
    is_cut_off = answer.finish_reason == "length"
    if is_cut_off and wants_pause(journal, "on_truncated"):
        end_step(journal)
        pause_at_end(journal, reply.end, {"payload.message": same_as(reply.seq, "message")})
        return
    config, rejected = journal.facts.agent.config, reply.verdict.rejected
    if rejected is not None and rejected.attempt > output_repairs(config):
        fail_output(journal, reply.seq, reply.end, rejected)
        return
    decision_id = decide_finished(journal, "llm.finished", call.id)
    _write_reply(journal, reply)
    if is_cut_off:
        _close_cut_off(journal, reply.tool_calls)
    elif reply.tool_calls:
        _run_calls(journal, reply, decision_id)
    told = note_behind(reply.verdict, config.get("output_schema"))
    if told is not None:
        write_note(journal, told)
    elif is_cut_off or reply.verdict.closes or not reply.tool_calls:
        has_text = bool(reply.message.get("content"))
        refs = {"data": same_as(reply.seq, "message.content")} if has_text else {}
        complete_turn(journal, "done", data=None if refs else "", refs=refs)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as it was recorded, and what the guards make of it."""

    seq: int
    end: ModelCallCompleted
    verdict: Verdict
    unfit: Mapping[int, str] = field(default_factory=dict)
    """What is told of calls whose arguments do not fit, by their positions."""

    @property
    def message(self) -> Mapping[str, Any]:
        """The assistant message."""
        message: Mapping[str, Any] = self.end.message
        return message

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls that it asks for."""
        return self.message.get("tool_calls") or []


def _write_reply(journal: Journal, reply: Reply) -> None:
    """Write what was said to the conversation; the model is the one that the turn calls."""
    turn, message = journal.session.turn, reply.message
    if message.get("content") or message.get("tool_calls"):
        route = route_of_calls(journal.facts, turn)
        source = MessageSource(kind="model", provider=route.provider, model=route.model)
        journal.write(dict(message), source, {"message": same_as(reply.seq, "message")})


def _run_calls(journal: Journal, reply: Reply, decision_id: str) -> None:
    """Ask for the reply's calls; those that a guard holds back have their results at once."""
    calls = reply.tool_calls
    refused = refusals(reply.verdict, calls)
    for position, made in enumerate(calls):
        if made["id"] in refused or not _starts_child(journal, decision_id, made):
            _request_tool(journal, reply.end.id, reply.seq, position, made)
    hold_back(journal, reply.verdict, calls)
    _send_tasks(journal, calls)
    _refuse_unfit(journal, calls, reply.unfit)
    if not journal.facts.agent.has_worker:
        refuse_without_worker(journal)


def _record_reply(journal: Journal, call: Call, answer: ModelAnswered) -> Reply | None:
    """Record a whole reply and what the guards make of it; return `None` where it is refused.

    Source: 8.7, X-7.
    """
    asked = len(answer.message.get("tool_calls") or ())
    if asked > MAX_OPEN_CALLS:
        error = f"the reply asks for {asked} tools at once; at most {MAX_OPEN_CALLS} are run"
        detail = {"reason": "too_many_calls"}
        refused = ModelFailure(error, "provider_error", False, detail, usage=answer.usage)
        fail_attempt(journal, call, refused)
        return None
    message = with_own_call_ids(journal, {"id": call.id, **answer.message}, {})
    completed = ModelCallCompleted(
        turn_id=call.turn_id or None,
        id=call.id,
        attempt=call.attempt,
        message=message,
        finish_reason=answer.finish_reason,
        usage=answer.usage,
        cost=answer.cost,
        private=answer.kept,
    )
    seq = journal.add(completed)
    verdict = judge(journal, call, completed, answer.output_problem)
    drop_questions_about(journal, call.id, "call_settled")
    if journal.session.decides == "worker":
        announce(journal, verdict)
        queue_finished(journal, "llm.finished", call, seq)
    return Reply(seq, completed, verdict, answer.unfit)


def _starts_child(journal: Journal, decision_id: str, made: Mapping[str, Any]) -> bool:
    """Open a sub-agent call where one is called as it should be. Source: 8.7, B-2."""
    name = made["function"]["name"]
    is_known = is_sub_agent(journal.facts.agent.config, name)
    if not is_known or message_in(made["function"]["arguments"]) is None:
        return False
    child = child_of(journal.session.session_id, decision_id, made["id"])
    spawn(journal, {"session_id": child, "agent_id": name, "tool_call_id": made["id"]})
    return True


def _send_tasks(journal: Journal, tool_calls: list[dict[str, Any]]) -> None:
    """Send each child what it is to do; it is held until the child is there. Source: B-6."""
    for made in tool_calls:
        call = journal.session.call(made["id"])
        if call is not None and call.kind == "sub_agent":
            task = message_in(made["function"]["arguments"])
            message = {"role": "user", "content": task}
            send(journal, {"session_id": call.session_id, "message": message}, None)


def _refuse_unfit(
    journal: Journal, tool_calls: list[dict[str, Any]], unfit: Mapping[int, str]
) -> None:
    """Settle calls that are never run: too large, of a sub-agent and without a message, unfit.

    A client is never sent arguments that do not fit. Source: section 23, 8.7, U-5.
    """
    config = journal.facts.agent.config
    for position, made in enumerate(tool_calls):
        call = journal.session.call(made["id"])
        if call and call.kind == "tool_call" and is_sub_agent(config, call.name):
            fail_tool(journal, call, ToolRefused(needs_message_text(call.name)), attempt=1)
        elif call and len(made["function"]["arguments"].encode()) > MAX_ARGUMENTS_BYTES:
            error = f"Arguments for {call.name} are over {MAX_ARGUMENTS_BYTES} bytes."
            fail_tool(journal, call, ToolRefused(error, detail={"reason": "too_large"}), attempt=1)
        elif call and call.handler == "client" and position in unfit:
            detail = {"reason": "tool_input_invalid"}
            fail_tool(journal, call, ToolRefused(unfit[position], detail=detail), attempt=1)


def _request_tool(
    journal: Journal, llm_call_id: str, completed: int, position: int, made: Mapping[str, Any]
) -> None:
    name = made["function"]["name"]
    tool = journal.facts.agent.tool(name) or {}
    effect: Effect = tool.get("effect") or "unclassified"
    overlap = tool.get("overlap")
    journal.add(
        ToolCallRequested(
            turn_id=journal.turn_id,
            id=made["id"],
            name=name,
            handler=tool.get("handler") or "worker",
            retry=tool_retry(tool),
            anchor=journal.anchor,
            llm_call_id=llm_call_id,
            private=ToolPrivate(
                effect=effect,
                overlap=effect == "read" if overlap is None else overlap,
                is_serial=tool.get("handler") == "client" and overlap is False,
            ),
            refs={
                "arguments": same_as(completed, f"message.tool_calls.{position}.function.arguments")
            },
        )
    )


def _close_cut_off(journal: Journal, tool_calls: list[dict[str, Any]]) -> None:
    for made in tool_calls:
        message = {
            "id": journal.mint(),
            "role": "tool",
            "tool_call_id": made["id"],
            "name": made["function"]["name"],
            "content": CUT_OFF,
        }
        journal.write(message, MessageSource(kind="engine"), {}, is_error=True)
