"""The roles that use cases need from outside: protocols and the values they exchange, no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from everturn.session.events.stored import Event
from everturn.session.state import Session


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Names one session of one tenant."""

    tenant: str
    session: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The driver that may write for a session. Source: architecture, section 4."""

    epoch: int
    request_id: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why nobody touches a session any more. Source: docs/storage.md, "Quarantine"."""

    reason: str
    """One of the codes of docs/storage.md."""

    at_ms: int
    wake: str = ""
    """The wake-up that could not be settled, as JSON."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head item: what the log adds up to, and what guards its next commit."""

    version: int
    """Counts commits and claims, from 1."""

    commit_id: str
    created: str
    """A uuid of this incarnation: a deleted session's id can be used again."""

    session: Session
    owner: Owner | None = None
    due_epoch_s: int | None = None
    """When `recovery` looks after the session."""

    quarantined: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What is kept of an ended turn under its id, or of another name of it."""

    turn_id: str
    number: int = 0
    first_seq: int = 0
    last_seq: int = 0
    outcome: str = ""
    alias_of: str = ""


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a message is."""

    id: str
    seq: int
    branch: int
    depth: int


@dataclass(frozen=True, slots=True)
class NewCommit:
    """What one transaction is to write. Everything else it needs is derived from the events."""

    key: SessionKey
    before: Head | None
    """The head that was read; `None` creates the session."""

    after: Session
    events: tuple[Event, ...]
    """At least one; they take the numbers after `before.session.seq`."""

    commit_id: str
    at_ms: int
    by: str
    """`driver:<epoch>`, or the function's name."""

    wake: str | None = None
    """The step kind that a driver has to be woken for."""

    owner: Owner | None = None
    """The owner after this commit; nobody where it is `None`."""

    due_epoch_s: int | None = None
    created: str = ""
    """The uuid of a new session; ignored otherwise."""


@dataclass(frozen=True, slots=True)
class Logged:
    """One commit as the log keeps it."""

    first_seq: int
    last_seq: int
    commit_id: str
    at_ms: int
    by: str
    version: int
    created: str
    events: tuple[Event, ...]
    wake: str | None = None

    def numbered(self) -> Iterator[tuple[int, Event]]:
        """Yield each event with its number."""
        return zip(range(self.first_seq, self.last_seq + 1), self.events, strict=True)


@dataclass(frozen=True, slots=True)
class Delta:
    """One frame of stream output. Source: storage-and-commits, "Streams"."""

    dispatch_seq: int
    """The newest `llm.call.dispatched` when it was made."""

    n: int
    """Position among the frames of that dispatch, from 1; a merged one has its last."""

    call_id: str
    attempt: int
    turn_id: str
    body: Mapping[str, Any]
    """A `StreamDelta` as JSON."""

    merged_from: int = 0
    """First position of a merged range; 0 for a frame on its own."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """A connection that subscribed to a session."""

    connection_id: str
    subscription: str
    """The id that the client gave its subscription; frames carry it."""

    turn_id: str = ""
    """Only this turn is wanted, where set."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Who reads a session now."""

    watchers: tuple[Watcher, ...] = ()
    reader_until_ms: int = 0
    """A long-poll reader is there until then."""

    def is_read(self, now_ms: int) -> bool:
        """Return whether anybody would see a delta."""
        return bool(self.watchers) or self.reader_until_ms > now_ms


class SessionStore(Protocol):
    """Keeps the logs and their heads. Source: storage-and-commits.

    Every method may raise `StoreUnavailable` (nothing was written), `NewerFormat` and
    `StoreUnreadable`; those that read a head `SessionQuarantined` where it is both.
    """

    def head(self, key: SessionKey) -> Head | None:
        """Return the head, read consistently, its sections included."""
        ...

    def head_and_turn(self, key: SessionKey, turn_id: str) -> tuple[Head | None, TurnRecord | None]:
        """Return the head and what is known under a turn's id, as of one moment."""
        ...

    def nodes(self, key: SessionKey, ids: Sequence[str]) -> dict[str, NodePlace]:
        """Return the places of those of `ids` that name messages of the session."""
        ...

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        """Return the commits that hold events `from_seq` to `to_seq` (the last by default).

        Bodies that the bucket holds stay references; see `materialise`.
        """
        ...

    def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
        """Return at most `limit` commits, the first of which holds event `after_seq + 1`."""
        ...

    def materialise(self, key: SessionKey, logged: Sequence[Logged]) -> tuple[Logged, ...]:
        """Return `logged` with every body in its place: from the bucket and from earlier events."""
        ...

    def append(self, commit: NewCommit) -> Head:
        """Write a commit, all or nothing; return the new head. Finding it written is success.

        Raises `VersionConflict` (`.head` is the newer one), `IdsTaken` (`.ids` exist already).
        """
        ...

    def claim(self, key: SessionKey, head: Head, owner: Owner) -> Head:
        """Make `owner` the session's owner without an event. Raises `VersionConflict`."""
        ...

    def quarantine(self, key: SessionKey, head: Head | None, why: Quarantine) -> bool:
        """Put a session aside; returns whether it is there and was not put aside before.

        `head` is `None` where it cannot be read. Raises `VersionConflict` where it moved on.
        """
        ...

    def lift(self, key: SessionKey, due_epoch_s: int | None) -> tuple[str, int] | None:
        """End a quarantine; returns `(created, version)`, `None` where there is none."""
        ...

    def quarantined(self) -> Iterator[SessionKey]:
        """Yield the sessions that are put aside; an operator's question, it reads the table."""
        ...

    def watch(self, key: SessionKey) -> Watch:
        """Return who reads the session."""
        ...

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        """Return both in one request."""
        ...

    def add_watcher(self, key: SessionKey, watcher: Watcher) -> None:
        """Record a subscription; the same one twice changes nothing."""
        ...

    def remove_watcher(self, key: SessionKey, connection_id: str, subscription: str = "") -> None:
        """Forget a connection's subscription (all of them without one)."""
        ...

    def reader_until(self, key: SessionKey, until_ms: int) -> None:
        """Record that a long-poll reader is there until then; never moves backwards."""
        ...

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        """Keep a frame for an hour; best effort of the caller, errors as everywhere."""
        ...

    def deltas(
        self, key: SessionKey, dispatch_seq: int, after_n: int, limit: int
    ) -> tuple[Delta, ...]:
        """Return frames after `(dispatch_seq, after_n)`, of this and later dispatches, in order."""
        ...

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        """Return sessions whose `due` is past."""
        ...


class Model(Protocol):
    """A provider's model."""

    def stream(
        self,
        request: Any,
        *,
        attempt: int,
        cancelled: Callable[[], bool],
        failed_tool_calls: frozenset[str] = frozenset(),
    ) -> Iterator[Any]:
        """Yield `llm.chunks` as they arrive. Raises `ModelFailed`, never a library's error."""
        ...


class Clock(Protocol):
    """The time, and randomness for ids."""

    def now_ms(self) -> int:
        """Return epoch milliseconds."""
        ...

    def entropy(self) -> bytes:
        """Return 16 random bytes."""
        ...


class Wake(Protocol):
    """Sends wake-ups to drivers, now or later."""

    def now(self, key: SessionKey, created: str, step: str, version: int, dedup: str) -> None:
        """Enqueue a wake-up; one `dedup` is one message for five minutes.

        Raises `TransientError`.
        """
        ...

    def at(
        self, key: SessionKey, created: str, step: str, version: int, due_ms: int, subject: str
    ) -> None:
        """Have one sent at `due_ms`; asking twice is one timer. Raises `TransientError`."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerTarget:
    """Where an agent's worker is, and how its deliveries are signed."""

    url: str
    secret: str = field(default="", repr=False)


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
