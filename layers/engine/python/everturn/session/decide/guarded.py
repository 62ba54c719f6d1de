"""What the guards do with a model's reply: what is recorded of it, which calls are not run.

It must not count; that is `guards`'. Source: agent-runs.md, reference 003, section 8; F26.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.session.commands import ToolRefused
from everturn.session.decide.notes import write_note
from everturn.session.decide.tool_result import fail_tool
from everturn.session.decide.turn_end import fail_turn
from everturn.session.events.guards import GuardNoted, OutputRejected
from everturn.session.events.model_calls import ModelCallCompleted
from everturn.session.guard_texts import (
    NO_MORE_TOOLS,
    REPEATED_CALL,
    budget_text,
    nudge,
    output_error,
)
from everturn.session.guards import Calls, Verdict, count, rules_of, text_of
from everturn.session.journal import Journal
from everturn.session.refs import same_as
from everturn.session.state import Call, Turn

OUTPUT_INVALID: Final = "output_invalid"
"""Code and reason of a turn whose answers keep breaking the output schema."""


def judge(journal: Journal, call: Call, end: ModelCallCompleted, problem: str | None) -> Verdict:
    """Record what the guards make of a reply; `problem` is how its text breaks the schema.

    A reply that was cut off is not judged: none of its calls is run, and its text is no answer.
    """
    turn = journal.session.turn
    if turn is None or turn.id != call.turn_id or end.finish_reason == "length":
        return Verdict()
    calls = end.message.get("tool_calls") or []
    if calls and not turn.is_final:
        return _counted(journal, turn, calls, end.id)
    if problem is None:
        return Verdict(closes=bool(calls))
    rejected = OutputRejected(
        turn_id=turn.id, id=end.id, problem=problem, attempt=turn.rejected + 1
    )
    journal.add(rejected)
    return Verdict(closes=bool(calls), rejected=rejected)


def _counted(journal: Journal, turn: Turn, calls: Calls, call_id: str) -> Verdict:
    rules = rules_of(journal.facts.agent.config)
    if rules is None:
        return Verdict()
    verdict = count(rules, turn.guard, calls, turn.id)
    if verdict.noted is not None:
        journal.add(GuardNoted(turn_id=turn.id, id=call_id, private=verdict.noted))
    return verdict


def announce(journal: Journal, verdict: Verdict) -> None:
    """Tell readers what was detected, where a worker decides what becomes of it."""
    for overrun in verdict.overruns:
        journal.add(overrun)
    if verdict.loop is not None:
        journal.add(verdict.loop)


def held_back(verdict: Verdict, calls: Calls) -> frozenset[str]:
    """Return the ids of the calls that are not run."""
    noted = verdict.noted
    if verdict.closes or (noted is not None and noted.skips):
        return frozenset(made["id"] for made in calls)
    return frozenset(noted.exceeded if noted is not None else ())


def hold_back(journal: Journal, verdict: Verdict, calls: Calls) -> None:
    """Give each call that is not run its result, and say what was detected behind it."""
    if verdict.closes:
        _refuse(journal, calls, NO_MORE_TOOLS, "no_more_tools")
    elif verdict.noted is not None and verdict.noted.skips:
        _refuse(journal, calls, REPEATED_CALL, "repeated_call")
        _interrupt_loop(journal, verdict)
    for overrun in verdict.overruns:
        made = [one for one in calls if one["id"] == overrun.call_id]
        text = budget_text(overrun.tool, overrun.max_calls)
        _refuse(journal, made, text, "tool_budget_exceeded")
        journal.add(overrun)


def _refuse(journal: Journal, calls: Calls, text: str, reason: str) -> None:
    """End calls that were asked for and are never started."""
    refused = ToolRefused(text, detail={"reason": reason})
    for made in calls:
        call = journal.session.call(made["id"])
        if call is not None:
            fail_tool(journal, call, refused, attempt=1)


def _interrupt_loop(journal: Journal, verdict: Verdict) -> None:
    """Say that a loop was detected, and nudge the model unless its last word is next."""
    loop, noted = verdict.loop, verdict.noted
    if loop is None or noted is None:
        return
    journal.add(loop)
    if not noted.is_final:
        write_note(journal, nudge(noted.streak))


def fail_output(
    journal: Journal, seq: int, end: ModelCallCompleted, rejected: OutputRejected
) -> None:
    """End the turn as failed, with the last answer, which event `seq` has. Source: F26."""
    content = end.message.get("content")
    detail: dict[str, Any] = {
        "reason": OUTPUT_INVALID,
        "problem": rejected.problem,
        "attempts": rejected.attempt,
    }
    is_whole = isinstance(content, str)
    refs = {"error.detail.last_attempt": same_as(seq, "message.content")} if is_whole else {}
    if not refs:
        detail["last_attempt"] = text_of(content)
    fail_turn(journal, output_error(rejected.problem), OUTPUT_INVALID, detail, refs=refs)
