"""What a run asks of the policies: reasoning, output, guards, supervisor, plan.

It must not apply one, nor fill a default in. Source: runs document, sections 6 to 8.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, PlainValidator, Tag
from pydantic_core import PydanticCustomError

from everturn.protocol.limits import (
    DEFAULT_LOOP_CUTOFF,
    DEFAULT_LOOP_NUDGE,
    MAX_BUDGETED_CALLS,
    MAX_BUDGETED_NAME_CHARS,
    MAX_LOOP_THRESHOLD,
    MAX_MODEL_ID_CHARS,
    MAX_REASONING_LEVEL,
    MAX_REASONING_TRIGGER_CHARS,
    MAX_REASONING_TRIGGER_MS,
    MAX_SUPERVISOR_INTERVAL,
    MAX_TOOL_BUDGETS,
    MAX_TOOL_TURNS,
    MIN_CONSECUTIVE_THRESHOLD,
    MIN_HARD_CUTOFF_THRESHOLD,
)
from everturn.protocol.runs.shape import FLAG, OBJECT, WORD, RunsModel, form
from everturn.protocol.wire import Json, Maybe, Seq

ModelSelector = Annotated[str, Field(min_length=1, max_length=MAX_MODEL_ID_CHARS)]

ReasoningWord = Literal["off", "low", "medium", "high"]
PlanMode = Literal["off", "auto", "required"]


def _level(value: object) -> object:
    is_word = isinstance(value, str) and value in {"off", "low", "medium", "high"}
    if is_word or (type(value) is int and 0 <= value <= MAX_REASONING_LEVEL):
        return value
    raise PydanticCustomError(
        "reasoning_level",
        "should be off, low, medium, high or an integer from 0 to {most}",
        {"most": MAX_REASONING_LEVEL},
    )


ReasoningLevel = Annotated[
    ReasoningWord | int,
    PlainValidator(
        _level,
        json_schema_input_type=ReasoningWord | Annotated[int, Field(ge=0, le=MAX_REASONING_LEVEL)],
    ),
]
"""Source: section 6."""


class OutputSchema(RunsModel):
    """What the final reply is to look like. Source: section 7."""

    name: Maybe[Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]] = None
    schema_: dict[str, Json] = Field(alias="schema")


class Thresholds(RunsModel):
    """Identical batches of calls before the nudge, and before the end of tools. Source: 8.1."""

    consecutive_threshold: Maybe[
        Annotated[int, Field(ge=MIN_CONSECUTIVE_THRESHOLD, le=MAX_LOOP_THRESHOLD)]
    ] = None
    hard_cutoff_threshold: Maybe[
        Annotated[int, Field(ge=MIN_HARD_CUTOFF_THRESHOLD, le=MAX_LOOP_THRESHOLD)]
    ] = None

    @property
    def soft(self) -> int:
        """The first threshold, its default where it is not said."""
        return self.consecutive_threshold or DEFAULT_LOOP_NUDGE

    @property
    def hard(self) -> int:
        """The second."""
        return self.hard_cutoff_threshold or DEFAULT_LOOP_CUTOFF


class CallBudget(RunsModel):
    """How often one tool may run. Source: 8.2."""

    max_calls: Annotated[int, Field(ge=0, le=MAX_BUDGETED_CALLS)]


def _named(budgets: dict[str, Any]) -> dict[str, Any]:
    if all(1 <= len(name) <= MAX_BUDGETED_NAME_CHARS for name in budgets):
        return budgets
    raise PydanticCustomError(
        "tool_budgets",
        "should have names of 1 to {most} characters",
        {"most": MAX_BUDGETED_NAME_CHARS},
    )


CallBudgets = Annotated[
    dict[str, CallBudget], Field(max_length=MAX_TOOL_BUDGETS), AfterValidator(_named)
]


class SpanTrigger(RunsModel):
    """How long a span of reasoning may be before the supervisor looks at it. Source: 8.4."""

    chars: Maybe[Annotated[int, Field(ge=1, le=MAX_REASONING_TRIGGER_CHARS)]] = None
    ms: Maybe[Annotated[int, Field(ge=1, le=MAX_REASONING_TRIGGER_MS)]] = None


def _off_or_object(value: object) -> str | None:
    found = form(value)
    return None if value is True or found == WORD else found


def _flag_or_object(value: object) -> str | None:
    found = form(value)
    return None if found == WORD else found


FalseOrSpan = Annotated[
    Annotated[bool, Tag(FLAG)] | Annotated[SpanTrigger, Tag(OBJECT)],
    Discriminator(
        _off_or_object,
        custom_error_type="false_or_object",
        custom_error_message="should be false or an object",
    ),
]


class Supervising(RunsModel):
    """A model that reviews the run. Source: 8.4."""

    interval: Maybe[Annotated[int, Field(ge=1, le=MAX_SUPERVISOR_INTERVAL)]] = None
    model_id: Maybe[ModelSelector] = None
    reasoning_trigger: Maybe[FalseOrSpan] = None


class Planning(RunsModel):
    """A checklist that the run follows. Source: 8.5; `mode` as the published clients send it."""

    mode: Maybe[PlanMode] = None
    plan_only: Maybe[bool] = None
    brief: Maybe[str] = None
    steps: Maybe[Seq[str]] = None


class TurnCap(RunsModel):
    """How many replies of the run may ask for tools."""

    max_tool_turns: Maybe[Annotated[int, Field(ge=1, le=MAX_TOOL_TURNS)]] = None


_FLAG_OR_OBJECT = Discriminator(
    _flag_or_object,
    custom_error_type="flag_or_object",
    custom_error_message="should be a boolean or an object",
)

LoopChoice = Annotated[
    Annotated[bool, Tag(FLAG)] | Annotated[Thresholds, Tag(OBJECT)], _FLAG_OR_OBJECT
]
SupervisorChoice = Annotated[
    Annotated[bool, Tag(FLAG)] | Annotated[Supervising, Tag(OBJECT)], _FLAG_OR_OBJECT
]
PlanChoice = Annotated[
    Annotated[bool, Tag(FLAG)] | Annotated[PlanMode, Tag(WORD)] | Annotated[Planning, Tag(OBJECT)],
    Discriminator(
        form,
        custom_error_type="plan",
        custom_error_message="should be a boolean, off, auto, required or an object",
    ),
]
