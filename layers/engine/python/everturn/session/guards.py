"""What keeps a turn from running away: what is counted of a reply, and what follows; pure.

It must not write anything. Source: agent-runs, section 8; field case F26.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.protocol.json_text import canonical, read_json
from everturn.protocol.limits import (
    DEFAULT_LOOP_CUTOFF,
    DEFAULT_LOOP_NUDGE,
    DEFAULT_OUTPUT_REPAIRS,
)
from everturn.rejections import InvalidJson
from everturn.session.events.guards import (
    LoopDetected,
    NotedPrivate,
    OutputRejected,
    ToolBudgetExceeded,
)
from everturn.session.guard_counts import Guard

SIGNATURE_CHARS: Final = 32
"""Hex digits of a batch's signature."""

Calls = Sequence[Mapping[str, Any]]
"""Tool calls as a reply has them."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the guards of a config allow; 0 for no limit."""

    nudge_at: int = 0
    cut_off_at: int = 0
    budgets: Mapping[str, int] = field(default_factory=dict)
    max_tool_turns: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guards make of a reply."""

    noted: NotedPrivate | None = None
    """Of a reply whose tool calls were counted."""

    loop: LoopDetected | None = None
    overruns: tuple[ToolBudgetExceeded, ...] = ()
    closes: bool = False
    """The turn has no tools any more, and the reply asks for some all the same."""

    rejected: OutputRejected | None = None


def rules_of(config: Mapping[str, Any]) -> Rules | None:
    """Return what a config allows, `None` where it counts no tool calls."""
    guards = config.get("guards") or {}
    budgets = {
        name: budget["max_calls"] for name, budget in (guards.get("tool_budgets") or {}).items()
    }
    loops, limit = guards.get("loop_detection"), guards.get("max_tool_turns")
    if not isinstance(loops, Mapping):
        return Rules(budgets=budgets, max_tool_turns=limit or 0) if budgets or limit else None
    return Rules(
        loops.get("consecutive_threshold") or DEFAULT_LOOP_NUDGE,
        loops.get("hard_cutoff_threshold") or DEFAULT_LOOP_CUTOFF,
        budgets,
        limit or 0,
    )


def output_repairs(config: Mapping[str, Any]) -> int:
    """Return how often a turn may ask again for an answer that fits the output schema."""
    asked = (config.get("guards") or {}).get("output_repairs")
    return DEFAULT_OUTPUT_REPAIRS if asked is None else int(asked)


def text_of(content: Any) -> str:
    """Return the text of a message's content, its parts put together."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part["type"] == "text")


def signature(calls: Calls) -> str:
    """Return what two batches of calls share where they ask for the same, in whatever order."""
    asked = sorted(_spelled(made["function"]) for made in calls)
    return hashlib.sha256(b"\n".join(asked)).hexdigest()[:SIGNATURE_CHARS]


def _spelled(function: Mapping[str, Any]) -> bytes:
    """Return a call's one spelling; arguments that are no JSON are text, none are no fields."""
    text = function["arguments"]
    try:
        return canonical([function["name"], read_json(text or "{}")])
    except InvalidJson:
        return canonical([function["name"], None, text.encode(errors="replace").decode()])


def count(rules: Rules, guard: Guard, calls: Calls, turn_id: str | None) -> Verdict:
    """Return what a turn has come to with a reply that asks for `calls`."""
    mark = signature(calls)
    streak = guard.streak + 1 if mark == guard.signature else 1
    tool_turns = guard.tool_turns + 1
    skips = bool(rules.nudge_at) and streak >= rules.nudge_at
    cuts_off = bool(rules.cut_off_at) and streak >= rules.cut_off_at
    counts = dict(guard.calls)
    overruns = tuple(_overruns(rules, counts, calls, turn_id))
    noted = NotedPrivate(
        signature=mark,
        streak=streak,
        tool_turns=tool_turns,
        calls=counts,
        skips=skips,
        exceeded=() if skips else tuple(one.call_id for one in overruns),
        is_final=cuts_off or (0 < rules.max_tool_turns <= tool_turns),
    )
    loop = None
    if skips and streak in {rules.nudge_at, rules.cut_off_at}:
        names = tuple(dict.fromkeys(made["function"]["name"] for made in calls))
        loop = LoopDetected(
            turn_id=turn_id, consecutive_count=streak, hard_cutoff=cuts_off, tools=names
        )
    return Verdict(noted, loop, () if skips else overruns)


def _overruns(
    rules: Rules, counts: dict[str, int], calls: Calls, turn_id: str | None
) -> Iterator[ToolBudgetExceeded]:
    """Count the calls of tools with a budget, in their order; yield those that are over it."""
    for made in calls:
        name = made["function"]["name"]
        most = rules.budgets.get(name)
        if most is None:
            continue
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > most:
            yield ToolBudgetExceeded(
                turn_id=turn_id,
                tool=name,
                call_id=made["id"],
                max_calls=most,
                call_index=counts[name],
            )
