"""Stored events as clients see them, and the cursors of a stream; what is private stays inside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from everturn.ports.sessions import Logged
from everturn.ports.streams import Delta
from everturn.protocol.events import to_rfc3339
from everturn.rejections import InvalidId
from everturn.session.events.children import SubAgentRequested, SubAgentTurnCompleted
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallErrored,
    ModelCallRequested,
)
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.shape import Usage
from everturn.session.events.stored import Event, to_json
from everturn.session.events.tool_calls import ToolCallRequested

HIDDEN: Final[dict[str, frozenset[str]]] = {
    "message.new": frozenset({"id"}),
    "request.header": frozenset({"sha256"}),
    "decision.queued": frozenset({"news", "client", "action", "agent"}),
    "llm.call.requested": frozenset({"messages"}),
    "session.message_requested": frozenset({"message"}),
    "turn.started": frozenset({"stream"}),
    "run.requested": frozenset({"config", "client", "messages"}),
}
"""Fields of the stored form that are not part of the public one, beside `private` and `refs`."""

SHOWN_AT_DEFAULT: Final[dict[str, dict[str, Any]]] = {
    "session.created": {"ancestry": []},
    "turn.started": {"reason": "submit"},
    "turn.completed": {"cost": "0", "sub_agent_cost": "0", "usage": {}},
    "llm.call.requested": {"handler": "server", "stream": False},
    "tool.call.requested": {"handler": "worker"},
    "decision.completed": {"attempt": 1},
    "sub_agent.turn_completed": {"cost": "0", "usage": {}},
    "inbox.enqueued": {"placement": "queued", "wakeup": True},
    "outbox.delivered": {"outcome": "delivered"},
}
"""Public fields that the stored form leaves out at their default. Source: decision-protocol E-7."""

NAMES_ITS_TURN: Final = frozenset(
    {
        "turn.started",
        "turn.completed",
        "turn.stalled",
        "turn.admitted",
        "step.started",
        "step.ended",
    }
)
"""Events whose payload repeats the turn id. Source: E-7, session-log section 3."""

_CURSOR: Final = re.compile(r"(\d{1,15})(?:\.(\d{1,15})-(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last event and the last frame of model output that a client has seen."""

    seq: int = 0
    dispatch_seq: int = 0
    n: int = 0

    def text(self) -> str:
        """Return the stream id. Source: storage-and-commits, "Streams"."""
        return f"{self.seq}.{self.dispatch_seq}-{self.n}"


def read_cursor(text: str) -> Cursor:
    """Return the cursor that `text` spells; a bare number is that event without older deltas.

    Raises `InvalidId`.
    """
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise InvalidId(
            "The cursor is not one of ours; use the id of a frame, or an event's number."
        )
    seq, dispatch_seq, n = (int(part) if part else 0 for part in found.groups())
    if found.group(2) is None:
        return Cursor(seq, seq, 0)
    return Cursor(seq, dispatch_seq, n)


def envelopes(session_id: str, commit: Logged) -> list[dict[str, Any]]:
    """Return the public envelope of each event of a commit whose bodies are in their places."""
    occurred_at = to_rfc3339(commit.at_ms)
    return [_envelope(session_id, seq, occurred_at, event) for seq, event in commit.numbered()]


def _envelope(session_id: str, seq: int, occurred_at: str, event: Event) -> dict[str, Any]:
    turn = {"turn_id": event.turn_id} if event.turn_id else {}
    return {
        "session_id": session_id,
        "seq": seq,
        "occurred_at": occurred_at,
        **turn,
        "payload": payload(event),
    }


def payload(event: Event) -> dict[str, Any]:
    """Return the public payload of an event: instants as text, nothing private. Source: E-7."""
    stored = to_json(event)
    hidden = HIDDEN.get(event.type, frozenset()) | {"private", "refs", "turn_id"}
    shown: dict[str, Any] = {"type": event.type}
    if event.type in NAMES_ITS_TURN and event.turn_id:
        shown["turn_id"] = event.turn_id
    shown.update(SHOWN_AT_DEFAULT.get(event.type, {}))
    for name, value in stored.items():
        if name in hidden:
            continue
        if name.endswith("_ms"):
            shown[name.removesuffix("_ms")] = to_rfc3339(value)
        else:
            shown[name] = value
    return shown | _whole(event)


def _whole(event: Event) -> dict[str, Any]:
    """Return the fields whose parts are shown even where they are at their default.

    Source: R-1 (all four of a policy), Y-2 (both totals of a usage).
    """
    match event:
        case (
            ModelCallRequested(retry=retry)
            | ToolCallRequested(retry=retry)
            | SubAgentRequested(retry=retry)
        ):
            return {"retry": retry.model_dump(mode="json")}
        case (
            TurnCompleted(usage=Usage() as usage)
            | ModelCallCompleted(usage=Usage() as usage)
            | ModelCallErrored(usage=Usage() as usage)
            | SubAgentTurnCompleted(usage=usage)
        ):
            totals = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
            return {"usage": totals | usage.model_dump(mode="json", exclude_defaults=True)}
        case _:
            return {}


def delta_payload(session_id: str, agent_id: str, delta: Delta) -> dict[str, Any]:
    """Return a frame of model output. Source: decision-protocol E-4."""
    turn = {"turn_id": delta.turn_id} if delta.turn_id else {}
    return {
        "type": "llm.token.delta",
        "session_id": session_id,
        "agent_id": agent_id,
        **turn,
        "call_id": delta.call_id,
        "attempt": delta.attempt,
        "seq": delta.n,
        **delta.body,
    }
