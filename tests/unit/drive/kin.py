"""The sessions that a session started, in the order in which it asked for them; no judgement."""

from __future__ import annotations

from collections.abc import Iterator

from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.session.events.children import SubAgentRequested


def family_of(store: SessionStore, key: SessionKey) -> Iterator[SessionKey]:
    """Yield a session and all below it, whether they are there by now or not."""
    yield key
    for commit in store.log(key, 1):
        for event in commit.events:
            if isinstance(event, SubAgentRequested):
                yield from family_of(store, SessionKey(key.tenant, event.session_id))
