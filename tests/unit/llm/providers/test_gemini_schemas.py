"""JSON schemas in Gemini's keywords."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.llm.providers.gemini_schema import gemini_schema

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "projected"),
    [
        ({"$schema": "x", "$id": "y", **STRING, "pattern": "a", "default": "b"}, STRING),
        ({**STRING, "format": "uri"}, STRING),
        ({**STRING, "format": "date-time"}, {**STRING, "format": "date-time"}),
        (
            {"type": "array", "items": STRING, "minItems": 1, "uniqueItems": True},
            {"type": "array", "items": STRING, "minItems": 1},
        ),
        ({"type": "array", "items": True}, {"type": "array"}),
        (
            {"type": "array", "prefixItems": [STRING, True]},
            {"type": "array", "prefixItems": [STRING, {}]},
        ),
        (
            {"type": "object", "additionalProperties": {"const": 1}},
            {
                "type": "object",
                "additionalProperties": {"enum": [1]},
            },
        ),
        (
            {"type": "object", "additionalProperties": False, "not": {}},
            {
                "type": "object",
                "additionalProperties": False,
            },
        ),
        (
            {"anyOf": [STRING, {"type": "null"}], "title": "T"},
            {
                "anyOf": [STRING, {"type": "null"}],
                "title": "T",
            },
        ),
        ({"oneOf": "nonsense", "properties": 3, "items": 3, "enum": []}, {}),
        ({"const": "a"}, {"enum": ["a"], "type": "string"}),
        ({"const": True}, {}),
        ({"const": None}, {"anyOf": [{"type": "null"}]}),
        ({"enum": ["a", 1, False]}, {}),
        (
            {"type": ["string", "null"], "enum": ["a", None], "description": "D"},
            {"description": "D", "anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]},
        ),
        ({"allOf": [STRING], "title": "T"}, {"title": "T", **STRING}),
        ({"allOf": [{"allOf": [STRING]}]}, STRING),
        ({"allOf": [STRING, {"minLength": 2}], "title": "T"}, {"title": "T"}),
        ({"allOf": [True]}, {}),
        (
            {
                "type": "object",
                "properties": {"a": STRING, "b": False},
                "required": ["a", "z", ["x"]],
            },
            {"type": "object", "properties": {"a": STRING, "b": {}}, "required": ["a"]},
        ),
        (
            {"type": "object", "properties": {"required": STRING, "$ref": STRING}, "required": 3},
            {"type": "object", "properties": {"required": STRING, "$ref": STRING}},
        ),
    ],
)
def test_what_gemini_reads_stays(schema: dict[str, Any], projected: dict[str, Any]) -> None:
    assert gemini_schema(schema) == projected


def test_what_is_referred_to_stands_under_defs_wherever_it_stood() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/A", "description": "gone: it may not stand there"},
            "b": {"$ref": "#/definitions/A"},
            "c": {"type": "array", "items": {"$ref": "#/properties/a"}},
            "d": {"$ref": "https://x.example/schema"},
            "e": {"$ref": "#/$defs/A"},
        },
        "$defs": {"A": {**STRING, "minLength": 3}, "Unused": STRING},
        "definitions": {"A": {"type": "number"}},
    }

    assert gemini_schema(schema) == {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/A"},
            "b": {"$ref": "#/$defs/A_2"},
            "c": {"type": "array", "items": {"$ref": "#/$defs/a"}},
            "d": {"$ref": "#/$defs/schema"},
            "e": {"$ref": "#/$defs/A"},
        },
        "$defs": {
            "A": STRING,
            "A_2": {"type": "number"},
            "a": {"$ref": "#/$defs/A"},
            "schema": {},
        },
    }


def test_a_cycle_leaves_the_fields_optional_that_lead_back() -> None:
    tree = {
        "type": "object",
        "properties": {
            "value": STRING,
            "left": {"$ref": "#/$defs/Tree"},
            "more": {"anyOf": [{"$ref": "#/$defs/Wood"}, {"type": "null"}]},
        },
        "required": ["value", "left", "more"],
    }
    wood = {
        "type": "object",
        "properties": {"trees": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
        "required": ["trees"],
    }
    root = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "required": ["tree"],
        "$defs": {"Tree": tree, "Wood": wood},
    }

    found = gemini_schema(root)

    assert found["required"] == ["tree"]
    assert found["$defs"]["Tree"]["required"] == ["value"]
    assert "required" not in found["$defs"]["Wood"]
    assert tree["required"] == ["value", "left", "more"]


def test_a_root_may_refer_to_itself() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}

    assert gemini_schema(schema) == {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/root"}},
        "required": ["next"],
        "$defs": {"root": {"type": "object", "properties": {"next": {"$ref": "#/$defs/root"}}}},
    }


LEAVES = st.sampled_from(
    [STRING, {"const": "a"}, {"enum": ["a", 1, None]}, {"type": "integer", "minimum": 0}, True]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda some: {"anyOf": some}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda one: {"allOf": [one]}, inner),
        st.builds(
            lambda fields, required: {
                "type": "object",
                "properties": fields,
                "required": required,
                "additionalProperties": False,
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        ),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.sampled_from(["a", "b", 1, -1, None, True]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(schema=SCHEMAS, value=VALUES)
def test_what_fits_a_schema_fits_its_projection(schema: Any, value: Any) -> None:
    wanted = schema if isinstance(schema, dict) else {}

    found = jsonschema.Draft202012Validator(gemini_schema(wanted))

    if jsonschema.Draft202012Validator(wanted).is_valid(value):
        found.validate(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "properties",
                    "required",
                    "items",
                    "$ref",
                    "allOf",
                    "anyOf",
                    "enum",
                    "const",
                    "type",
                ]
            )
            | st.text(max_size=2),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(schema=st.dictionaries(st.sampled_from(["properties", "$ref", "allOf", "enum"]), JSON))
def test_nonsense_for_a_schema_does_no_harm(schema: dict[str, Any]) -> None:
    assert isinstance(gemini_schema(schema), dict)
