"""Plain values become attribute values and come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.store.attributes import from_item, size_bytes, to_item

TEXT = st.text(st.characters(codec="utf-8"))
PLAIN = st.one_of(
    TEXT,
    st.integers(-(10**30), 10**30),
    st.binary(),
    st.frozensets(TEXT, min_size=1),
)
VALUES = st.dictionaries(TEXT, st.one_of(PLAIN, st.dictionaries(TEXT, PLAIN)))


@given(values=VALUES)
def test_values_come_back_as_they_were(values: dict[str, object]) -> None:
    assert from_item(to_item(values)) == values


def test_what_is_none_is_left_out() -> None:
    assert to_item({"a": None, "b": "x"}) == {"b": {"S": "x"}}


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError):
        to_item({"a": 1.5})
    with pytest.raises(TypeError):
        from_item({"a": {"L": []}})
    with pytest.raises(TypeError):
        size_bytes({"a": {"L": []}})


def test_an_item_weighs_its_names_and_values() -> None:
    item = to_item({"pk": "é", "n": 1234, "b": b"xyz", "m": {"a": "b"}, "s": frozenset({"q"})})

    assert size_bytes(item) == (2 + 2) + (1 + 4) + (1 + 3) + (1 + 3 + 1 + 2) + (1 + 1)
