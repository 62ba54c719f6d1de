"""Reads the worker's state of a version; decides nothing."""

from __future__ import annotations

from typing import Any

from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Logged, SessionKey
from everturn.session.events.messages import StateUpdated


def state_at(
    store: SessionStore, key: SessionKey, seq: int, logged: tuple[Logged, ...] = ()
) -> Any:
    """Return the worker's state of version `seq`, `None` for none; `logged` is at hand already."""
    if not seq:
        return None
    at_hand = [commit for commit in logged if commit.first_seq <= seq <= commit.last_seq]
    for number, event in [
        one
        for commit in tuple(at_hand) or store.materialise(key, store.log(key, seq, seq))
        for one in commit.numbered()
    ]:
        if number == seq and isinstance(event, StateUpdated):
            return event.state
    return None
