"""Code blocks of pages, and the marks that say what a test does with them.

<!-- runs -->          a shell block that ends well
<!-- serves 8700 -->   a shell block that goes on until it is stopped, and listens on that port
<!-- file worker.py -->  a block that is the text of a file
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:<!-- (?P<kind>runs|serves|file)(?: (?P<about>\S+))? -->\n)?"
    r"```(?P<language>\w+)\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block with a language."""

    language: str
    body: str
    kind: str = ""
    about: str = ""


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in their order."""
    return [
        Block(found["language"], found["body"], found["kind"] or "", found["about"] or "")
        for found in _BLOCK.finditer(page.read_text())
    ]
