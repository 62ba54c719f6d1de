"""The shared base: null and absence, unknown fields, strictness, and how a misfit is told."""

from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError

from everturn.errors import RejectedError
from everturn.protocol.ids import VALID_ID
from everturn.protocol.wire import (
    Json,
    JsonSchema,
    Maybe,
    Number,
    Seq,
    WireModel,
    first_problem,
    parse,
    to_json,
)
from everturn.rejections import InvalidId, SchemaViolation


class Leaf(WireModel):
    """A member of a union whose tag is also a field of it."""

    type: Literal["text"] = "text"
    text: str


class Twig(WireModel):
    """Another member."""

    type: Literal["twig"] = "twig"
    leaf: Leaf


class Tree(WireModel):
    """One field of every sort."""

    id: Maybe[Annotated[str, VALID_ID]] = None
    count: Maybe[int] = None
    ratio: Maybe[Annotated[Number, Field(gt=0)]] = None
    flag: Maybe[bool] = None
    names: Maybe[Annotated[Seq[str], Field(max_length=2)]] = None
    parts: Maybe[Seq[Annotated[Leaf | Twig, Field(discriminator="type")]]] = None
    schema_: Maybe[JsonSchema] = None
    loose: Maybe[Leaf | Literal[False]] = None
    table: Maybe[dict[str, int]] = None
    any: Maybe[Json] = None
    required: str | None


TREE = TypeAdapter(Tree)


def test_null_for_an_optional_field_equals_absence() -> None:
    """M-7."""
    nulls = dict.fromkeys(Tree.model_fields)

    tree = parse(TREE, nulls)

    assert tree == parse(TREE, {"required": None})
    assert to_json(tree) == {"required": None}


@given(
    value=st.recursive(
        st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ).filter(lambda value: value is not None)
)
def test_free_form_values_pass_through_untouched(value: object) -> None:
    data = {"any": value, "required": "x"}

    written = to_json(parse(TREE, data))

    assert repr(written) == repr(data)


def test_free_form_values_keep_nulls_key_order_and_big_numbers() -> None:
    value = {"z": None, "a": [None, 10**400, 1.0, 1], "m": {"k": None}}

    written = to_json(parse(TREE, {"any": value, "required": None}))

    assert repr(written["any"]) == repr(value)


def test_arrays_are_tuples_inside_and_lists_on_the_wire() -> None:
    tree = parse(TREE, {"names": ["a", "b"], "required": None})

    assert tree.names == ("a", "b")
    assert to_json(tree) == {"names": ["a", "b"], "required": None}


@pytest.mark.parametrize("ratio", [1, 0.5, 10**400])
def test_a_number_stays_as_it_was_written(ratio: float) -> None:
    tree = parse(TREE, {"ratio": ratio, "required": None})

    assert (tree.ratio, type(tree.ratio)) == (ratio, type(ratio))


@pytest.mark.parametrize("schema", [True, False, {}, {"type": "object"}])
def test_a_schema_is_an_object_or_a_boolean(schema: JsonSchema) -> None:
    tree = parse(TREE, {"schema_": schema, "required": None})

    assert tree.schema_ == schema


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (5, "/: should be an object"),
        ([], "/: should be an object"),
        ({}, "/required: is required"),
        ({"required": 5}, "/required: should be a valid string"),
        ({"required": "x", "more": 1}, "/more: unknown field"),
        ({"required": "x", "a/b~\n" + "c" * 90: 1}, f"/a~1b~0?{'c' * 59}: unknown field"),
        ({"required": "x", "count": True}, "/count: should be a valid integer"),
        ({"required": "x", "count": "1"}, "/count: should be a valid integer"),
        ({"required": "x", "count": 1.0}, "/count: should be a valid integer"),
        ({"required": "x", "flag": 1}, "/flag: should be a valid boolean"),
        ({"required": "x", "ratio": True}, "/ratio: should be a number"),
        ({"required": "x", "ratio": float("inf")}, "/ratio: should be a number"),
        ({"required": "x", "ratio": 0}, "/ratio: should be greater than 0"),
        ({"required": "x", "names": "ab"}, "/names: should be a list"),
        ({"required": "x", "names": {"a": 1}}, "/names: should be a list"),
        ({"required": "x", "names": ["a", 1, 2]}, "/names/1: should be a valid string"),
        ({"required": "x", "names": ["a", "b", "c"]}, "/names: has more than 2 items"),
        ({"required": "x", "table": []}, "/table: should be an object"),
        ({"required": "x", "table": {"k": "v"}}, "/table/k: should be a valid integer"),
        (
            {"required": "x", "schema_": "s"},
            "/schema_: should be a JSON Schema: an object or a boolean",
        ),
        ({"required": "x", "parts": [5]}, "/parts/0: should be an object"),
        ({"required": "x", "parts": [{}]}, "/parts/0: type is required"),
        (
            {"required": "x", "parts": [{"type": "secret"}]},
            "/parts/0: unknown type; known: text, twig",
        ),
        (
            {"required": "x", "parts": [{"type": "text", "text": 5}]},
            "/parts/0/text: should be a valid string",
        ),
        ({"required": "x", "parts": [{"type": "text"}]}, "/parts/0/text: is required"),
        (
            {"required": "x", "parts": [{"type": "text", "text": "t", "s": 1}]},
            "/parts/0/s: unknown field",
        ),
        (
            {"required": "x", "parts": [{"type": "twig", "leaf": {"text": "t", "s": 1}}]},
            "/parts/0/leaf/s: unknown field",
        ),
        (
            {"required": "x", "loose": {"text": 1}},
            "/loose/text: should be a valid string (and 1 more)",
        ),
    ],
)
def test_a_misfit_is_told_in_one_sentence_with_its_path(data: object, sentence: str) -> None:
    """M-7: an unknown field is one."""
    with pytest.raises(SchemaViolation) as caught:
        parse(TREE, data)

    assert caught.value.message == sentence


def test_a_bad_id_is_told_apart_from_other_misfits() -> None:
    data = {"id": "a/b", "required": None}

    with pytest.raises(RejectedError) as caught:
        parse(TREE, data)

    assert type(caught.value) is InvalidId
    assert caught.value.message == "/id: needs 1 to 200 characters of A-Z a-z 0-9 . _ : @ -"


def test_the_offending_content_is_not_shown() -> None:
    data = {"required": {"deep": "hunter2"}, "count": "hunter2", "parts": [{"type": "hunter2"}]}

    with pytest.raises(SchemaViolation) as caught:
        parse(TREE, data)

    assert "hunter2" not in caught.value.message
    assert caught.value.__cause__ is None


def test_without_the_data_the_path_keeps_the_names_of_union_members() -> None:
    with pytest.raises(ValidationError) as caught:
        TREE.validate_json('{"required": "x", "parts": [{"type": "text", "text": 5}]}')

    assert first_problem(caught.value).sentence == ("/parts/0/text/text: should be a valid string")


def test_a_model_does_not_change() -> None:
    tree = Tree(required=None)

    with pytest.raises(ValidationError):
        tree.required = "x"  # type: ignore[misc]  # that is the point

    assert tree == Tree(required=None)


def test_a_reader_of_stored_data_may_skip_what_it_does_not_know() -> None:
    data = {"required": "x", "new": 1, "parts": [{"type": "text", "text": "t", "new": 1}]}

    tree = TREE.validate_python(data, extra="ignore")

    assert tree == Tree(required="x", parts=(Leaf(text="t"),))
