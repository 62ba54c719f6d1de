"""Collects the events of one command while the state evolves under them.

It has no rules of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

from everturn.protocol.json_text import compact
from everturn.session.events.children import SubAgentRequested
from everturn.session.events.messages import (
    AgentUpdated,
    MessageNew,
    MessagePrivate,
    MessageSource,
    StateUpdated,
)
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.events.tool_calls import ToolCallRequested
from everturn.session.events.tree import Fork, HeadMoved, MovedPrivate, WindowMark
from everturn.session.evolve import evolve
from everturn.session.facts import Begun, Destination, Facts, PathMessage, Place, Route, Stamp
from everturn.session.refs import Ref
from everturn.session.state import Session, Window
from everturn.session.tree import (
    NeedsDestination,
    begun,
    branches_of,
    path_to,
    stretches_to,
    version_on,
)


class Journal:
    """Events so far, the session and the path they lead to. Lives inside one `decide`."""

    def __init__(self, session: Session, stamp: Stamp, facts: Facts) -> None:
        self.session = session
        self.now_ms = stamp.now_ms
        self.facts = facts
        self.path = list(facts.path)
        self.events: list[Event] = []
        self.stamp = stamp
        self._minted = 0
        self._destination: Destination | None = None
        """Where the next message begins a branch."""

    def copy(self) -> Journal:
        """Return a journal that goes on from here, while this one stays as it is."""
        other = copy(self)
        other.path, other.events = list(self.path), list(self.events)
        return other

    def become(self, other: Journal) -> None:
        """Take over what a copy came to."""
        self.__dict__.update(other.__dict__)

    def add(self, event: Event) -> int:
        """Append `event`; return its number in the log."""
        self.events.append(event)
        self.session = evolve(self.session, event)
        return self.session.seq

    @property
    def anchor(self) -> Anchor | None:
        """Where the path ends now; `None` where it is empty. Source: decision-protocol V-1."""
        head = self.session.head
        return Anchor(branch=head.branch, depth=head.depth) if head else None

    def event(self, seq: int) -> Event | None:
        """Return an event of the log by its number, as far as what was read tells, or of ours."""
        own = seq - 1 - (self.session.seq - len(self.events))
        return self.events[own] if own >= 0 else self.facts.events.get(seq)

    def all_events(self) -> Iterator[tuple[int, Event]]:
        """Yield every event that was read, and ours after them, with their numbers."""
        yield from self.facts.events.items()
        yield from enumerate(self.events, start=self.session.seq - len(self.events) + 1)

    def mint(self) -> str:
        """Return a fresh id."""
        self._minted += 1
        return self.stamp.uuid(self._minted)

    def is_known(self, message_id: str) -> bool:
        """Return whether that message id is taken, as far as what was read tells."""
        return message_id in self.facts.taken or any(
            node.message.get("id") == message_id for node in self.path
        )

    def has_call(self, call_id: str) -> bool:
        """Return whether that tool call id is taken, as far as what was read tells."""
        return (
            call_id in self.facts.taken
            or self.was_asked(call_id)
            or any(
                made["id"] == call_id
                for node in self.path
                for made in node.message.get("tool_calls") or ()
            )
        )

    def was_asked(self, call_id: str) -> bool:
        """Return whether a call of that id was ever opened; it needs the whole log. X-6."""
        asks = ToolCallRequested | ModelCallRequested | SubAgentRequested
        return self.session.call(call_id) is not None or any(
            isinstance(event, asks) and event.id == call_id for _, event in self.all_events()
        )

    # ---- the message tree

    def begun(self, branch: int) -> Begun:
        """Return how a branch begins. Raises `NeedsBranches`."""
        others = self.facts.branches
        if self.facts.events and branch not in others:
            others = branches_of(self.all_events())
        return begun(self.session, branch, others)

    def destination(self, place: Place | None) -> Destination:
        """Return what holds at a message that is not the head. Raises `NeedsDestination`."""
        found = self.facts.destinations.get(place.id if place else "")
        if found is not None:
            return found
        if not self.facts.events:
            raise NeedsDestination(place)
        stretches = stretches_to(place, self.begun)
        path = path_to(self.all_events(), place.id if place else None)
        agent = version_on(self.all_events(), AgentUpdated, stretches)
        state = version_on(self.all_events(), StateUpdated, stretches)
        pinned, route = replace(self.facts.agent, config={}, sha256="", layered=()), Route("", "")
        if agent is not None:
            config, private = agent[1].agent, agent[1].private
            layered = private.layered
            pinned = replace(pinned, config=config, sha256=private.sha256, layered=layered)
            route = self.facts.routes.get(config["model"], self.facts.route)
        return Destination(
            place,
            stretches,
            path,
            Window(total_bytes=sum(node.size_bytes for node in path)),
            pinned,
            route,
            agent[0] if agent else 0,
            state[0] if state else 0,
        )

    def move_head(self, destination: Destination, place: Place) -> None:
        """Have the head go to a message that is there already. Source: V-5, V-8."""
        head = self.session.head
        private = MovedPrivate(
            seq=place.seq, branch=place.branch, depth=place.depth, fork=self._fork(destination)
        )
        self.add(
            HeadMoved(
                turn_id=self.turn_id,
                from_=head.id if head else None,
                to=place.id,
                private=private,
            )
        )
        self._stand_on(destination)

    def begin_branch(self, destination: Destination) -> None:
        """Have the next message stand under another one than the head. Source: V-5."""
        self._destination = destination
        self._stand_on(destination)

    def _stand_on(self, destination: Destination) -> None:
        self.path = list(destination.path)
        routes = {**self.facts.routes, **destination.routes}
        self.facts = replace(
            self.facts, agent=destination.agent, route=destination.route, routes=routes
        )

    def _fork(self, destination: Destination) -> Fork:
        window = destination.window
        return Fork(
            branch=self.session.branches + 1,
            stretches=destination.stretches,
            window_from_seq=window.from_seq,
            window_bytes=window.total_bytes,
            window_marks=tuple(
                WindowMark(seq=mark.seq, before_bytes=mark.before_bytes) for mark in window.marks
            ),
            agent_seq=destination.agent_seq,
            agent_sha=destination.agent.sha256 if destination.agent_seq else "",
            state_seq=destination.state_seq,
        )

    @property
    def turn_id(self) -> str | None:
        """The open turn's id."""
        return self.session.turn.id if self.session.turn else None

    def write(
        self,
        message: dict[str, Any],
        source: MessageSource,
        refs: dict[str, Ref],
        *,
        is_error: bool = False,
        blocks: Any = None,
    ) -> None:
        """Append `message` (whole, with its id) at the head.

        What `refs` names (`message`, `message.content`) is not stored again.
        """
        destination, self._destination = self._destination, None
        parent = destination.place if destination else self.session.head
        fork = self._fork(destination) if destination else None
        size_bytes = len(compact(message).encode())
        seq = self.add(
            MessageNew(
                turn_id=self.turn_id,
                id=message["id"],
                message=_stored(message, refs),
                parent_id=parent.id if parent else None,
                private=MessagePrivate(
                    source=source,
                    branch=fork.branch if fork else self.session.branch,
                    depth=parent.depth + 1 if parent else 1,
                    parent_seq=parent.seq if parent else None,
                    size_bytes=size_bytes,
                    is_error=is_error or None,
                    blocks=blocks,
                    fork=fork,
                ),
                refs=refs,
            )
        )
        self.path.append(PathMessage(seq, message, size_bytes, is_error))


def _stored(message: dict[str, Any], refs: dict[str, Ref]) -> dict[str, Any] | None:
    if "message" in refs:
        return None
    if "message.content" in refs:
        return {name: value for name, value in message.items() if name != "content"}
    return message
