"""A cursor is opaque, names a place in one order, and is refused if it is none of ours."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.commands.cursors import MAX_CHARS, from_cursor, to_cursor
from everturn.rejections import InvalidId

IDS = st.from_regex(r"[A-Za-z0-9._:@-]{1,200}", fullmatch=True)


def coded(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


@given(name=IDS)
def test_a_cursor_gives_its_place_back(name: str) -> None:
    place = f"2026-01-01T12:00:00.000Z#{name}"

    cursors = (to_cursor("last_turn", place), to_cursor("agent", name))

    assert from_cursor("last_turn", cursors[0]) == place
    assert from_cursor("agent", cursors[1]) == name
    assert max(map(len, cursors)) <= MAX_CHARS


def test_no_cursor_is_the_beginning() -> None:
    assert from_cursor("created", None) == ""


@given(text=st.text(max_size=40))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidId):
        from_cursor("created", text)


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "é",
        "x" * 10_000,
        coded('["created"]'),
        coded('["created","0198f000"]'),
        coded('["agent","helper"]'),
        coded('["last_turn","2026-01-01T12:00:00.000Z#a#b"]'),
        coded('["last_turn","LIST#rival"]'),
        coded('[ "last_turn","2026-01-01T12:00:00.000Z#a"]'),
        coded('["last_turn","2026-01-01T12:00:00.000Z#a"]') + "=",
        coded('{"last_turn":1}'),
    ],
)
def test_what_another_order_or_another_hand_made_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidId):
        from_cursor("last_turn", cursor)
