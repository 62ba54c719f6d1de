"""The role that keeps what stands beside the sessions: tenants, keys, agents, connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol


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


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What an API key stands for."""

    tenant: str
    name: str


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

    def connection(self, connection_id: str) -> Mapping[str, Any] | None:
        """Return `{tenant, sessions: [[session, subscription], …]}` of an open connection."""
        ...

    def put_connection(self, connection_id: str, tenant: str, expires_epoch_s: int) -> None:
        """Record a connection."""
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
