"""`InMemoryDirectory` and `InMemoryWake`: what stands beside the sessions, for tests.

They must not be kinder than the table and the queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from json import loads
from typing import Any, Literal

from everturn.ports.directory import AgentRecord, ApiKey
from everturn.ports.sessions import SessionKey
from everturn.protocol.json_text import compact
from everturn.store import keys
from everturn.store.wake import dedup_id, message_of, timer_name


class InMemoryDirectory:
    """`Directory`; connections do not expire here."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}
        self._tenants: dict[str, str] = {}
        self._agents: dict[tuple[str, str], AgentRecord] = {}
        self._connections: dict[str, tuple[str, set[str]]] = {}

    def api_key(self, sha256: str) -> ApiKey | None:
        """Return a key."""
        return self._keys.get(sha256)

    def put_api_key(self, sha256: str, key: ApiKey) -> None:
        """Add a key."""
        self._keys[sha256] = key

    def tenant(self, tenant: str) -> Mapping[str, Any] | None:
        """Return a tenant's record."""
        text = self._tenants.get(tenant)
        record: dict[str, Any] | None = loads(text) if text else None
        return record

    def put_tenant(self, tenant: str, record: Mapping[str, Any]) -> None:
        """Write a tenant's record."""
        self._tenants[tenant] = compact(dict(record))

    def agent(self, tenant: str, agent_id: str) -> AgentRecord | None:
        """Return an agent."""
        return self._agents.get((tenant, agent_id))

    def put_agent(self, tenant: str, record: AgentRecord) -> Literal["created", "updated"]:
        """Write an agent."""
        known = (tenant, record.agent_id) in self._agents
        self._agents[tenant, record.agent_id] = record
        return "updated" if known else "created"

    def delete_agent(self, tenant: str, agent_id: str) -> bool:
        """Delete an agent."""
        return self._agents.pop((tenant, agent_id), None) is not None

    def connection(self, connection_id: str) -> Mapping[str, Any] | None:
        """Return a connection."""
        if connection_id not in self._connections:
            return None
        tenant, sessions = self._connections[connection_id]
        return {"tenant": tenant, "sessions": [loads(one) for one in sorted(sessions)]}

    def put_connection(self, connection_id: str, tenant: str, expires_epoch_s: int) -> None:
        """Record a connection."""
        del expires_epoch_s
        self._connections[connection_id] = (tenant, set())

    def note_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """Remember a subscription of a connection that is there."""
        if connection_id in self._connections:
            self._connections[connection_id][1].add(compact([session, subscription]))

    def forget_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """Take a subscription off its connection's list."""
        if connection_id in self._connections:
            self._connections[connection_id][1].discard(compact([session, subscription]))

    def delete_connection(self, connection_id: str) -> None:
        """Forget a connection."""
        self._connections.pop(connection_id, None)


@dataclass(frozen=True, slots=True)
class Sent:
    """A wake-up as the queue would deliver it."""

    message: Mapping[str, Any]
    group: str
    dedup: str
    due_ms: int | None = None
    """When; at once where it is `None`."""


class InMemoryWake:
    """`Wake` that keeps what it was asked to send; a dedup id is never forgotten here."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    def now(self, key: SessionKey, created: str, step: str, version: int, dedup: str) -> None:
        """Send a wake-up."""
        message = message_of(key, step, version)
        self._send(Sent(message, keys.group_id(key), dedup_id(created, dedup)))

    def at(  # the port's signature
        self, key: SessionKey, created: str, step: str, version: int, due_ms: int, subject: str
    ) -> None:
        """Send one later."""
        due = keys.iso_ms(due_ms)
        message = message_of(key, step, version, due=due, subject=subject)
        dedup = dedup_id(created, timer_name(key, created, subject, due))
        self._send(Sent(message, keys.group_id(key), dedup, due_ms))

    def _send(self, sent: Sent) -> None:
        if all(one.dedup != sent.dedup for one in self.sent):
            self.sent.append(sent)
