"""Whether a model's answer fits the schemas it is held to; what follows is the core's affair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from everturn.protocol.json_text import compact, read_json
from everturn.protocol.tool_texts import unfit_arguments_text
from everturn.protocol.wire import JsonSchema, to_json
from everturn.rejections import InvalidJson, InvalidToolSchema
from everturn.session.commands import ModelAnswered, ModelFailure
from everturn.session.guards import text_of
from everturn.tools.schema import check_input, check_value

INPUT_INVALID: Final = "tool_input_invalid"
"""What a result is called that stands for a call whose arguments broke its schema. Source: 3.1."""

Inputs = Mapping[str, JsonSchema | None]
"""Input schemas by the names of tools."""

Outcome = TypeVar("Outcome", ModelAnswered, ModelFailure, ModelAnswered | ModelFailure)


def judged(outcome: Outcome, schema: JsonSchema | None, tools: Inputs | None = None) -> Outcome:
    """Return a model call's outcome with what breaks the output schema, or those of `tools`.

    A cut-off reply is no answer, and none of its calls is run.
    """
    if isinstance(outcome, ModelFailure) or outcome.finish_reason == "length":
        return outcome
    unfit = unfit_calls(outcome.message.get("tool_calls") or (), tools or {})
    if unfit:
        outcome = replace(outcome, unfit=unfit)
    if schema is None:
        return outcome
    problem = answer_problem(schema, text_of(outcome.message.get("content")))
    return replace(outcome, output_problem=problem)


def client_inputs(config: Mapping[str, Any]) -> Inputs:
    """Return the input schemas of the tools that the client runs, by name. Source: U-5."""
    tools = config.get("tools") or ()
    return {tool["name"]: tool.get("input") for tool in tools if tool.get("handler") == "client"}


def unfit_calls(calls: Sequence[Mapping[str, Any]], tools: Inputs) -> dict[int, str]:
    """Return what the model is told of calls whose arguments do not fit, by their positions."""
    found = {}
    for position, made in enumerate(calls):
        function = made["function"]
        if function["name"] not in tools:
            continue
        try:
            checked = to_json(check_input(tools[function["name"]], function["arguments"]))
        except InvalidToolSchema:
            continue  # a catalogue's, which others made and check themselves
        text = unfit_arguments_text(function["name"], checked)
        if text is not None:
            found[position] = compact({"error": INPUT_INVALID, "message": text})
    return found


def answer_problem(schema: JsonSchema, text: str) -> str | None:
    """Return how an answer breaks its schema, as in `/city: required`, or None.

    The answer is never quoted. A schema that cannot be used for checks is not held against it.
    """
    if not text.strip():
        return "/: the answer is empty"
    try:
        return check_value(schema, read_json(text))
    except InvalidJson as error:
        return f"/: {error.message}"
    except InvalidToolSchema:
        return None
