"""The body of an order to run a call, a pure function of what its first delivery rested on.

It must not read anything, nor send it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from everturn.protocol.events import to_rfc3339
from everturn.session.events.decisions import AsOf
from everturn.session.facts import PathMessage
from everturn.session.question import tree


@dataclass(frozen=True, slots=True)
class Ask:
    """Everything that an order about a call says, each value read from the log.

    A worker that decides is asked by `question` instead.
    """

    session_id: str
    decision_id: str
    agent_id: str
    identity: Mapping[str, Any]
    turn_id: str | None
    trigger: Mapping[str, Any]
    """What is asked of the worker about the call: to run it, or how far it is."""

    proposed: Mapping[str, Any]
    as_of: AsOf
    open_calls: Sequence[Mapping[str, Any]]
    """The calls of `as_of`, each as a `Call`."""

    path: Sequence[PathMessage]
    agent: Mapping[str, Any]
    state: Any
    attempt: int
    deadline_ms: int
    ancestry: tuple[str, ...] = ()
    """From the root session to the direct parent. Source: decision-protocol Q-7."""


def execution_request(ask: Ask) -> dict[str, Any]:
    """Return the `DecisionRequest`; only `attempts` and `deadline` differ in a redelivery.

    An engine-decided agent's worker gets the path as far back as the model's window reaches, so
    that a delivery costs the same at any age of the session. Source: decision-protocol D-3, Q-4.
    """
    path = [node for node in ask.path if node.seq <= ask.as_of.seq]
    messages = [dict(node.message) for node in path]
    return {
        "session_id": ask.session_id,
        "decision_id": ask.decision_id,
        "agent_id": ask.agent_id,
        "identity": dict(ask.identity),
        "trigger": dict(ask.trigger),
        "proposed": dict(ask.proposed),
        "state": ask.state,
        "agent": dict(ask.agent),
        "calls": [dict(call) for call in ask.open_calls],
        "pending_calls": sum(call.get("kind") != "llm_call" for call in ask.open_calls),
        "messages": messages,
        "message_tree": tree(messages),
        "ancestry": list(ask.ancestry),
        "attempts": ask.attempt,
        "deadline": to_rfc3339(ask.deadline_ms),
        "turn_id": ask.turn_id,
    }
