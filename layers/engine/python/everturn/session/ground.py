"""What a proposal rests on, and the model call that it asks for; proposes nothing by itself.

Source: decision-protocol, section 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.protocol.ids import uuid5_in
from everturn.session.guards import Verdict

Proposal = dict[str, Any]

BARE_CALL: Final[dict[str, Any]] = {"type": "llm.call"}


@dataclass(frozen=True, slots=True)
class Ground:
    """What a proposal rests on besides its trigger, all as of the question's first delivery."""

    session_id: str
    decision_id: str
    agent: Mapping[str, Any] | None
    """The config that holds, `AgentConfig` as JSON; `None` where there is none."""

    pending_calls: int = 0
    open_model_calls: int = 0
    layered: tuple[str, ...] = ()
    """Names of the client's tools in `agent`. Source: K-5."""

    declared: Mapping[str, Any] | None = None
    """For `session.start`: the config that the deployment declares."""

    is_undeclared: bool = False
    """For `tool.execute`: the model called what it was not offered. Source: U-3."""

    has_turn: bool = True
    """Whether the question belongs to a turn that is open. Source: T-10."""

    path_end: Mapping[str, Any] | None = None
    """For `interrupt.resumed`: the newest message of the path."""

    continued: Mapping[str, Any] | None = None
    """For the end of a call: what the `llm.call` that led to it set itself. Source: G-3."""

    prompt: Sequence[Mapping[str, Any]] | None = None
    """For the end of a call: that one's explicit messages, and all recorded since. G-3."""

    verdict: Verdict = field(default_factory=Verdict)
    """For `llm.finished`: what the guards made of the reply when it came."""

    is_final: bool = False
    """A guard took the tools from the turn: the next model call is to have none."""

    def tool(self, name: str) -> Mapping[str, Any] | None:
        """Return the config's tool of that name."""
        tools = (self.agent or {}).get("tools") or ()
        return next((tool for tool in tools if tool["name"] == name), None)

    def minted(self, position: int) -> str:
        """Return the `position`-th id of the proposal, the same in every redelivery."""
        return uuid5_in(self.session_id, self.decision_id, position)


def ask(ground: Ground, *new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the next `llm.call`; `new` are messages that the proposal has before it. G-3."""
    call: dict[str, Any] = {**BARE_CALL, **(ground.continued or {})}
    if ground.prompt is not None:
        call["messages"] = [*ground.prompt, *new]
    return {**call, "tools": []} if ground.is_final else call
