"""Schemas on the wire: objects at the root, and never stricter than the original. F22."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from everturn.llm.providers.schemas import NO_ARGUMENTS, object_schema

A = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
B = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}
TREE = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    "required": ["children"],
}


@pytest.mark.parametrize(
    ("schema", "projected"),
    [
        (None, NO_ARGUMENTS),
        (True, NO_ARGUMENTS),
        ({}, NO_ARGUMENTS),
        ({"type": "object"}, NO_ARGUMENTS),
        ({"type": "string"}, NO_ARGUMENTS),
        (A, A),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({**A, "type": ["object", "null"]}, A),
        ({**A, "$schema": "x", "$id": "y"}, A),
        ({"anyOf": [A, {"type": "null"}]}, A),
        (
            {"anyOf": [A, B]},
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
        ),
        ({"oneOf": [A, {"properties": {"a": {"type": "string"}}, "required": ["a"]}]}, {
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
            "required": ["a"],
        }),
        ({"allOf": [A, B]}, {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "required": ["a", "b"],
        }),
        ({"$ref": "#/$defs/a", "$defs": {"a": A}}, {**A, "$defs": {"a": A}}),
        ({"$ref": "#/$defs/tree", "$defs": {"tree": TREE}}, {**TREE, "$defs": {"tree": TREE}}),
        ({"$ref": "#/$defs/no"}, NO_ARGUMENTS),
        ({"$ref": "https://example.com/x"}, NO_ARGUMENTS),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, {
            "type": "object", "properties": {}, "$defs": {"a": {"$ref": "#/$defs/a"}},
        }),
        (
            {"anyOf": [{**A, "additionalProperties": False}, {**A, "additionalProperties": False}]},
            {**A, "additionalProperties": False},
        ),
        ({"anyOf": [{**A, "additionalProperties": False}, A]}, A),
    ],
)  # fmt: skip
def test_a_root_becomes_an_object(schema: Any, projected: dict[str, Any]) -> None:
    assert object_schema(schema) == projected


TWICE = {"$ref": "#/$defs/a"}


def _choice(number: int) -> dict[str, Any]:
    fields: list[dict[str, Any]] = [{"properties": {f"{one}{number}": {}}} for one in "ab"]
    return {"anyOf": [{"type": "object", **one} for one in fields]}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [_choice(number) for number in range(24)]},
        {"anyOf": [A for _ in range(65)]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [TWICE, TWICE]}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [TWICE] * 9}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"oneOf": [A, TWICE, {"allOf": [TWICE, TWICE]}]}}},
    ],
)
def test_a_schema_of_countless_choices_is_an_open_object_at_once(schema: dict[str, Any]) -> None:
    begun = time.thread_time()
    projected = object_schema({**schema, **A, "title": "T", "additionalProperties": False})

    assert time.thread_time() - begun < 0.5
    kept = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    assert projected == {**A, "title": "T", **kept}


def test_as_many_choices_as_are_told_apart() -> None:
    schema = {"allOf": [_choice(number) for number in range(6)]}

    assert len(object_schema(schema)["properties"]) == 12


FIELD = st.sampled_from([{"type": "integer"}, {"type": "string"}, {"enum": [1, "x"]}, {}])
PLAIN = st.builds(
    lambda fields, required, closed: {
        "type": "object",
        "properties": fields,
        "required": [name for name in required if name in fields],
        **({"additionalProperties": False} if closed else {}),
    },
    st.dictionaries(st.sampled_from("abc"), FIELD, max_size=3),
    st.lists(st.sampled_from("abc"), unique=True),
    st.booleans(),
)
SCHEMAS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.builds(lambda some: {"anyOf": some}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda some: {"oneOf": some}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda some: {"allOf": some}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda one: {"$ref": "#/$defs/x", "$defs": {"x": one}}, PLAIN),
        st.builds(lambda one, two: {**one, "anyOf": [two]}, PLAIN, PLAIN),
    ),
    max_leaves=5,
)
VALUES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from("abcd"), st.sampled_from([1, "x", None, []]), max_size=4
)


@given(SCHEMAS, VALUES)
def test_what_fits_the_original_lacks_nothing_and_has_nothing_too_much(
    schema: dict[str, Any], value: dict[str, Any]
) -> None:
    projected = object_schema(schema)

    assert projected["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "$ref", "not", "enum"} & projected.keys()
    if _resolvable(schema) and Draft202012Validator(schema).is_valid(value):
        open_fields = {**projected, "properties": {key: {} for key in projected["properties"]}}
        assert Draft202012Validator(open_fields).is_valid(value)


def _resolvable(schema: dict[str, Any]) -> bool:
    """References are followed from the root alone, so those deeper down mean nothing here."""
    inner = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    return not any("$ref" in str(one) for one in inner)
