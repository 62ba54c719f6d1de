"""Rebuilds a model request that was sent, byte for byte, from the log alone; sends nothing."""

from __future__ import annotations

from typing import TypeVar

from everturn.errors import DefectError
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.session.events.model_calls import ModelCallRequested, RequestHeader
from everturn.session.events.stored import Event
from everturn.session.request import BuiltRequest, rebuild
from everturn.session.tree import path_within

Kind = TypeVar("Kind", bound=Event)


class RebuildRequest:
    """What readers of `llm.call.requested` get as `request`. Source: session-log RH-5."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def __call__(self, key: SessionKey, seq: int) -> BuiltRequest:
        """Return the request of the model call that event `seq` asked for.

        Raises `DefectError` where the log does not have it, or does not add up to it.
        """
        asked = self._event(key, seq, ModelCallRequested)
        header = self._event(key, asked.private.header_seq, RequestHeader).header
        boundary = asked.private.boundary
        if boundary is None or asked.messages is not None:
            return rebuild(asked, header, ())
        logged = self._store.materialise(
            key, self._store.log(key, boundary.from_seq, boundary.head_seq)
        )
        events = [one for commit in logged for one in commit.numbered()]
        return rebuild(asked, header, path_within(events, boundary.head_id, boundary.from_seq))

    def _event(self, key: SessionKey, seq: int, kind: type[Kind]) -> Kind:
        logged = self._store.materialise(key, self._store.log(key, seq, seq))
        for commit in logged:
            for number, event in commit.numbered():
                if number == seq and isinstance(event, kind):
                    return event
        raise DefectError(f"{key.session} has no {kind.__name__} at event {seq}")
