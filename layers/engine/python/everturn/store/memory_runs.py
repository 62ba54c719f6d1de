"""`RunIndex` on the session store in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from everturn.ports.runs import Described, Feedback, RunPlace
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.session.events.runs import RunRequested, SessionDescribed
from everturn.store.memory import InMemorySessionStore


class InMemoryRuns:
    """The runs of one store."""

    def __init__(self, store: InMemorySessionStore) -> None:
        self._store = store
        self._said: dict[tuple[str, str, str], Feedback] = {}

    def place(self, tenant: str, run_id: str) -> RunPlace | None:
        """Return where a run is."""
        for key in self._store.keys(tenant):
            for seq, event, created in _events(self._store, key):
                if isinstance(event, RunRequested) and event.turn_id == run_id:
                    return RunPlace(run_id, key.session, seq, created)
        return None

    def put_feedback(self, tenant: str, place: RunPlace, feedback: Feedback) -> Feedback | None:
        """Keep what somebody thinks."""
        named = (tenant, place.session, place.run_id)
        before = self._said.get(named)
        self._said[named] = replace(feedback, id=before.id) if before else feedback
        return before

    def feedback(self, tenant: str, place: RunPlace) -> Feedback | None:
        """Return what was said."""
        return self._said.get((tenant, place.session, place.run_id))

    def described(self, sessions: Sequence[SessionKey]) -> dict[SessionKey, Described]:
        """Return what sessions were made as."""
        found = {}
        for key in sessions:
            for _, event, created in _events(self._store, key):
                if isinstance(event, SessionDescribed):
                    given = event.description
                    name, metadata = given.get("name") or "", given.get("metadata") or {}
                    found[key] = Described(name, dict(metadata), created)
        return found


def _events(store: SessionStore, key: SessionKey) -> list[tuple[int, object, str]]:
    return [
        (seq, event, commit.created)
        for commit in store.log(key, 1)
        for seq, event in commit.numbered()
    ]
