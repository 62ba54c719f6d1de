"""What the guards do with a model's reply: what is recorded of it, which calls are not run.

It must not count; that is `guards`'. Source: agent-runs, section 8; F26.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.session.commands import ToolRefused
from everturn.session.decide.tool_result import fail_tool
from everturn.session.decide.turn_end import fail_turn
from everturn.session.events.guards import GuardNoted, OutputRejected
from everturn.session.events.model_calls import ModelCallCompleted
from everturn.session.guard_texts import output_error
from everturn.session.guarded_reply import refusals
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
    verdict = count(rules, turn.guard, calls, turn.id) if rules else Verdict()
    if verdict.noted is not None:
        journal.add(GuardNoted(turn_id=turn.id, id=call_id, private=verdict.noted))
    return verdict


def announce(journal: Journal, verdict: Verdict) -> None:
    """Tell readers what was detected, where a worker decides what becomes of it."""
    for overrun in verdict.overruns:
        journal.add(overrun)
    if verdict.loop is not None:
        journal.add(verdict.loop)


def hold_back(journal: Journal, verdict: Verdict, calls: Calls) -> None:
    """Give each call that is not run its result, and say what was detected behind it."""
    refused = refusals(verdict, calls)
    overruns = {one.call_id: one for one in verdict.overruns}
    for made in calls:
        call, refusal = journal.session.call(made["id"]), refused.get(made["id"])
        if call is not None and refusal is not None:
            told = ToolRefused(refusal.text, detail={"reason": refusal.reason})
            fail_tool(journal, call, told, attempt=1)
        if made["id"] in overruns:
            journal.add(overruns[made["id"]])
    if verdict.loop is not None:
        journal.add(verdict.loop)


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
    fail_turn(journal, output_error(rejected.problem or ""), OUTPUT_INVALID, detail, refs=refs)
