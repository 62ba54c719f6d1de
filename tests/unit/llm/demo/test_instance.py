"""Minimal instances of JSON Schemas, checked by a validator."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from everturn.llm.demo.instance import minimal_instance

OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        ({}, {}),
        (True, None),
        (OBJECT, {}),
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "string", "format": "date-time"}, "2000-01-01T00:00:00Z"),
        ({"type": "string", "pattern": "^[A-Z]-[0-9]+$"}, "A-0"),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 5, "multipleOf": 4}, 8),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMaximum": 0}, -1),
        ({"type": "number"}, 0),
        ({"type": "number", "minimum": 0.5}, 0.5),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "maximum": -0.5}, -0.5),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": ["string", "null"]}, ""),
        ({"enum": ["b", "a"]}, "b"),
        ({"const": {"a": [1]}}, {"a": [1]}),
        ({"type": "array"}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        ({"prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 2}, [1, 2]),
        ({"required": ["a"], "properties": {"a": {"type": "string"}, "b": OBJECT}}, {"a": ""}),
        ({"minProperties": 1, "properties": {"a": {"type": "string"}, "b": {}}}, {"a": ""}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ""),
        ({"oneOf": [{"const": 3}, {"const": 4}]}, 3),
        (
            {
                "allOf": [
                    {"properties": {"a": {"const": 1}}, "required": ["a"]},
                    {"properties": {"b": {"const": 2}}, "required": ["b"]},
                ]
            },
            {"b": 2, "a": 1},
        ),
        (
            {
                "$ref": "#/$defs/a~1b",
                "$defs": {
                    "a/b": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/c"}},
                    "c": {"type": "boolean"},
                },
            },
            [False],
        ),
    ],
)
def test_an_instance_is_minimal_and_fits(schema: Any, instance: Any) -> None:
    made = minimal_instance(schema)

    assert made == instance
    Draft202012Validator(schema).validate(made)


@pytest.mark.parametrize("hint", [{"minLength": 1}, {"minimum": 1}, {"items": {"type": "null"}}])
def test_a_schema_without_a_type_is_read_by_its_other_words(hint: dict[str, Any]) -> None:
    Draft202012Validator(hint).validate(minimal_instance(hint))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "("},
        {"type": "string", "pattern": "^no candidate$"},
    ],
)
def test_a_pattern_beyond_the_candidates_gives_an_empty_text(schema: dict[str, Any]) -> None:
    assert minimal_instance(schema) == ""


def test_a_schema_that_contains_itself_ends() -> None:
    loop: dict[str, Any] = {"$ref": "#"}
    chain = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    wide = {"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}

    assert minimal_instance(loop) == {}
    assert list(minimal_instance(chain)) == ["next"]
    assert minimal_instance(wide) == {}


def test_a_huge_instance_is_cut_off() -> None:
    inner: dict[str, Any] = {"type": "array", "minItems": 10**9, "items": {"type": "null"}}
    outer = {"type": "array", "minItems": 10**9, "items": inner}

    assert len(minimal_instance({"type": "string", "minLength": 10**12})) == 10_000
    assert len(minimal_instance(outer)) == 10_000


@pytest.mark.parametrize(
    "schema",
    [
        {"required": 5},
        {"allOf": 3},
        {"anyOf": {"a": 1}},
        {"type": "integer", "minimum": 1, "multipleOf": 0},
        {"type": "number", "minimum": "x"},
        {"$ref": "#/nowhere/at/all", "required": [[]]},
        {"properties": [], "required": ["a"]},
    ],
)
def test_what_is_no_schema_gives_an_empty_object(schema: dict[str, Any]) -> None:
    assert minimal_instance(schema) == {}


KEYS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "minItems",
        "enum",
        "anyOf",
        "allOf",
        "$ref",
        "minimum",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(schema=st.dictionaries(KEYS, VALUES, max_size=5))
def test_no_schema_breaks_it(schema: dict[str, Any]) -> None:
    minimal_instance(schema)
