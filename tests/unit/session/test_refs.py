"""Places of bodies."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from everturn.session.refs import BlobPlace, Ref, pick, put, same_as

NAMES = st.text("abc", min_size=1, max_size=3)


def test_a_reference_says_where_a_body_stands() -> None:
    place = same_as(7, "news.0")
    blob = Ref(blob=BlobPlace(key="k", sha256="s", size_bytes=3))

    assert place.model_dump(by_alias=True, exclude_none=True) == {
        "from": {"seq": 7, "field": "news.0"}
    }
    assert Ref.model_validate(blob.model_dump(by_alias=True)) == blob


@pytest.mark.parametrize(
    ("field", "found"), [("a", {"b": [1, {"c": 2}]}), ("a.b.0", 1), ("a.b.1.c", 2)]
)
def test_a_dotted_path_leads_into_objects_and_lists(field: str, found: Any) -> None:
    assert pick({"a": {"b": [1, {"c": 2}]}}, field) == found


@pytest.mark.parametrize("field", ["x", "a.x", "a.b.2", "a.b.x", "a.b.²", "a.b.0.c"])
def test_a_path_that_leads_nowhere_is_an_error(field: str) -> None:
    with pytest.raises(KeyError):
        pick({"a": {"b": [1, {"c": 2}]}}, field)


@given(field=st.lists(NAMES, min_size=1, max_size=4).map(".".join), body=st.integers())
def test_what_is_put_is_picked(field: str, body: int) -> None:
    value = {"a": {"b": 1}, "c": "text"}

    filled = put(value, field, body)

    assert pick(filled, field) == body
    assert value == {"a": {"b": 1}, "c": "text"}
