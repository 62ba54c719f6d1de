"""What a model reads of a guard: results of calls that were not run, notes of the engine; wording.

Source: agent-runs, sections 4.5, 4.6 and 8.
"""

from __future__ import annotations

from typing import Any, Final

from everturn.protocol.json_text import canonical, compact
from everturn.protocol.limits import MAX_SHOWN_SCHEMA_BYTES

REPEATED_CALL: Final = (
    '{"error":"not run: you have made this exact call before. '
    'Use the result that you have, change your strategy, or give the final answer."}'
)
"""Result of a call in a batch that repeats earlier ones."""

NO_MORE_TOOLS: Final = '{"error":"not run: no tool is run any more before the final answer"}'
"""Result of a call in a reply that was to be the last one."""

FINAL_NOTE: Final = (
    "[Everturn] No more tools are run in this turn. Give the final answer now, "
    "from what you have found out."
)


def budget_text(name: str, max_calls: int) -> str:
    """Word the result of a call that is over its tool's budget."""
    told = f"not run: budget exceeded, {name} may be called {max_calls} times in a turn"
    return compact({"error": f"{told}. Pivot to another way, or finalize with what you have."})


def nudge(streak: int) -> str:
    """Word what the model is told once it has asked for the same batch `streak` times in a row."""
    return (
        f"[Everturn] You have asked for the same tool calls {streak} times in a row. "
        "Either deliver the final answer or change strategy."
    )


def repair_note(problem: str, schema: Any) -> str:
    """Word what is wrong with an answer, and what is asked for; a small schema is quoted."""
    told = (
        f"[Everturn] The answer does not fit the output schema: {problem}. "
        "Answer again, with one JSON document that fits the schema and nothing else."
    )
    is_small = len(canonical(schema)) <= MAX_SHOWN_SCHEMA_BYTES
    return f"{told} The schema: {compact(schema)}" if is_small else told


def output_error(problem: str) -> str:
    """Word why a turn failed whose last answer still breaks the schema."""
    return f"the answer does not fit the output schema: {problem}"
