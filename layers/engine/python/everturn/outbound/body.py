"""The body of an answer, read within bounds, packed or not; what it says is not known here."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

_GZIP = 16 + zlib.MAX_WBITS
_PIECE_BYTES = 64 * 1024


class BodyTooLarge(Exception):
    """More bytes than allowed, counted after unpacking."""


class BodyUnreadable(Exception):
    """Packed in a way that was not offered, damaged, or cut."""


def unpacked(chunks: Iterable[bytes], encoding: str, *, limit_bytes: int) -> Iterator[bytes]:
    """Yield the body piece by piece, each at most 64 KiB once unpacked.

    We ask for `identity`; gzip is read all the same, because proxies add it.
    Raises `BodyTooLarge` before more than `limit_bytes` were yielded, `BodyUnreadable`.
    """
    left = limit_bytes
    for piece in _plain(chunks, encoding.strip().lower()):
        left -= len(piece)
        if left < 0:
            raise BodyTooLarge
        yield piece


def _plain(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    match encoding:
        case "" | "identity":
            yield from chunks
        case "gzip" | "x-gzip":
            yield from _gunzip(chunks)
        case _:
            raise BodyUnreadable


def _gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack with bounded memory, however many times larger the body becomes."""
    member = zlib.decompressobj(_GZIP)
    begun = False
    try:
        for chunk in chunks:
            waiting, more = chunk, bool(chunk)
            while more:
                begun = True
                if member.eof:  # a gzip file may have several members
                    member = zlib.decompressobj(_GZIP)
                piece = member.decompress(waiting, _PIECE_BYTES)
                waiting = member.unused_data if member.eof else member.unconsumed_tail
                more = bool(waiting) or (len(piece) == _PIECE_BYTES and not member.eof)
                if piece:
                    yield piece
    except zlib.error as error:
        raise BodyUnreadable from error
    if begun and not member.eof:
        raise BodyUnreadable
