"""Subscribes a connection to a session and replays what it missed; pushing is others' work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from everturn.commands.read_events import ReadEvents
from everturn.errors import UnknownSession
from everturn.ports import Directory, SessionKey, SessionStore, Watcher
from everturn.push.envelopes import Cursor

Send = Callable[[dict[str, Any]], bool]
"""Sends one frame to the connection; `False` once it is gone."""

FIRST: Final = Cursor()


class Subscribe:
    """The use case behind the frames `subscribe` and `unsubscribe`."""

    def __init__(self, store: SessionStore, directory: Directory, events: ReadEvents) -> None:
        self._store = store
        self._directory = directory
        self._events = events

    def __call__(
        self,
        tenant: str,
        connection_id: str,
        subscription: str,
        session_id: str,
        after: Cursor,
        turn_id: str | None,
        send: Send,
    ) -> None:
        """Record the subscription first, read then: whatever is committed from now on is pushed.

        Raises `UnknownSession`.
        """
        key = SessionKey(tenant, session_id)
        if self._store.head(key) is None:
            raise UnknownSession(f"There is no session {session_id}.")
        self._directory.note_subscription(connection_id, session_id, subscription)
        self._store.add_watcher(key, Watcher(connection_id, subscription, turn_id or ""))
        head = self._store.head(key)
        if head is None:
            raise UnknownSession(f"There is no session {session_id}.")
        about = {"id": subscription, "session_id": session_id}
        if not send({"type": "subscribed", **about, "seq": head.session.seq}):
            return
        prev_seq = read_seq = after.seq
        last = after.text()
        for frame in self._events.frames(key, head, after):
            place = {**about, "cursor": frame.cursor}
            last = frame.cursor
            is_delta = frame.event == "llm.token.delta"
            read_seq = read_seq if is_delta else frame.data["seq"]
            if turn_id is not None and frame.data.get("turn_id") != turn_id:
                continue
            if is_delta:
                sent = send({"type": "delta", **place, "delta": frame.data})
            else:
                body = {"type": "event", **place, "seq": read_seq, "prev_seq": prev_seq}
                sent = send({**body, "event": frame.data})
                prev_seq = read_seq
            if not sent:
                return
        if read_seq < head.session.seq:
            send({"type": "more", **about, "cursor": last})

    def end(self, tenant: str, connection_id: str, subscription: str) -> None:
        """End one subscription of a connection; an unknown one is no error."""
        connection = self._directory.connection(connection_id) or {}
        for session_id, name in connection.get("sessions", []):
            if name == subscription:
                self._store.remove_watcher(
                    SessionKey(tenant, session_id), connection_id, subscription
                )

    def disconnect(self, connection_id: str) -> None:
        """Forget a connection and all that it subscribed to."""
        connection = self._directory.connection(connection_id)
        if connection is None:
            return
        for session_id, _ in connection.get("sessions", []):
            self._store.remove_watcher(SessionKey(connection["tenant"], session_id), connection_id)
        self._directory.delete_connection(connection_id)
