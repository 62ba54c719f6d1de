"""W-8: any split of the bytes of a stream parses alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everturn.outbound.sse import FrameTooLarge, SseFrame, SseParser

WORDS = [
    "event: decision.result",
    "event:llm.token.delta",
    'data: {"text":"grüße 😀"}',
    "data:second line",
    "data",
    "data:",
    ": a comment",
    "id: 7",
    "retry: 10",
    "unknown: x",
    "",
    "",
]
PLAIN = [word.encode() for word in WORDS]
LINES = st.lists(st.sampled_from(WORDS), max_size=20)
ENDINGS = st.sampled_from(["\n", "\r", "\r\n"])


def parsed(pieces: Sequence[bytes], limit_bytes: int = 1000) -> list[SseFrame | FrameTooLarge]:
    parser = SseParser(limit_bytes=limit_bytes)
    return [frame for piece in pieces for frame in parser.feed(piece)]


@given(lines=LINES, ending=ENDINGS, cuts=st.lists(st.integers(min_value=0, max_value=400)))
def test_any_split_of_the_bytes_parses_alike(
    lines: list[str], ending: str, cuts: list[int]
) -> None:
    stream = "".join(line + ending for line in lines).encode()
    at = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(at)]

    frames = parsed(pieces)

    assert frames == parsed([stream])


@given(
    frames=st.lists(st.lists(st.sampled_from([*PLAIN, b"", b"data: \xe2\x82", b"\xef\xbb\xbf"])))
)
def test_pieces_that_are_whole_frames_parse_like_single_bytes(frames: list[list[bytes]]) -> None:
    pieces = [b"".join(line + b"\n" for line in lines) + b"\n" for lines in frames]
    stream = b": first\n\n" + b"".join(pieces)

    read = parsed([b": first\n\n", *pieces])

    assert read == parsed([stream[at : at + 1] for at in range(len(stream))])


@given(lines=LINES)
def test_every_line_ending_means_the_same(lines: list[str]) -> None:
    streams = ["".join(line + ending for line in lines).encode() for ending in ("\n", "\r", "\r\n")]

    frames = [parsed([stream]) for stream in streams]

    assert frames[0] == frames[1] == frames[2]


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        pytest.param("data: a\ndata: b\n\n", [SseFrame("message", "a\nb")], id="lines joined"),
        pytest.param("\ufeffdata: a\n\n", [SseFrame("message", "a")], id="byte order mark"),
        pytest.param("data:  a\n\n", [SseFrame("message", " a")], id="one space goes"),
        pytest.param("event: x\n\ndata: a\n\n", [SseFrame("message", "a")], id="name without data"),
        pytest.param("data\n\n", [SseFrame("message", "")], id="data without a colon"),
        pytest.param("event: x\ndata: a", [], id="cut in the last line"),
        pytest.param("event: x\ndata: a\n", [], id="cut before the blank line"),
        pytest.param(": ping\n\n: ping\n\n", [], id="comments"),
    ],
)
def test_a_stream_is_read_as_the_specification_says(stream: str, frames: list[SseFrame]) -> None:
    assert parsed([stream.encode()]) == frames


def test_a_character_may_be_split_between_two_pieces() -> None:
    stream = "data: 😀\n\n".encode()

    frames = parsed([stream[:8], stream[8:]])

    assert frames == [SseFrame("message", "😀")]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b"data: " + b"x" * 30 + b"\n\n"], id="one line"),
        pytest.param([b"data: xxxxx\n"] * 3, id="many lines"),
        pytest.param([b"x" * 10] * 3, id="a line without an end"),
        pytest.param([b": " + b"x" * 30], id="a comment without an end"),
    ],
)
def test_a_frame_over_the_limit_ends_the_stream(pieces: list[bytes]) -> None:
    frames = parsed(pieces, limit_bytes=20)

    assert frames == [FrameTooLarge(20)]


def test_comments_of_a_quiet_stream_do_not_add_up() -> None:
    frames = parsed([b": still here\n"] * 100 + [b"data: a\n\n"], limit_bytes=20)

    assert frames == [SseFrame("message", "a")]
