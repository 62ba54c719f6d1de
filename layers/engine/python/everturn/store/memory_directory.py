"""`InMemoryDirectory` and `InMemoryWake`: what stands beside the sessions, for tests.

They must not be kinder than the table and the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from json import loads
from typing import Any, Literal

from everturn.errors import DefectError
from everturn.ports.callers import Caller
from everturn.ports.directory import AgentLine, AgentPage, AgentRecord, ApiKey, Connection
from everturn.ports.sessions import SessionKey
from everturn.ports.wake import FunctionRun
from everturn.protocol.json_text import compact
from everturn.protocol.limits import STEP_FUNCTIONS_PAYLOAD_BYTES
from everturn.store import keys
from everturn.store.wake import dedup_id, message_of, run_name, timer_name


class InMemoryDirectory:
    """`Directory`; connections do not expire here."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}
        self._tenants: dict[str, str] = {}
        self._agents: dict[tuple[str, str], AgentRecord] = {}
        self._connections: dict[str, Connection] = {}

    def api_key(self, sha256: str) -> ApiKey | None:
        """Return a key."""
        return self._keys.get(sha256)

    def put_api_key(self, sha256: str, key: ApiKey) -> None:
        """Add a key."""
        self._keys[sha256] = replace(key, sha256=sha256)

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

    def agents(self, tenant: str, after: str, limit: int) -> AgentPage:
        """Return agents by their ids."""
        named = sorted(name for owner, name in self._agents if owner == tenant and name > after)
        records = [self._agents[tenant, name] for name in named[:limit]]
        lines = tuple(
            AgentLine(one.agent_id, one.definition.get("model", ""), one.updated_ms)
            for one in records
        )
        return AgentPage(lines, lines[-1].agent_id if len(named) > limit else "")

    def connection(self, connection_id: str) -> Connection | None:
        """Return a connection."""
        return self._connections.get(connection_id)

    def put_connection(self, connection_id: str, caller: Caller, expires_epoch_s: int) -> None:
        """Record a connection."""
        self._connections[connection_id] = Connection(caller, expires_epoch_s)

    def renew_connection(
        self, connection_id: str, before: Caller, after: Caller, expires_epoch_s: int
    ) -> bool:
        """Give a connection another caller."""
        kept = self._connections.get(connection_id)
        if kept is None or kept.caller not in (before, after):
            return False
        renewed = replace(kept, caller=after, expires_epoch_s=expires_epoch_s)
        self._connections[connection_id] = renewed
        return True

    def note_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """Remember a subscription of a connection that is there."""
        self._subscribe(connection_id, lambda known: known | {(session, subscription)})

    def forget_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """Take a subscription off its connection's list."""
        self._subscribe(connection_id, lambda known: known - {(session, subscription)})

    def _subscribe(
        self,
        connection_id: str,
        change: Callable[[set[tuple[str, str]]], set[tuple[str, str]]],
    ) -> None:
        kept = self._connections.get(connection_id)
        if kept is not None:
            sessions = tuple(sorted(change(set(kept.sessions))))
            self._connections[connection_id] = replace(kept, sessions=sessions)

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


@dataclass(frozen=True, slots=True)
class Run:
    """A function that the step machine would have run."""

    name: str
    key: SessionKey
    created: str
    version: int
    of: FunctionRun


class InMemoryWake:
    """`Wake` that keeps what it was asked to send; a dedup id is never forgotten here."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.runs: list[Run] = []

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

    def after(self, key: SessionKey, created: str, version: int, run: FunctionRun) -> None:
        """Note a run; nothing runs it, see `settle`."""
        whole = {"function": run.function, "request": dict(run.request)}
        if len(compact(whole).encode()) > STEP_FUNCTIONS_PAYLOAD_BYTES:
            raise DefectError("wake-up refused: InvalidExecutionInput")
        if all(one.name != run_name(key, created, run) for one in self.runs):
            self.runs.append(Run(run_name(key, created, run), key, created, version, run))

    def settle(self, run: Run, **outcome: Any) -> None:
        """Send what became of a run: `answer=` what the function returned, or `error=` a name."""
        key, settles = run.key, {"decision_id": run.of.decision_id, "attempt": run.of.attempt}
        message = message_of(key, "tool", run.version, subject=run.of.decision_id)
        message["settles"] = settles | outcome
        self._send(Sent(message, keys.group_id(key), dedup_id(run.created, run.name)))

    def _send(self, sent: Sent) -> None:
        if all(one.dedup != sent.dedup for one in self.sent):
            self.sent.append(sent)
