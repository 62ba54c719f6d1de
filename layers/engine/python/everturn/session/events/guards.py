"""Events of the policies that keep a turn from running away. Source: agent-runs, section 8."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from everturn.session.events.shape import Part, Stored


class NotedPrivate(Part):
    """What was counted once a reply asked for tools, and what follows from it."""

    signature: str
    """Of the reply's calls, whatever their order."""

    streak: int
    """Replies in a row, this one included, with that signature."""

    tool_turns: int
    """Replies of the turn, this one included, that asked for tools."""

    calls: dict[str, int] = Field(default_factory=dict)
    """Of tools with a budget: how often the turn asked for them, this reply included."""

    skips: bool = False
    """The reply repeats earlier ones: none of its calls is run."""

    exceeded: tuple[str, ...] = ()
    """Ids of calls over their tool's budget: they are not run."""

    is_final: bool = False
    """The next model call has no tools any more."""


class GuardNoted(Stored):
    """A reply's tool calls passed the guards; `id` is the model call's."""

    type: Literal["guard.noted"] = "guard.noted"
    id: str
    private: NotedPrivate


class LoopDetected(Stored):
    """The model asks for the same calls again and again. Source: agent-runs 4.5."""

    type: Literal["guard.loop_detected"] = "guard.loop_detected"
    consecutive_count: int
    hard_cutoff: bool
    tools: tuple[str, ...]


class ToolBudgetExceeded(Stored):
    """A call over its tool's budget was answered without being run. Source: agent-runs 4.6."""

    type: Literal["guard.tool_budget_exceeded"] = "guard.tool_budget_exceeded"
    tool: str
    call_id: str
    max_calls: int
    call_index: int
    """The how manieth call of the tool in the turn it is, from 1."""


class OutputRejected(Stored):
    """A final reply is not what the output schema asks for; `id` is the model call's. F26."""

    type: Literal["output.rejected"] = "output.rejected"
    id: str
    problem: str | None = None
    attempt: int
    """The how manieth such reply of the turn it is, from 1."""


class ModelFellBack(Stored):
    """A model failed for good, and the turn goes on with the next one of the config."""

    type: Literal["model.fell_back"] = "model.fell_back"
    id: str
    """The model call that failed."""

    from_model: str
    to_model: str
