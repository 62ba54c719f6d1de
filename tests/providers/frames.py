"""Server-sent events as bytes, and ways to split them.

It must not know what is in them.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, Final

DONE: Final = b"data: [DONE]\n\n"
"""How OpenAI ends a stream."""

COMMENT: Final = b": keep-alive\n\n"


def frame(data: Any, event: str = "", newline: str = "\n") -> bytes:
    """Return one frame with `data` in JSON, characters beyond ASCII as they are."""
    lines = [f"event: {event}"] if event else []
    lines.append(f"data: {json.dumps(data, ensure_ascii=False)}")
    return newline.join([*lines, "", ""]).encode()


def split(data: bytes, *at: int) -> tuple[bytes, ...]:
    """Return `data` in pieces that begin at these places."""
    return tuple(data[start:end] for start, end in pairwise((0, *at, len(data))))


def every_byte(data: bytes) -> tuple[bytes, ...]:
    """Return `data` in pieces of one byte, which parts characters and line ends as well."""
    return split(data, *range(1, len(data)))
