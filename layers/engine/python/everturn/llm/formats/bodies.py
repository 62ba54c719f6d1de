"""The formats in which a worker runs model calls, by name: neutral, OpenAI's, Anthropic's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from everturn.errors import RejectedError
from everturn.llm.formats import anthropic, openai
from everturn.protocol.json_text import read_json
from everturn.protocol.llm import StreamDelta


def to_body(
    format_name: str, request: Mapping[str, Any], failed: frozenset[str] = frozenset()
) -> Mapping[str, Any]:
    """Return a neutral request as the body that `format_name` names.

    Raises `UnsupportedContent`. Source: decision-protocol W-1, W-4, W-6.
    """
    if format_name == "anthropic":
        return anthropic.to_body(request, failed)
    return openai.to_body(request)


def delta_reader(format_name: str | None) -> Callable[[str], StreamDelta | None]:
    """Return what reads the frames of one streamed answer; one that is unreadable is skipped.

    Source: decision-protocol W-9.
    """
    reader: Callable[[Any], dict[str, Any] | None] | None = None
    if format_name is not None:
        is_anthropic = format_name == "anthropic"
        reader = anthropic.Deltas().read if is_anthropic else openai.Deltas().read

    def read(text: str) -> StreamDelta | None:
        try:
            value = read_json(text.encode())
            given = reader(value) if reader else value
            return StreamDelta.model_validate(given) if given else None
        except (RejectedError, AttributeError, LookupError, TypeError, ValueError):
            return None

    return read
