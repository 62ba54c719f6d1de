"""The role that keeps what stands beside the sessions: tenants, keys, agents, connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from everturn.ports.callers import Caller

ARN_PREFIX: Final = "arn:"
"""How a worker begins that is no URL."""


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """An agent as it stands in the table."""

    agent_id: str
    definition: Mapping[str, Any]
    """`protocol.agent.AgentDefinition` as JSON, without `worker_secret`."""

    sha256: str
    """Of the canonical JSON of the config that sessions pin."""

    worker_secret: Mapping[str, Any] | None = None
    """A reference, never the secret. Source: decision-protocol O-23."""

    updated_ms: int = 0

    @property
    def worker(self) -> str:
        """Where the worker is; empty where there is none."""
        return str(self.definition.get("worker") or "")

    @property
    def worker_is_function(self) -> bool:
        """Return whether the worker is a Lambda function, named by its ARN."""
        return self.worker.startswith(ARN_PREFIX)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What an API key stands for."""

    tenant: str
    name: str
    sha256: str = field(default="", compare=False)
    """What it was found by; empty where that was not looked at."""

    expires_ms: int | None = None
    """When it stops; `None` for never."""


@dataclass(frozen=True, slots=True)
class AgentLine:
    """An agent as a list shows it."""

    agent_id: str
    model: str
    """Empty where a version wrote it that did not note it."""

    updated_ms: int


@dataclass(frozen=True, slots=True)
class AgentPage:
    """Some agents, and where the list goes on: empty at its end."""

    agents: tuple[AgentLine, ...]
    after: str


@dataclass(frozen=True, slots=True)
class Connection:
    """An open WebSocket."""

    caller: Caller
    """Who opened it; nobody while it has not said who it is."""

    expires_epoch_s: int
    """When it is to be forgotten."""

    sessions: tuple[tuple[str, str], ...] = ()
    """What it subscribed to: session and subscription."""


class Directory(Protocol):
    """Keeps what stands beside the sessions: tenants, API keys, agents, connections."""

    def api_key(self, sha256: str) -> ApiKey | None:
        """Return the key with that hash. Source: decision-protocol A-4."""
        ...

    def put_api_key(self, sha256: str, key: ApiKey) -> None:
        """Add a key."""
        ...

    def tenant(self, tenant: str) -> Mapping[str, Any] | None:
        """Return a tenant's record: `{demo_provider?: "on" | "off"}`."""
        ...

    def put_tenant(self, tenant: str, record: Mapping[str, Any]) -> None:
        """Write a tenant's record."""
        ...

    def agent(self, tenant: str, agent_id: str) -> AgentRecord | None:
        """Return an agent."""
        ...

    def put_agent(self, tenant: str, record: AgentRecord) -> Literal["created", "updated"]:
        """Write an agent; it replaces what was there."""
        ...

    def delete_agent(self, tenant: str, agent_id: str) -> bool:
        """Delete an agent; returns whether there was one."""
        ...

    def agents(self, tenant: str, after: str, limit: int) -> AgentPage:
        """Return agents by their ids, from the beginning or behind the id `after`."""
        ...

    def connection(self, connection_id: str) -> Connection | None:
        """Return an open connection."""
        ...

    def put_connection(self, connection_id: str, caller: Caller, expires_epoch_s: int) -> None:
        """Record a connection without subscriptions."""
        ...

    def renew_connection(
        self, connection_id: str, before: Caller, after: Caller, expires_epoch_s: int
    ) -> bool:
        """Let a connection be another caller's; `False` where it is not the first one's any more.

        Its subscriptions stay.
        """
        ...

    def note_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """Remember a subscription on its connection, so that `$disconnect` can end it."""
        ...

    def forget_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """Take a subscription off its connection's list."""
        ...

    def delete_connection(self, connection_id: str) -> None:
        """Forget a connection."""
        ...
