"""The optional extensions of an agent config that have a shape of their own. Source: O-3.

What an absent field means is the policies' business; a check that rests on it takes it from the
limits.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from everturn.protocol.limits import (
    DEFAULT_LOOP_CUTOFF,
    DEFAULT_LOOP_NUDGE,
    MAX_BUDGETED_CALLS,
    MAX_BUDGETED_NAME_CHARS,
    MAX_LOOP_THRESHOLD,
    MAX_OUTPUT_REPAIRS,
    MAX_TOOL_BUDGETS,
    MAX_TOOL_NAME_CHARS,
    MAX_TOOL_TURNS,
    MIN_CONSECUTIVE_THRESHOLD,
    MIN_HARD_CUTOFF_THRESHOLD,
)
from everturn.protocol.wire import Maybe, Number, Seq, WireModel

BuiltinTool = Literal["ask_user", "durable_wait", "write_todos"]

Hook = Literal["prompt.submit", "step.start", "request.error", "turn.stopping"]
"""Triggers that a worker is asked beyond the usual ones. Source: session-log.md O-2."""

ToolName = Annotated[str, Field(pattern=rf"^[A-Za-z0-9_-]{{1,{MAX_TOOL_NAME_CHARS}}}$")]
"""Source: decision protocol, section 23."""


BudgetedName = Annotated[str, Field(min_length=1, max_length=MAX_BUDGETED_NAME_CHARS)]
"""A tool as the model sees it. Source: agent-runs 8.2."""


class LoopDetection(WireModel):
    """Identical batches of calls in a row before a nudge, and before a last turn without tools."""

    consecutive_threshold: Maybe[
        Annotated[int, Field(ge=MIN_CONSECUTIVE_THRESHOLD, le=MAX_LOOP_THRESHOLD)]
    ] = None
    hard_cutoff_threshold: Maybe[
        Annotated[int, Field(ge=MIN_HARD_CUTOFF_THRESHOLD, le=MAX_LOOP_THRESHOLD)]
    ] = None

    @model_validator(mode="after")
    def _nudges_first(self) -> Self:
        soft, hard = self.consecutive_threshold, self.hard_cutoff_threshold
        if (hard or DEFAULT_LOOP_CUTOFF) <= (soft or DEFAULT_LOOP_NUDGE):
            raise PydanticCustomError(
                "loop_detection", "hard_cutoff_threshold must exceed consecutive_threshold"
            )
        return self


class ToolBudget(WireModel):
    """How often one tool may run in a turn; 0 forbids it."""

    max_calls: Annotated[int, Field(ge=0, le=MAX_BUDGETED_CALLS)]


class ReasoningTrigger(WireModel):
    """How much reasoning in one span calls the supervisor."""

    chars: Maybe[Annotated[int, Field(ge=1, le=50_000)]] = None
    ms: Maybe[Annotated[int, Field(ge=1, le=600_000)]] = None


class Supervisor(WireModel):
    """A model that reviews the turn every `interval` model calls."""

    interval: Maybe[Annotated[int, Field(ge=1, le=100)]] = None
    model: Maybe[str] = None
    reasoning_trigger: Maybe[ReasoningTrigger | Literal[False]] = None


class Guards(WireModel):
    """What keeps a turn from running away; false switches one guard off."""

    loop_detection: Maybe[LoopDetection | Literal[False]] = None
    tool_budgets: Maybe[
        Annotated[dict[BudgetedName, ToolBudget], Field(max_length=MAX_TOOL_BUDGETS)]
    ] = None
    max_tool_turns: Maybe[Annotated[int, Field(ge=1, le=MAX_TOOL_TURNS)]] = None
    """Replies of a turn that may ask for tools, before the last one that may not."""

    supervisor: Maybe[Supervisor | bool] = None
    output_repairs: Maybe[Annotated[int, Field(ge=0, le=MAX_OUTPUT_REPAIRS)]] = None
    """How often a turn asks again for an answer that breaks the output schema."""


class Compaction(WireModel):
    """When old messages are summarised: a share of the context window. Source: agent-session 18."""

    threshold: Maybe[Annotated[Number, Field(gt=0, le=1)]] = None
    model: Maybe[str] = None


class McpServer(WireModel):
    """Tools of a remote MCP server, offered as `<name>_<tool>`."""

    name: ToolName
    url: str
    headers: Maybe[dict[str, str]] = None
    tool_filter: Maybe[Seq[str]] = None


class A2aAgent(WireModel):
    """A remote agent, offered as one tool of this name."""

    name: ToolName
    agent_card_url: str
    description: Maybe[str] = None
    headers: Maybe[dict[str, str]] = None
