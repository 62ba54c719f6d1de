"""Spelling of ids, and the ids that the engine makes."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.protocol.ids import (
    MAX_UUID7_MS,
    check_id,
    check_new_turn_id,
    is_id,
    uuid5_in,
    uuid7,
)
from everturn.rejections import InvalidId

ALLOWED = "ABCXYZabcxyz0189._:@-"
TIMES = st.integers(min_value=0, max_value=MAX_UUID7_MS)
NOISE = st.binary(min_size=10, max_size=10)


@given(text=st.text(alphabet=ALLOWED, min_size=1, max_size=200))
def test_a_well_spelled_id_is_accepted(text: str) -> None:
    check_id(text, "session_id")

    assert is_id(text)


@pytest.mark.parametrize("text", ["a" * 200, "a", "."])
def test_ids_at_the_edges_are_accepted(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize("text", ["", "a" * 201, "a/b", "a b", "a\n", "é", "a#b", "\u0661"])
def test_a_badly_spelled_id_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(InvalidId) as caught:
        check_id(text, "session_id")

    assert caught.value.message == ("session_id needs 1 to 200 characters of A-Z a-z 0-9 . _ : @ -")


@pytest.mark.parametrize("text", ["turn-1", "turn-007", "", "a/b"])
def test_a_new_turn_may_not_take_a_reserved_or_bad_name(text: str) -> None:
    with pytest.raises(InvalidId, match="turn_id"):
        check_new_turn_id(text)


@pytest.mark.parametrize("text", ["turn-", "turn-1a", "Turn-1", "t1"])
def test_a_new_turn_may_take_any_other_name(text: str) -> None:
    check_new_turn_id(text)

    assert is_id(text)


@given(at_ms=TIMES, random=NOISE)
def test_a_minted_id_tells_its_time_and_version(at_ms: int, random: bytes) -> None:
    minted = uuid.UUID(uuid7(at_ms, random))

    assert (minted.int >> 80, minted.version, minted.variant) == (at_ms, 7, uuid.RFC_4122)


@given(first=TIMES, second=TIMES, random=NOISE)
def test_minted_ids_sort_by_time(first: int, second: int, random: bytes) -> None:
    in_order = uuid7(first, random) <= uuid7(second, random)

    assert in_order == (first <= second)


def test_a_minted_id_is_lower_case_and_uses_the_random_bytes() -> None:
    ids = {uuid7(1, bytes(9) + bytes([last])) for last in range(256)}

    assert len(ids) == 256
    assert all(re.fullmatch(r"[0-9a-f-]{36}", minted) for minted in ids)


@pytest.mark.parametrize(
    ("at_ms", "random"),
    [(-1, bytes(10)), (MAX_UUID7_MS + 1, bytes(10)), (0, bytes(9)), (0, bytes(11))],
)
def test_minting_refuses_what_does_not_fit(at_ms: int, random: bytes) -> None:
    with pytest.raises(ValueError, match="UUIDv7"):
        uuid7(at_ms, random)


def test_a_derived_id_is_the_same_each_time_and_another_for_other_parts() -> None:
    ids = [
        uuid5_in("s1", "d1", "call"),
        uuid5_in("s1", "d1", 0),
        uuid5_in("s1", "d1", "0"),
        uuid5_in("s1", "d1call"),
        uuid5_in("s2", "d1", "call"),
        uuid5_in("s1"),
    ]

    assert len(set(ids)) == len(ids)
    assert ids[0] == uuid5_in("s1", "d1", "call") == "63db2a34-9d4a-515f-8cfa-0775df45df73"
    assert uuid.UUID(ids[0]).version == 5
