"""Reads, lists and ends sessions that were made for runs; it knows nothing of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from everturn.commands.change import ChangeSession
from everturn.commands.cursors import from_cursor, to_cursor
from everturn.commands.reading import no_such_session, seen_by, unreadable_hidden
from everturn.commands.vanishing import vanishing
from everturn.errors import DefectError
from everturn.ports.callers import Caller
from everturn.ports.lists import Listed
from everturn.ports.runs import Described, RunIndex
from everturn.ports.sessions import Head, Logged, SessionKey
from everturn.protocol.ids import uuid7_ms
from everturn.session.commands import CancelSession, Command
from everturn.session.events.messages import AgentUpdated
from everturn.session.events.runs import SessionDescribed
from everturn.session.events.sessions import SessionCancelled
from everturn.session.facts import Facts, PathMessage, Stamp
from everturn.session.state import Session

HISTORY: Final = 200
"""Messages that a read of a session answers, the newest ones."""

MAX_MESSAGES: Final = 2_000
"""Messages of the path that are read for replay; older ones stay where they are."""

LOOKED_AT: Final = 2_000
"""Most sessions that a list looks at; `total` counts among those."""

BATCH: Final = 100
"""Sessions looked at together. Source: DynamoDB, BatchGetItem."""

END_EVENTS: Final = 200
"""Events at the end of a log among which a session's end is looked for."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a session that was made for runs began with."""

    session_id: str
    agent_id: str
    description: Mapping[str, Any]
    """`{spec, metadata?, name?}`, as the caller wrote them."""

    config: Mapping[str, Any]
    """The `AgentConfig` that it began with."""

    created_ms: int


@dataclass(frozen=True, slots=True)
class AgentSession(Beginning):
    """A session that was made for runs, as it stands."""

    last_used_ms: int
    ended_ms: int | None
    is_ended: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A session as a list shows it."""

    session_id: str
    name: str
    metadata: Mapping[str, str]
    created_ms: int
    last_used_ms: int
    is_ended: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions a list is to have."""

    metadata: tuple[str, ...] = ()
    """`key:value` each; either may have colons in it."""

    is_ended: bool | None = None
    limit: int = 50
    offset: int = 0
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Lines:
    """A page of a list."""

    lines: tuple[Line, ...]
    total: int
    """How many there are in all, as far as the list was looked at."""

    cursor: str | None


class AgentSessions:
    """The use cases behind `/agent-sessions`."""

    def __init__(self, change: ChangeSession, runs: RunIndex) -> None:
        self._change = change
        self._runs = runs

    def get(self, caller: Caller, session_id: str) -> AgentSession:
        """Return a session. Raises `UnknownSession`, also for one that was made otherwise."""
        head, begun = self._begun(caller, session_id)
        key, store = SessionKey(caller.tenant, session_id), self._change.store
        with vanishing(store, key):
            last = self._commit_of(key, head.session.seq)
            ended_ms = self._ended_ms(key, head) if head.session.is_cancelled else None
        return AgentSession(
            begun.session_id,
            begun.agent_id,
            begun.description,
            begun.config,
            begun.created_ms,
            last.at_ms,
            ended_ms,
            head.session.is_cancelled,
        )

    def beginning(self, caller: Caller, session_id: str) -> Beginning:
        """Return what a session began with. Raises `UnknownSession`, as `get`."""
        return self._begun(caller, session_id)[1]

    def _begun(self, caller: Caller, session_id: str) -> tuple[Head, Beginning]:
        key, head = self._located(caller, session_id)
        store = self._change.store
        with vanishing(store, key):
            (first,) = store.materialise(key, (self._commit_of(key, 1),))
        described = [one for one in first.events if isinstance(one, SessionDescribed)]
        configs = [one for one in first.events if isinstance(one, AgentUpdated)]
        if not described:
            raise no_such_session()
        return head, Beginning(
            session_id,
            head.session.agent_id,
            described[0].description,
            (configs[0].agent or {}) if configs else {},
            uuid7_ms(head.created) or first.at_ms,
        )

    def messages(
        self, caller: Caller, session_id: str, *, before_seq: int | None, count: int
    ) -> tuple[tuple[PathMessage, ...], bool]:
        """Return the newest `count` messages of the path before an event, oldest first.

        With them, whether there are older ones. Raises `UnknownSession`.
        """
        key, head = self._located(caller, session_id)
        upto = head.session.seq if before_seq is None else before_seq - 1
        with vanishing(self._change.store, key):
            return self._change.reader.newest(key, head.session, upto, min(count, MAX_MESSAGES))

    def lines(self, caller: Caller, wanted: Filter) -> Lines:
        """Return sessions by their last use, the newest first. Raises `InvalidId`."""
        behind = from_cursor("last_turn", wanted.cursor)
        found, is_cut = self._found(caller, wanted)
        first = wanted.offset + sum(bool(behind) and place >= behind for _, place in found)
        shown = found[first : first + wanted.limit]
        is_more = bool(shown) and (len(found) > first + len(shown) or is_cut)
        cursor = to_cursor("last_turn", shown[-1][1]) if is_more else None
        return Lines(tuple(line for line, _ in shown), len(found), cursor)

    def _found(self, caller: Caller, wanted: Filter) -> tuple[list[tuple[Line, str]], bool]:
        """Return what matches, each with its place, and whether there is more to look at."""
        found: list[tuple[Line, str]] = []
        owner, after = caller.owner.id if caller.owner else None, ""
        for _ in range(LOOKED_AT // BATCH):
            page = self._change.store.listed(caller.tenant, after, BATCH)
            rows = [row for row in page.sessions if row.session is not None]
            if owner is not None:
                rows = [row for row in rows if row.session and row.session.owner_id == owner]
            about = self._runs.described([row.key for row in rows]) if rows else {}
            for row in rows:
                line = _line(row, about.get(row.key))
                if line is not None and _matches(line, wanted):
                    found.append((line, row.place))
            after = page.after
            if not after:
                break
        return found, bool(after)

    def end(self, caller: Caller, session_id: str) -> None:
        """End a session for good, and its runs with it; once more changes nothing.

        Raises `UnknownSession`, also for one that was made otherwise: to end that takes an API key.
        """
        self.beginning(caller, session_id)

        def cancel(stamp: Stamp, facts: Facts, _session: Session) -> Command:
            return CancelSession(stamp, facts, "user")

        self._change(caller, session_id, cancel)

    def _located(self, caller: Caller, session_id: str) -> tuple[SessionKey, Head]:
        key = SessionKey(caller.tenant, session_id)
        with unreadable_hidden(caller):
            head = seen_by(caller, self._change.store.head(key))
        return key, head

    def _commit_of(self, key: SessionKey, seq: int) -> Logged:
        for commit in self._change.store.log(key, seq, seq):
            return commit
        raise DefectError(f"{key.session} has no event {seq}")

    def _ended_ms(self, key: SessionKey, head: Head) -> int | None:
        upto = head.session.seq
        for commit in self._change.store.log(key, max(1, upto - END_EVENTS), upto):
            if any(isinstance(one, SessionCancelled) for one in commit.events):
                return commit.at_ms
        return None


def _line(row: Listed, about: Described | None) -> Line | None:
    """Return how a list shows a session, `None` for one that was made otherwise."""
    if about is None or row.session is None or about.created != row.created:
        return None
    created_ms = uuid7_ms(row.created) or row.last_turn_ms
    return Line(
        row.key.session,
        about.name,
        about.metadata,
        created_ms,
        row.last_turn_ms or created_ms,
        row.session.is_cancelled,
    )


def _matches(line: Line, wanted: Filter) -> bool:
    if wanted.is_ended not in {None, line.is_ended}:
        return False
    return {f"{name}:{value}" for name, value in line.metadata.items()}.issuperset(wanted.metadata)
