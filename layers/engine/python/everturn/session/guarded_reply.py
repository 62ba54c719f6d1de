"""What follows for a reply that the guards have judged: who decides makes no difference; pure.

It must not count, and must not record anything. Source: agent-runs, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from everturn.session.guard_texts import (
    NO_MORE_TOOLS,
    REPEATED_CALL,
    budget_text,
    nudge,
    repair_note,
)
from everturn.session.guards import Calls, Verdict


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a tool call is not run."""

    text: str
    """Its result, as the model reads it."""

    reason: str


def refusals(verdict: Verdict, calls: Calls) -> dict[str, Refusal]:
    """Return the calls of a reply that are not run, by their ids."""
    noted = verdict.noted
    if verdict.closes:
        return _all(calls, Refusal(NO_MORE_TOOLS, "no_more_tools"))
    if noted is not None and noted.skips:
        return _all(calls, Refusal(REPEATED_CALL, "repeated_call"))
    return {
        one.call_id: Refusal(budget_text(one.tool, one.max_calls), "tool_budget_exceeded")
        for one in verdict.overruns
    }


def _all(calls: Calls, refusal: Refusal) -> dict[str, Refusal]:
    return {made["id"]: refusal for made in calls}


def note_behind(verdict: Verdict, schema: Any) -> str | None:
    """Return what the model is told behind a reply and its results, before it is asked again.

    Before its last word it is told that instead; see `FINAL_NOTE`.
    """
    if verdict.rejected is not None:
        return repair_note(verdict.rejected.problem or "", schema)
    noted = verdict.noted
    if verdict.loop is None or noted is None or noted.is_final:
        return None
    return nudge(noted.streak)
