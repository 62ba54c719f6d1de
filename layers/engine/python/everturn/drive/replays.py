"""What models said before, as their providers want it back; read from commits, asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from everturn.ports.model import Replay
from everturn.ports.sessions import Logged
from everturn.session.events.model_calls import ModelCallCompleted


def replays_of(
    logged: Iterable[Logged], messages: Iterable[Mapping[str, Any]]
) -> dict[str, Replay]:
    """Return the replays of those messages of a request that stand in it as they were said.

    A message that a worker rewrote has none. Source: session-log MB-4, MB-5.
    """
    asked = {message["id"]: message for message in messages if message.get("id")}
    found = {}
    for commit in logged:
        for event in commit.events:
            if not isinstance(event, ModelCallCompleted) or not event.private:
                continue
            if event.message is None or not _is_as_said(asked.get(event.id), event.message):
                continue
            if replay := _replay(event.private):
                found[event.id] = replay
    return found


def _is_as_said(message: Mapping[str, Any] | None, said: Mapping[str, Any]) -> bool:
    return message is not None and all(
        message.get(name) == said.get(name) for name in ("content", "tool_calls")
    )


def _replay(kept: Mapping[str, Any]) -> Replay | None:
    """Return what was kept; an answer from before routes were noted is not said again."""
    if not kept.get("provider"):
        return None
    blocks = tuple(kept.get("blocks") or ())
    return Replay(kept["provider"], kept["model"], blocks, kept.get("replay_state"))
