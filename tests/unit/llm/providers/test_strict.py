"""Which schemas OpenAI takes as strict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.providers.strict import answer_format, fits_strict
from unit.llm.providers.openai_kit import ANYTHING, LOOSE, STRICT


def closed(**fields: Any) -> dict[str, Any]:
    """Return a closed object schema, all of its fields required."""
    return {
        "type": "object",
        "properties": fields,
        "required": [*fields],
        "additionalProperties": False,
    }


def nested(depth: int) -> dict[str, Any]:
    """Return `depth` objects inside each other."""
    schema = closed()
    for _ in range(depth - 1):
        schema = closed(inner=schema)
    return schema


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        STRICT,
        closed(),
        closed(a={"type": ["string", "null"], "description": "d", "title": "t"}),
        closed(a={"type": "string", "enum": ["x", "y"]}, b={"type": "integer", "minimum": 1}),
        closed(a={"type": "array", "items": closed(b=TEXT), "minItems": 1}),
        closed(a={"anyOf": [TEXT, {"type": "null"}, closed(b={"type": "number", "const": 1})]}),
        {
            **closed(next={"$ref": "#/$defs/node"}, all={"$ref": "#"}),
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"node": closed(next={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]})},
        },
        closed(at={"type": "string", "format": "date-time", "pattern": "^2"}),
        nested(10),
    ],
)
def test_what_fits(schema: dict[str, Any]) -> None:
    assert fits_strict(schema)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        LOOSE,
        TEXT,
        {"type": ["object", "null"], **{k: v for k, v in STRICT.items() if k != "type"}},
        {"type": [1]},
        {**STRICT, "anyOf": [STRICT]},
        {**STRICT, "required": []},
        {**STRICT, "required": ["city", "city"]},
        {**STRICT, "required": "city"},
        {**STRICT, "additionalProperties": True},
        {**STRICT, "properties": []},
        {**STRICT, "$defs": []},
        {**STRICT, "$id": "x"},
        closed(a={}),
        closed(a=True),
        closed(a={"type": "string", "minLength": 1}),
        closed(a={"type": "string", "default": "x"}),
        closed(a={"type": "string", "format": "uri"}),
        closed(a={"type": "any"}),
        closed(a={"type": "array"}),
        closed(a={"type": "array", "items": True}),
        closed(a={"enum": ["x"]}),
        closed(a={"type": "string", "enum": "x"}),
        closed(a={"oneOf": [TEXT]}),
        closed(a={"anyOf": TEXT}),
        closed(a={"$ref": "#/$defs/x", "description": "d"}),
        closed(a={"$ref": "https://example.org/x"}),
        closed(a=LOOSE),
        closed(a={**TEXT, "$defs": {}}),
        closed(a={"type": "string", "enum": [*map(str, range(1001))]}),
        closed(a={"type": "string", "const": "x" * 120_001}),
        closed(**{f"f{one}": TEXT for one in range(5001)}),
        nested(11),
        nested(400),
    ],
)
def test_what_does_not_fit(schema: Any) -> None:
    assert not fits_strict(schema)


@given(ANYTHING | st.fixed_dictionaries(dict.fromkeys(STRICT, ANYTHING)))
def test_any_value_is_judged(schema: Any) -> None:
    assert fits_strict(schema) in {True, False}


def test_an_answers_format_is_strict_where_that_can_be() -> None:
    assert answer_format(STRICT) == {"name": "output", "schema": STRICT, "strict": True}
    assert answer_format(STRICT, may_be_strict=False) == {
        "name": "output",
        "schema": STRICT,
        "strict": False,
    }
    assert answer_format(LOOSE) == {"name": "output", "schema": LOOSE, "strict": False}


def test_an_answers_root_is_an_object() -> None:
    choice = {"anyOf": [STRICT, closed(street=TEXT)]}

    assert answer_format(choice) == {
        "name": "output",
        "schema": {
            "type": "object",
            "properties": {"city": TEXT, "street": TEXT},
            "additionalProperties": False,
        },
        "strict": False,
    }
    assert answer_format({"type": "array", "items": TEXT}) is None
    assert answer_format(True) == {
        "name": "output",
        "schema": {"type": "object", "properties": {}},
        "strict": False,
    }
