"""Whether an answer fits the output schema. Source: field case F26."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.session.commands import ModelAnswered, ModelFailure
from everturn.tools.answer import answer_problem, judged, unfit_calls

SCHEMA = {
    "type": "object",
    "properties": {"city": {}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "text", "problem"),
    [
        (SCHEMA, '{"city":1}', None),
        (SCHEMA, ' {"city":1}\n', None),
        (SCHEMA, "{}", "/city: required"),
        (SCHEMA, '{"city":1,"secret":"x"}', "/secret: not allowed"),
        (SCHEMA, "[]", "/: must be object"),
        (SCHEMA, "", "/: the answer is empty"),
        (SCHEMA, " \n", "/: the answer is empty"),
        (SCHEMA, "Rome", "/: not JSON: Expecting value at character 0"),
        (SCHEMA, '{"city":"Ro', "/: not JSON: Unterminated string starting at at character 8"),
        (SCHEMA, '{"city":1}{"city":2}', "/: not JSON: Extra data at character 10"),
        (True, "7", None),
        (False, "7", "/: not allowed"),
        ({"type": 7}, "7", None),
    ],
)
def test_an_answer_is_one_json_document_that_fits(
    schema: Any, text: str, problem: str | None
) -> None:
    assert answer_problem(schema, text) == problem


def answered(content: Any, reason: str = "stop") -> ModelAnswered:
    """Return a reply of a model."""
    return ModelAnswered({"role": "assistant", "content": content}, reason)


def test_a_reply_is_judged_where_a_schema_was_asked_for() -> None:
    parts = [{"type": "text", "text": '{"city"'}, {"type": "text", "text": ":1}"}]
    failed = ModelFailure("no", None, retryable=False)

    assert judged(answered("{}"), None).output_problem is None
    assert judged(answered("{}"), SCHEMA).output_problem == "/city: required"
    assert judged(answered(parts), SCHEMA).output_problem is None
    assert judged(ModelAnswered({"role": "assistant"}, "stop"), SCHEMA).output_problem is not None
    assert judged(failed, SCHEMA) is failed


def test_arguments_of_a_catalogue_with_an_odd_schema_are_its_servers_to_check() -> None:
    odd, own = {"type": "object", "properties": {"a": {"type": 3}}}, SCHEMA
    calls = [
        {"id": "c1", "function": {"name": name, "arguments": "{}"}} for name in ("odd", "own", "x")
    ]

    assert list(unfit_calls(calls, {"odd": odd, "own": own})) == [1]


def test_what_was_cut_off_is_no_answer() -> None:
    assert judged(answered("{", "length"), SCHEMA).output_problem is None
