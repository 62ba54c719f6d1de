"""Looks things up in a log at hand; decides nothing. It needs the whole log, bodies in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from everturn.protocol.events import to_rfc3339
from everturn.session.events.children import SubAgentRequested, SubAgentTurnCompleted
from everturn.session.events.decisions import AsOf, DecisionDispatched, DecisionQueued
from everturn.session.events.guards import (
    GuardNoted,
    LoopDetected,
    OutputRejected,
    ToolBudgetExceeded,
)
from everturn.session.events.messages import AgentUpdated, MessageNew, StateUpdated
from everturn.session.events.model_calls import (
    ModelCallCompleted,
    ModelCallRequested,
    RequestHeader,
)
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import (
    ToolCallCompleted,
    ToolCallRequested,
)
from everturn.session.events.tree import Stretch
from everturn.session.facts import Begun, PathMessage
from everturn.session.guards import Verdict
from everturn.session.sub_agents import tools_of
from everturn.session.tree import Stretches, branches_of, path_to, version_on


@dataclass(frozen=True, slots=True)
class Contract:
    """What is promised about a tool call. Source: decision-protocol U-3."""

    kind: Literal["declared", "undeclared", "untraced"]
    """`undeclared`: the model was not offered the tool; `untraced`: nobody knows the tool."""

    tool: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """A session's log by number."""

    log: Mapping[int, Event]

    def path(self, node_id: str | None) -> tuple[PathMessage, ...]:
        """Return the messages from the root to one of them."""
        return path_to(self.log.items(), node_id)

    def tree(self, upto_seq: int) -> list[dict[str, Any]]:
        """Return every node of every branch as of event `upto_seq`, as the wire's `Node`s."""
        return [
            {
                "message": dict(event.message),
                **({"parent_id": event.parent_id} if event.parent_id else {}),
            }
            for seq, event in self.log.items()
            if isinstance(event, MessageNew) and seq <= upto_seq
        ]

    def tool_request(self, call_id: str) -> ToolCallRequested | None:
        """Return what asked for a tool call."""
        return next(
            (e for e in self.log.values() if isinstance(e, ToolCallRequested) and e.id == call_id),
            None,
        )

    def child_request(self, call_id: str) -> SubAgentRequested | None:
        """Return what asked for a child."""
        return next(
            (e for e in self.log.values() if isinstance(e, SubAgentRequested) and e.id == call_id),
            None,
        )

    def model_request(self, call_id: str) -> tuple[int, ModelCallRequested] | None:
        """Return what asked for a model call, and its number."""
        for seq, event in self.log.items():
            if isinstance(event, ModelCallRequested) and event.id == call_id:
                return seq, event
        return None

    def header(self, seq: int) -> Mapping[str, Any]:
        """Return the request header at event `seq`."""
        event = self.log.get(seq)
        header: Mapping[str, Any] = event.header if isinstance(event, RequestHeader) else {}
        return header

    def agent(self, seq: int) -> AgentUpdated | None:
        """Return the config of version `seq`, `None` for none."""
        event = self.log.get(seq)
        return event if isinstance(event, AgentUpdated) else None

    def state(self, seq: int) -> Any:
        """Return the worker's state of version `seq`, `None` for none."""
        event = self.log.get(seq)
        return event.state if isinstance(event, StateUpdated) else None

    def queued(self, seq: int) -> DecisionQueued | None:
        """Return the question that event `seq` queued."""
        event = self.log.get(seq)
        return event if isinstance(event, DecisionQueued) else None

    def as_of(self, dispatched_seq: int) -> AsOf | None:
        """Return what the first delivery of a question rested on."""
        event = self.log.get(dispatched_seq)
        return event.private.as_of if isinstance(event, DecisionDispatched) else None

    def has_ended(self, turn_id: str, upto_seq: int) -> bool:
        """Return whether a turn was over at event `upto_seq`."""
        return any(
            isinstance(event, TurnCompleted) and event.turn_id == turn_id and seq <= upto_seq
            for seq, event in self.log.items()
        )

    def is_final(self, turn_id: str, upto_seq: int) -> bool:
        """Return whether a guard had taken the tools from a turn at event `upto_seq`."""
        return any(
            isinstance(event, GuardNoted) and event.turn_id == turn_id and event.private.is_final
            for seq, event in self.log.items()
            if seq <= upto_seq
        )

    def verdict(self, end_seq: int, queued_seq: int) -> Verdict:
        """Return what the guards made of the reply at event `end_seq`, asked about at another."""
        end = self.log.get(end_seq)
        if not isinstance(end, ModelCallCompleted) or end.finish_reason == "length":
            return Verdict()
        since = [event for seq, event in self.log.items() if end_seq < seq < queued_seq]
        noted = [event.private for event in since if isinstance(event, GuardNoted)]
        loops = [event for event in since if isinstance(event, LoopDetected)]
        rejected = [event for event in since if isinstance(event, OutputRejected)]
        has_calls = bool(end.message.get("tool_calls"))
        return Verdict(
            noted[0] if noted else None,
            loops[0] if loops else None,
            tuple(event for event in since if isinstance(event, ToolBudgetExceeded)),
            closes=has_calls and self.is_final(end.turn_id or "", end_seq),
            rejected=rejected[0] if rejected else None,
        )

    def contract(self, call_id: str, name: str) -> Contract:
        """Return what a tool call is held to: its model request's tools, else the config's. U-3."""
        asked = self.tool_request(call_id)
        made_by = self.model_request(asked.llm_call_id) if asked and asked.llm_call_id else None
        if made_by is None:
            anchor, upto = (asked.anchor, call_id) if asked else (None, "")
            newest = self._config_at(anchor, upto)
            tool = _named(name, tools_of(newest.agent or {}) if newest else None)
            return Contract("declared", tool) if tool else Contract("untraced")
        _, request = made_by
        own = (request.private.asked or {}).get("tools")
        config = self._config_at(request.anchor, request.id)
        offered = own if own is not None else tools_of((config.agent or {}) if config else {})
        tool = _named(name, offered)
        return Contract("declared", tool) if tool else Contract("undeclared")

    def _config_at(self, anchor: Anchor | None, call_id: str) -> AgentUpdated | None:
        """Return the config that held where a call was asked for, when it was. Source: Z-2."""
        asks = (ToolCallRequested, ModelCallRequested, SubAgentRequested)
        before = [
            *takewhile(
                lambda one: not (isinstance(one[1], asks) and one[1].id == call_id),
                self.log.items(),
            )
        ]
        stretches: Stretches = ()
        if anchor is not None:
            own = branches_of(before).get(anchor.branch, Begun())
            end = Stretch(
                branch=anchor.branch, from_seq=own.from_seq, upto_seq=0, upto_depth=anchor.depth
            )
            stretches = (*own.stretches, end)
        found = version_on(before, AgentUpdated, stretches)
        return found[1] if found else None

    def calls(self, as_of: AsOf) -> list[dict[str, Any]]:
        """Return the calls of a question as the wire's `Call`s. Source: Q-3, Q-6."""
        return [self._call(one) for one in as_of.calls]

    def _call(self, noted: Mapping[str, Any]) -> dict[str, Any]:
        made_by = self.model_request(noted["id"])
        status, attempt = noted.get("status"), noted.get("attempt")
        if "end" in noted:
            queued = self.queued(noted["end"])
            end = self.log.get(queued.private.about_seq) if queued else None
            is_done = isinstance(end, ToolCallCompleted | SubAgentTurnCompleted)
            status = "completed" if is_done else "failed"
            attempt = getattr(end, "attempt", 1)
        shown: dict[str, Any] = {
            "id": noted["id"],
            "kind": "llm_call" if made_by else "tool_call",
            "status": str(status),
            "attempt": max(attempt or 1, 1),
        }
        if noted.get("deadline_ms") is not None:
            shown["deadline"] = to_rfc3339(noted["deadline_ms"])
        if made_by:
            asked = made_by[1]
            about: dict[str, Any] = {"handler": asked.handler, "stream": asked.stream}
            return shown | about | self._anchor(asked)
        child = self.child_request(noted["id"])
        if child is not None:
            about = {"kind": "sub_agent", "agent_id": child.agent_id}
            return shown | about | {"session_id": child.session_id} | self._anchor(child)
        tool = self.tool_request(noted["id"])
        if tool is not None:
            about = {"handler": tool.handler, "name": tool.name, "arguments": tool.arguments}
            shown |= about | self._anchor(tool)
        return shown

    def _anchor(
        self, asked: ModelCallRequested | ToolCallRequested | SubAgentRequested
    ) -> dict[str, str]:
        if asked.anchor is None:
            return {}
        place = (asked.anchor.branch, asked.anchor.depth)
        nodes = [event for event in self.log.values() if isinstance(event, MessageNew)]
        found = (one for one in nodes if (one.private.branch, one.private.depth) == place)
        return next(({"anchor": one.id} for one in found), {})


def _named(name: str, tools: Any) -> Mapping[str, Any] | None:
    return next((tool for tool in tools or () if tool["name"] == name), None)
