"""Reasoning as OpenRouter tells it, piece by piece, and back to it as it was; reads no frames.

Source: OpenRouter API, "Reasoning tokens", "Preserving reasoning".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from everturn.llm.chunks import Chunk
from everturn.llm.providers.blocks import Blocks

TEXTS: Final = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Where each kind of detail has its text; others have none."""

_Key = tuple[str, str, str]


class Details:
    """Makes one block of reasoning of each detail; all but the text is its signature."""

    def __init__(self, blocks: Blocks, *, is_kept: bool) -> None:
        """Without `is_kept`, the text is all that is read."""
        self._blocks = blocks
        self._is_kept = is_kept
        self._seen: dict[_Key, dict[str, Any]] = {}

    def read(self, details: Sequence[Mapping[str, Any]]) -> Iterator[Chunk]:
        """Yield what the details of one chunk say."""
        for detail in details:
            kind = str(detail.get("type"))
            text = TEXTS.get(kind)
            about = "" if text else str(detail.get("id"))  # a text's id may come with its end
            key = (kind, str(detail.get("index")), about)
            told = {name: value for name, value in detail.items() if name != text}
            seen = self._seen.setdefault(key, {})
            seen |= {name: value for name, value in told.items() if value is not None}
            piece = detail.get(text) if text else None
            if isinstance(piece, str):
                yield from self._blocks.reasoning(piece, key)

    def end(self) -> Iterator[Chunk]:
        """Yield the ends of the blocks."""
        for key, told in self._seen.items():
            is_empty = not (self._is_kept or key[0] in TEXTS)
            if not is_empty:
                yield from self._blocks.reasoning_end(
                    _written({"v": 1, "detail": told}) if self._is_kept else None, key
                )


def details_of(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the details that stored blocks were made of, as they go back; what is no detail is
    left out."""
    found = []
    for block in blocks:
        detail = _detail(block.get("signature")) if block["type"] == "reasoning" else None
        if detail is None:
            continue
        text = TEXTS.get(str(detail.get("type")))
        found.append({**detail, text: block["thinking"]} if text else detail)
    return found


def _detail(signature: Any) -> dict[str, Any] | None:
    try:
        told = json.loads(signature) if isinstance(signature, str) else None
    except ValueError:
        return None
    detail = told.get("detail") if isinstance(told, dict) and told.get("v") == 1 else None
    return detail if isinstance(detail, dict) else None


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
