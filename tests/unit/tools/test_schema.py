"""U-4, U-9, P-3, F22: arguments and results against the schemas of their tools."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from everturn.protocol.trigger import InvalidInput, MalformedInput, ToolInput, ValidInput
from everturn.rejections import InvalidToolSchema
from everturn.tools.schema import check_input, check_output, compile_schema

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "default": "Rome"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "text", "told"),
    [
        (CITY, '{"city":"Tokyo"}', ValidInput(value={"city": "Tokyo"})),
        (CITY, '{"city":"Tokyo","days":2.0}', ValidInput(value={"city": "Tokyo", "days": 2.0})),
        (CITY, "", InvalidInput(value={}, error="/city: required")),
        (CITY, "{}", InvalidInput(value={}, error="/city: required")),
        (CITY, '{"town":"x"}', InvalidInput(value={"town": "x"}, error="/city: required")),
        (CITY, '{"city":7}', InvalidInput(value={"city": 7}, error="/city: must be string")),
        (None, "", ValidInput(value={})),
        (None, '{"any":[1]}', ValidInput(value={"any": [1]})),
        (None, "[1]", MalformedInput(error="it is an array")),
        (CITY, '"Tokyo"', MalformedInput(error="it is a string")),
        (CITY, "null", MalformedInput(error="it is null")),
        (CITY, "true", MalformedInput(error="it is a boolean")),
        (CITY, "1e2", MalformedInput(error="it is a number")),
        (CITY, " ", MalformedInput(error="not JSON: Expecting value at character 1")),
        (
            CITY,
            '{"path":"a","content":"abc',
            MalformedInput(error="not JSON: Unterminated string starting at at character 22"),
        ),
        (CITY, '{"city":"a","city":"b"}', MalformedInput(error="an object has the same key twice")),
        (CITY, '{"city":NaN}', MalformedInput(error="NaN and Infinity are no JSON")),
        (
            CITY,
            "[" * 5000 + "]" * 5000,
            MalformedInput(error="more than 128 containers inside each other"),
        ),
        (False, "{}", InvalidInput(value={}, error="/: not allowed")),
        (True, "{}", ValidInput(value={})),
    ],
)
def test_arguments_are_valid_invalid_or_malformed(
    schema: dict[str, Any] | bool | None, text: str, told: ToolInput
) -> None:
    assert check_input(schema, text) == told


@pytest.mark.parametrize(
    ("schema", "value", "violation"),
    [
        ({"type": ["string", "null"]}, 1, "/: must be string or null"),
        ({"enum": ["a", 1]}, "b", '/: must be one of "a", 1'),
        ({"const": {"a": 1}}, 2, '/: must be {"a": 1}'),
        ({"minimum": 3}, 2, "/: must be at least 3"),
        ({"exclusiveMaximum": 3}, 3, "/: must be less than 3"),
        ({"multipleOf": 0.1}, 10**400, "/: too much work to check"),
        ({"maxLength": 2}, "abc", "/: must have at most 2 characters"),
        ({"minItems": 1}, [], "/: must have at least 1 items"),
        ({"pattern": "^a+$"}, "b", "/: must match ^a+$"),
        ({"uniqueItems": True}, [1, 1.0], "/: must have no item twice"),
        ({"uniqueItems": True}, [{"a": [1]}, {"a": [1]}], "/: must have no item twice"),
        ({"uniqueItems": True}, [1, True, 0, False, "1", [1], [True]], None),
        ({"items": {"type": "string"}}, ["a", 1], "/1: must be string"),
        ({"properties": {"a/b~": {"type": "null"}}}, {"a/b~": 1}, "/a~1b~0: must be null"),
        ({"additionalProperties": False}, {"z": 1, "b": 2}, "/b: not allowed"),
        (
            {"patternProperties": {"^x": True}, "additionalProperties": False},
            {"xa": 1, "y": 2},
            "/y: not allowed",
        ),
        ({"additionalProperties": {"type": "string"}}, {"z": 1, "b": 2}, "/b: must be string"),
        ({"unevaluatedProperties": False}, {"a": 1}, "/: has fields that are not allowed"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "/: does not fit dependentRequired"),
        ({"not": {"type": "null"}}, None, "/: is what it must not be"),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]},
            {},
            "/: fits none of the allowed forms; closest: /a: required",
        ),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
            3,
            "/: fits more than one form where only one is allowed",
        ),
        ({"format": "email"}, "no address", None),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, "x", "/: must be integer"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]},
            [1],
            "/0: must be null",
        ),
        ({"enum": ["x" * 500]}, 1, f'/: must be one of "{"x" * 199}…'),
    ],
)
def test_the_first_violation_is_told_by_place_and_reason(
    schema: dict[str, Any], value: object, violation: str | None
) -> None:
    assert check_output(schema, json.dumps(value)) == violation


def test_a_result_that_is_no_json_is_checked_as_a_string() -> None:
    told = [check_output({"type": "string"}, "sunny"), check_output({"type": "object"}, "sunny")]

    assert told == [None, "/: must be object"]


def test_a_recursive_schema_is_followed_as_deep_as_the_value() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"node": node}}
    schema["$ref"] = "#/$defs/node"

    told = check_input(schema, '{"next":{"next":{"next":1}}}')

    assert told == InvalidInput(
        value={"next": {"next": {"next": 1}}}, error="/next/next/next: must be object"
    )


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"minimum": "3"}, "/minimum: must be number"),
        (
            {"$schema": "https://example.com/mine"},
            "/$schema: this draft of JSON Schema is not known",
        ),
        (
            {"properties": {"a": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}},
            "/properties/a: only the root of a schema names its draft",
        ),
        ({"$ref": "https://example.com/s.json"}, "/: https://example.com/s.json leads nowhere"),
        ({"$ref": "file:///etc/passwd"}, "/: file:///etc/passwd leads nowhere"),
        ({"$ref": "#/$defs/gone"}, "/: /$defs/gone leads nowhere"),
        ({"$ref": "#"}, "/: its references go round in circles"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#"}}},
            "/: its references go round in circles",
        ),
        (
            {"properties": {"a": {"items": {"pattern": "(a+)+$"}}}},
            "/properties/a/items: the pattern repeats a repetition whose end is not clear",
        ),
        ({"patternProperties": {"(a|a)*": True}}, "/: the pattern repeats a choice whose"),
        ({"enum": ["x" * 300_000]}, "/: the schema is larger than 262144 bytes"),
        ({"const": float("nan")}, "/: the schema is not lossless JSON"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidToolSchema) as caught:
        compile_schema(schema)

    assert caught.value.message.startswith(reason)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"pattern": {"type": "string"}, "$ref": True}},
        {"properties": {"default": {"pattern": "^a$"}}, "default": {"pattern": "("}},
        {"const": {"$schema": "x", "pattern": "("}, "examples": [{"pattern": "("}]},
        {"anyOf": [{"type": "object"}, {"type": "array"}]},
        {
            "$id": "https://example.com/a",
            "$ref": "https://example.com/a#/$defs/b",
            "$defs": {"b": {}},
        },
        {"$anchor": "top", "properties": {"next": {"$ref": "#top"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": True}},
        True,
    ],
)
def test_a_schema_of_everyday_compiles(schema: dict[str, Any] | bool) -> None:
    compile_schema(schema)


def test_references_that_multiply_are_stopped() -> None:
    layers: dict[str, Any] = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 3} for n in range(20)
    }
    schema = {"$defs": {**layers, "a20": True}, "properties": {"x": {"$ref": "#/$defs/a0"}}}

    told = check_input(schema, '{"x":1}')

    assert told == InvalidInput(value={"x": 1}, error="/: too much work to check")


def test_large_values_are_checked_in_time() -> None:
    items = json.dumps([{"n": n} for n in range(20_000)])

    begun = time.monotonic()
    told = check_output({"uniqueItems": True, "items": {"type": "object"}}, items)

    assert told is None
    assert time.monotonic() - begun < 20


def test_a_text_too_long_for_its_pattern_is_a_violation() -> None:
    told = check_output({"pattern": ".*.*x"}, json.dumps("a" * 5000))

    assert told == "/: must have at most 100 characters"


def test_a_name_too_long_for_its_pattern_is_a_violation() -> None:
    told = check_output({"patternProperties": {".*.*x": True}}, json.dumps({"a" * 5000: 1}))

    assert told == "/: a field name is too long to be checked"


def test_importing_the_checks_does_not_import_the_library() -> None:
    code = "import everturn.tools.schema, sys; print('jsonschema' in sys.modules)"
    path = ":".join(sys.path)

    ran = subprocess.run(  # noqa: S603  our own interpreter
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        text=True,
        env={"PYTHONPATH": path},
    )

    assert ran.stdout == "False\n"
