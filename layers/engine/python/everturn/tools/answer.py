"""Whether a model's answer fits the output schema; what follows is the core's affair."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from everturn.protocol.json_text import read_json
from everturn.protocol.wire import JsonSchema
from everturn.rejections import InvalidJson, InvalidToolSchema
from everturn.session.commands import ModelAnswered, ModelFailure
from everturn.session.guards import text_of
from everturn.tools.schema import check_value

Outcome = TypeVar("Outcome", ModelAnswered, ModelFailure, ModelAnswered | ModelFailure)


def judged(outcome: Outcome, schema: JsonSchema | None) -> Outcome:
    """Return a model call's outcome with what breaks the schema; a cut-off reply is no answer."""
    if schema is None or isinstance(outcome, ModelFailure) or outcome.finish_reason == "length":
        return outcome
    problem = answer_problem(schema, text_of(outcome.message.get("content")))
    return replace(outcome, output_problem=problem)


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
