"""Bytes of an event stream -> its frames, wherever the bytes are split; gives them no meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseFrame:
    """One event: its name (`message` when the stream gave none) and its data, lines joined."""

    event: str
    data: str


@dataclass(frozen=True, slots=True)
class FrameTooLarge:
    """The frame that is under way has outgrown the limit; nothing after it can be trusted."""

    limit_bytes: int


class SseParser:
    """Feed it pieces of any size. CR, LF and CRLF end lines; comments, ids and retries are skipped.

    Source: WHATWG HTML, 9.2.6 "Interpreting an event stream". A frame without its closing blank
    line does not count, so a cut stream never yields half a frame.
    """

    __slots__ = (
        "_after_cr",
        "_data",
        "_ended",
        "_event",
        "_first_line",
        "_limit_bytes",
        "_line",
        "_size_bytes",
    )

    def __init__(self, *, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._line = bytearray()
        self._after_cr = False
        self._first_line = True
        self._event = ""
        self._data: list[str] = []
        self._size_bytes = 0
        self._ended = False

    def feed(self, piece: bytes) -> Iterable[SseFrame | FrameTooLarge]:
        """Return the frames that `piece` completes; a `FrameTooLarge` is the last thing returned.

        What it returns is to be read before it is fed again.
        """
        if piece.endswith(b"\n\n") and b"\r" not in piece and self._is_between(len(piece)):
            return _whole_frames(piece)
        return self._fed(piece)

    def _is_between(self, size_bytes: int) -> bool:
        """Whether no frame is under way and one of so many bytes is within the limit."""
        return not (
            self._size_bytes or self._line or self._first_line or self._after_cr or self._ended
        ) and (size_bytes <= self._limit_bytes)

    def _fed(self, piece: bytes) -> Iterator[SseFrame | FrameTooLarge]:
        if self._after_cr and piece[:1] == b"\n":
            piece = piece[1:]
            self._after_cr = False
        if not piece or self._ended:
            return
        self._after_cr = piece.endswith(b"\r")
        *ended, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for end in ended:
            self._line += end
            if self._is_too_large():
                yield FrameTooLarge(self._limit_bytes)
                return
            line = bytes(self._line)
            self._line.clear()
            frame = self._take(line)
            if frame is not None:
                yield frame
        self._line += rest
        if self._is_too_large():
            yield FrameTooLarge(self._limit_bytes)

    def _is_too_large(self) -> bool:
        self._ended = self._size_bytes + len(self._line) > self._limit_bytes
        return self._ended

    def _take(self, line: bytes) -> SseFrame | None:
        """Take one whole line in; a blank one ends the frame, which counts if it has data."""
        if self._first_line:
            line = line.removeprefix(_BOM)
            self._first_line = False
        if not line:
            return self._end_frame()
        self._size_bytes += len(line)
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif not name:  # a comment: it must not add up over a long, quiet stream
            self._size_bytes -= len(line)
        return None

    def _end_frame(self) -> SseFrame | None:
        event, data = self._event or "message", self._data
        self._event, self._data, self._size_bytes = "", [], 0
        return SseFrame(event, "\n".join(data)) if data else None


def _whole_frames(piece: bytes) -> list[SseFrame]:
    """Return the frames of a piece that holds nothing but whole ones, with LF alone.

    That is how servers send them, so it is the way of nearly every token.
    """
    frames: list[SseFrame] = []
    event, data = "", list[str]()
    for line in piece.decode("utf-8", "replace").split("\n"):
        if line.startswith("data: "):
            data.append(line[6:])
        elif line.startswith("event: "):
            event = line[7:]
        elif line:
            name, _, value = line.partition(":")
            if name == "data":
                data.append(value)
            elif name == "event":
                event = value
        else:
            if data:
                frames.append(SseFrame(event or "message", "\n".join(data)))
                data.clear()
            event = ""
    return frames
