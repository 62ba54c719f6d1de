"""Lists the sessions that a caller may see; how many heads a page looks at has a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from everturn.commands.cursors import Order, from_cursor, to_cursor
from everturn.ports.callers import Caller
from everturn.ports.lists import Listed, ListPage
from everturn.ports.session_store import SessionStore
from everturn.protocol.events import to_rfc3339
from everturn.protocol.ids import uuid7_ms
from everturn.session.state import status_of

DEFAULT_SESSIONS: Final = 50
PAGE_SESSIONS: Final = 200
"""Most sessions of one page."""

LOOKED_AT: Final = 500
"""Most sessions that a page looks at; where few match it is short and has a cursor all the same."""

BATCH: Final = 100
"""Sessions looked at together. Source: DynamoDB, BatchGetItem."""

STATUSES: Final = ("active", "idle", "interrupted", "done", "cancelled")
"""Source: decision-protocol S-6."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions a page is to have."""

    agent_id: str | None = None
    status: str | None = None
    owner: str | None = None
    limit: int = DEFAULT_SESSIONS
    cursor: str | None = None


class ListSessions:
    """The use case behind `GET /v1/sessions`."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def __call__(self, caller: Caller, wanted: Wanted) -> dict[str, Any]:
        """Return `{sessions, cursor?}`, the newest last turn first, of an owner the newest first.

        A client token sees its owner's sessions alone. Raises `InvalidId` for a bad cursor.
        """
        owner = wanted.owner if caller.owner is None else caller.owner.id
        order: Order = "last_turn" if owner is None else "created"
        after = from_cursor(order, wanted.cursor)
        if wanted.owner not in {None, owner}:
            return {"sessions": []}
        read = (
            partial(self._store.listed, caller.tenant)
            if owner is None
            else partial(self._store.owned, caller.tenant, owner)
        )
        rows, after = _collected(read, after, wanted)
        more = {"cursor": to_cursor(order, after)} if after else {}
        return {"sessions": [_shown(row) for row in rows], **more}


def _collected(
    read: Callable[[str, int], ListPage], after: str, wanted: Wanted
) -> tuple[list[Listed], str]:
    """Return the rows of a page, and the place where the next one begins."""
    chosen = wanted.agent_id is not None or wanted.status is not None
    rows: list[Listed] = []
    for _ in range(LOOKED_AT // BATCH):
        page = read(after, BATCH if chosen else min(BATCH, wanted.limit - len(rows)))
        for row in page.sessions:
            if not _matches(row, wanted):
                continue
            rows.append(row)
            if len(rows) == wanted.limit:
                is_last = row is page.sessions[-1] and not page.after
                return rows, "" if is_last else row.place
        after = page.after
        if not after:
            break
    return rows, after


def _matches(row: Listed, wanted: Wanted) -> bool:
    """Return whether a session is asked for; of one that cannot be read nobody knows."""
    session = row.session
    if session is None:
        return wanted.agent_id is None and wanted.status is None
    if wanted.agent_id not in {None, session.agent_id}:
        return False
    return wanted.status in {None, status_of(session)}


def _shown(row: Listed) -> dict[str, Any]:
    created_ms = uuid7_ms(row.created)
    shown: dict[str, Any] = {"session_id": row.key.session}
    session = row.session
    if session is not None:
        shown |= {
            "agent_id": session.agent_id,
            "owner": session.owner_id,
            "status": status_of(session),
            "turns": session.turns,
        }
        if session.turn is not None:
            shown["turn_id"] = session.turn.id
    if created_ms is not None:
        shown["created_at"] = to_rfc3339(created_ms)
    if row.last_turn_ms:
        shown["last_turn_at"] = to_rfc3339(row.last_turn_ms)
    if row.quarantined is not None:
        at = to_rfc3339(row.quarantined.at_ms)
        shown["quarantined"] = {"reason": row.quarantined.reason, "at": at}
    return shown
