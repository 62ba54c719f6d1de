"""A function as a tool: how it is declared to the engine, and how a call's arguments reach it.

It must not call the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from everturn.protocol.wire import first_problem
from everturn.workers.context import Context
from everturn.workers.docstrings import described
from everturn.workers.replies import ToolError
from everturn.workers.schemas import (
    Arguments,
    adapter_of,
    arguments_of,
    called,
    hints_of,
    output_schema,
)

Effect = Literal["read", "idempotent_write", "non_idempotent_write", "unclassified"]
"""What a second run would do. The same words as the protocol's, whose models cost 20 ms."""

REPEATABLE: Final = frozenset({"read", "idempotent_write"})
"""Effects after which a call may run again. Source: agent-session.md 4."""

POLL_PARAMETERS: Final = ("task_id", "continuation", "pending_answer")
"""What a poll may ask for by name; besides, the context by its annotation."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a tool is to be treated; None leaves it to the engine. Source: docs/agents.md."""

    effect: Effect | None = None
    timeout_secs: float | None = None
    overlap: bool | None = None
    approval: Literal["never", "always"] | None = None
    retry: Mapping[str, Any] | None = None

    @property
    def overlaps(self) -> bool:
        """Whether calls may run beside others, in which case they set no state. Source: O-5."""
        return self.effect == "read" if self.overlap is None else self.overlap

    @property
    def repeatable(self) -> bool:
        """Whether a failure of nobody's doing may be tried again."""
        return self.effect in REPEATABLE


@dataclass(frozen=True, slots=True)
class Tool:
    """A registered function."""

    name: str
    function: Callable[..., Any]
    description: str
    options: Options
    arguments: Arguments
    adapter: TypeAdapter[Any] | None = field(repr=False)
    """Writes results of the annotated type; None where there is none."""

    def declaration(self, output: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the tool as `tools` of an agent has it; what is not set is left out."""
        options = self.options
        declared = {
            "name": self.name,
            "description": self.description or None,
            "effect": options.effect,
            "overlap": options.overlap,
            "approval": options.approval,
            "timeout_secs": options.timeout_secs,
            "retry": None if options.retry is None else dict(options.retry),
            "input": self.arguments.schema(),
            "output": output,
        }
        return {name: value for name, value in declared.items() if value is not None}

    def keywords(self, context: Context) -> dict[str, Any]:
        """Return what to call the function with. Raises `ToolError` for what does not fit."""
        try:
            read = self.arguments.read(context.request["trigger"].get("arguments") or "{}")
        except ValidationError as error:
            problem = first_problem(error).sentence
            raise ToolError(
                f"Arguments for {self.name} do not fit: {problem}", code="invalid_arguments"
            ) from error
        return read if self.arguments.context is None else {**read, self.arguments.context: context}


@dataclass(frozen=True, slots=True)
class Poll:
    """The function that says how far a tool's task is."""

    tool: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    context: str | None
    adapter: TypeAdapter[Any] | None = field(repr=False)

    def keywords(self, context: Context) -> dict[str, Any]:
        """Return what to call the function with."""
        trigger = context.request["trigger"]
        found = {name: trigger.get(name) for name in self.parameters}
        return found if self.context is None else {**found, self.context: context}


def output_of(function: Tool | Poll) -> dict[str, Any] | None:
    """Return the schema of what a function results in, where its type says one."""
    return None if function.adapter is None else output_schema(function.adapter)


def to_tool(
    function: Callable[..., Any],
    names: Mapping[str, Any],
    options: Options,
    *,
    name: str | None,
    description: str | None,
) -> Tool:
    """Return `function` as a tool; `names` are the locals of the place where it is registered.

    Raises `TypeError` for a function that no model could call.
    """
    _refuse_generators(function)
    hints = hints_of(function, names)
    text, parameters = described(inspect.getdoc(function) or "")
    return Tool(
        name=name or called(function),
        function=function,
        description=text if description is None else description,
        options=options,
        arguments=arguments_of(function, hints, parameters),
        adapter=adapter_of(hints),
    )


def to_poll(tool: str, function: Callable[..., Any], names: Mapping[str, Any]) -> Poll:
    """Return `function` as the poll of `tool`. Raises `TypeError` for other parameters."""
    _refuse_generators(function)
    hints = hints_of(function, names)
    taken: list[str] = []
    context = None
    for name in inspect.signature(function).parameters:
        if hints.get(name) is Context:
            context = name
        elif name in POLL_PARAMETERS:
            taken.append(name)
        else:
            known = ", ".join(POLL_PARAMETERS)
            raise TypeError(f"{called(function)}: a poll takes {known} and a Context, not {name}")
    return Poll(tool, function, tuple(taken), context, adapter_of(hints))


def _refuse_generators(function: Callable[..., Any]) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{called(function)}: a tool returns one result; it does not yield")
