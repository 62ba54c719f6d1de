"""Reading strictly, writing in one spelling."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.protocol.json_text import canonical, compact, read_json
from everturn.protocol.limits import MAX_JSON_DEPTH
from everturn.rejections import InvalidJson

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(value=JSON_VALUES)
def test_what_is_written_is_read_back(value: object) -> None:
    texts: list[bytes | str] = [canonical(value), compact(value)]

    assert [read_json(text) for text in texts] == [value, value]


@given(value=st.dictionaries(st.text(), st.integers()))
def test_key_order_is_kept_or_sorted(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))

    assert list(read_json(compact(backwards))) == list(backwards)
    assert canonical(backwards) == canonical(value)


@given(text=st.binary() | st.text() | st.text(alphabet='[]{}",:0123456789.eE-+\\u dD8\n'))
def test_reading_returns_or_refuses_and_does_nothing_else(text: bytes | str) -> None:
    with suppress(InvalidJson):
        value = read_json(text)

        assert read_json(canonical(value)) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "not JSON: Expecting value at character 0"),
        (b"{} x", "not JSON: Extra data at character 3"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b"\xef\xbb\xbf{}", "not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig)"),
        (b"NaN", "NaN and Infinity are no JSON"),
        (b"[-Infinity]", "NaN and Infinity are no JSON"),
        (b"1e999", "a number is out of range"),
        (b'{"a":1,"a":1}', "an object has the same key twice"),
        (rb'"\ud800"', "half a surrogate pair is no character"),
        (rb'{"\uDFFF":1}', "half a surrogate pair is no character"),
        ('"\ud800"', "half a surrogate pair is no character"),
        (b"1" * 4301, "a number has more digits than can be kept"),
        (b"[" * 200_000, "more than 128 containers inside each other"),
        (b"[" * 129 + b"]" * 129, "more than 128 containers inside each other"),
        (b'{"a":' * 129 + b"1" + b"}" * 129, "more than 128 containers inside each other"),
    ],
)
def test_what_is_not_lossless_is_refused_in_a_sentence(text: bytes | str, sentence: str) -> None:
    with pytest.raises(InvalidJson) as caught:
        read_json(text)

    assert caught.value.message.startswith(sentence)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"-0", 0),
        (b"-0.0", 0.0),
        (b"1.0", 1.0),
        (b"1" * 4300, int("1" * 4300)),
        (rb'"\ud83d\ude00"', "\N{GRINNING FACE}"),
        ('"\N{GRINNING FACE}"', "\N{GRINNING FACE}"),
        (rb'"\\ud800"', r"\ud800"),
    ],
)
def test_what_is_lossless_is_read(text: bytes | str, value: object) -> None:
    read = read_json(text)

    assert (repr(read), type(read)) == (repr(value), type(value))


@pytest.mark.parametrize("wide", [b"[" + b"[]," * 400 + b"{}]", b"[" * 128 + b"]" * 128])
def test_many_containers_and_the_allowed_depth_are_read(wide: bytes) -> None:
    value = read_json(wide)

    assert canonical(value) == wide


def test_depth_counts_containers_only() -> None:
    text = b"[" * MAX_JSON_DEPTH + b"1" + b"]" * MAX_JSON_DEPTH

    assert canonical(read_json(text)) == text


@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2, "a": 3}, "\udc00"])
def test_what_is_no_json_is_not_written(value: object) -> None:
    with pytest.raises(InvalidJson):
        canonical(value)


def test_a_circle_is_not_written() -> None:
    circle: list[object] = []
    circle.append(circle)

    with pytest.raises(InvalidJson):
        compact(circle)


def test_text_is_compact_and_not_escaped() -> None:
    value = {"b": ["é", 1.5], "a": None}

    assert compact(value) == '{"b":["é",1.5],"a":null}'
    assert canonical(value) == '{"a":null,"b":["é",1.5]}'.encode()
    assert json.loads(compact(value)) == value
