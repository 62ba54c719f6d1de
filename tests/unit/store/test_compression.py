"""What was compressed once can be read for ever."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.store import compression
from everturn.store.compression import PLAIN_BYTES, deflate, inflate, pack, unpack

ADLER = 2_549_775_262
EARLY = "78f997fa7b9e8b26acaac410a80e001f550d95"


@given(text=st.text(st.characters(codec="utf-8"), max_size=2_000))
def test_any_text_comes_back(text: str) -> None:
    assert unpack(pack(text)) == text
    assert inflate(deflate(text.encode())) == text.encode()


@pytest.mark.parametrize(
    ("length", "kind"), [(PLAIN_BYTES - 1, str), (PLAIN_BYTES, str), (PLAIN_BYTES + 1, bytes)]
)
def test_text_is_compressed_above_its_limit(length: int, kind: type) -> None:
    assert type(pack("a" * length)) is kind


def test_the_dictionary_is_never_changed() -> None:
    known = zlib.adler32(compression._WORDS.encode())

    assert (compression.NEWEST, known) == (ADLER, ADLER)


def test_an_early_stream_is_still_read() -> None:
    early = bytes.fromhex(EARLY)

    assert inflate(early) == b'[{"type":"session.done","turn_id":"t1"}]'
