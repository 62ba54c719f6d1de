"""What a decision may rest on besides state and command: values read elsewhere and handed in.

It must not read anything itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from everturn.protocol.ids import uuid7
from everturn.session.budget import Budget
from everturn.session.events.runs import RunRequested
from everturn.session.events.stored import Event
from everturn.session.events.tree import Stretch
from everturn.session.state import Window


@dataclass(frozen=True, slots=True)
class Stamp:
    """The time and the randomness of one command."""

    now_ms: int
    entropy: bytes
    """At least 16 bytes; every id that the command needs is drawn from it."""

    def uuid(self, position: int) -> str:
        """Return the `position`-th id: a UUIDv7, the same for the same stamp."""
        drawn = hashlib.sha256(self.entropy + position.to_bytes(4, "big")).digest()
        return uuid7(self.now_ms, drawn[:10])


@dataclass(frozen=True, slots=True)
class PathMessage:
    """A message of the active path, its body at hand."""

    seq: int
    message: Mapping[str, Any]
    size_bytes: int
    is_error: bool = False


WORKERS_ROUTE: Final = "worker"
"""Stands for the provider of model calls that the worker runs."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a model selector leads, and what that model takes."""

    provider: str
    model: str
    context_window: int | None = None
    default_max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Pinned:
    """The agent config that holds on the path."""

    config: Mapping[str, Any]
    """`protocol.agent.AgentConfig` as JSON (the wire names), extensions included."""

    sha256: str
    has_worker: bool
    worker_is_function: bool = False
    """The worker is a Lambda function, which the step machine can invoke."""
    layered: tuple[str, ...] = ()
    """Names of the client's tools in it, there for one turn. Source: K-5."""

    decides: Literal["engine", "worker"] = "engine"
    """Who would decide in a session that begins now; of one that is there its head knows."""

    def tool(self, name: str) -> Mapping[str, Any] | None:
        """Return the config's tool of that name. Source: decision-protocol U-3."""
        tools = self.config.get("tools") or ()
        return next((tool for tool in tools if tool["name"] == name), None)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message of the session stands."""

    id: str
    seq: int
    branch: int
    depth: int


@dataclass(frozen=True, slots=True)
class Begun:
    """How a branch begins: with which event, and behind what. The first one behind nothing."""

    from_seq: int = 1
    stretches: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class Destination:
    """A place that the head may go to, and what holds on the path to it."""

    place: Place | None
    """`None` is the place before every root."""

    stretches: tuple[Stretch, ...]
    path: tuple[PathMessage, ...]
    """Its messages from `window.from_seq` on."""

    window: Window
    agent: Pinned
    route: Route
    agent_seq: int = 0
    state_seq: int = 0
    routes: Mapping[str, Route] = field(default_factory=dict)
    """Where the config's fallback models lead."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read before a command was decided."""

    agent: Pinned
    route: Route
    path: tuple[PathMessage, ...] = ()
    """Messages from the window's first event on, oldest first."""

    taken: frozenset[str] = field(default_factory=frozenset)
    """Ids from outside that are known to be used in the session."""

    events: Mapping[int, Event] = field(default_factory=dict)
    """The log by number, bodies in their places; only where a worker decides. Source: Q-1."""

    branches: Mapping[int, Begun] = field(default_factory=dict)
    """How branches begin that are off the active path, as far as they were looked up."""

    destinations: Mapping[str, Destination] = field(default_factory=dict)
    """What holds at messages off the end of the path, by their ids; "" before every root."""

    routes: Mapping[str, Route] = field(default_factory=dict)
    """Where other model selectors lead: fallbacks of the config, and what an answer names."""

    inbox: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The messages that wait, by their items' ids."""

    orders: Mapping[str, RunRequested] = field(default_factory=dict)
    """What turns that wait were asked for with, by their ids."""

    budgets: tuple[Budget, ...] = ()
    """Of the session's owner, its tenant and its ancestors, with what was counted so far."""
