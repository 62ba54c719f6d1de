"""Earlier messages as their provider said them, where they go back to it; reads no log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from everturn.ports.model import Replay


@dataclass(frozen=True, slots=True)
class Said:
    """A message that goes back as it was said."""

    message_id: str
    blocks: tuple[Mapping[str, Any], ...]
    """As stored; a tool call's block has `call`, the call as the request has it."""

    state: str | None


def replayed(
    messages: Sequence[Mapping[str, Any]], replays: Mapping[str, Replay], model: str
) -> Iterator[Said]:
    """Yield what `model` said itself, of the messages of a request.

    What another model said goes as the public message alone. Source: session-log MB-5.
    """
    for message in messages:
        replay = replays.get(message.get("id") or "")
        if message["role"] != "assistant" or replay is None or replay.model != model:
            continue
        blocks = _with_calls(replay.blocks, message.get("tool_calls") or ())
        if blocks is not None:
            yield Said(message["id"], blocks, replay.state)


def _with_calls(
    blocks: tuple[Mapping[str, Any], ...], calls: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...] | None:
    """Return `blocks` with the message's calls in them; nothing where there are others now."""
    if not blocks:
        return ()
    left = list(calls)
    joined: list[Mapping[str, Any]] = []
    for block in blocks:
        if block["type"] != "tool-call":
            joined.append(block)
        elif left:
            joined.append({"type": "tool-call", "call": left.pop(0)})
        else:
            return None
    return None if left else tuple(joined)
