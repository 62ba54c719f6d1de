"""Subscribes a connection to a session and replays what it missed; pushing is others' work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from everturn.commands.read_events import Frame, ReadEvents
from everturn.ports.directory import Directory
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watcher
from everturn.push.envelopes import Cursor, read_cursor

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
        """Replay what was missed, watch, then replay what came meanwhile: nothing falls between.

        Who has more to catch up with than one answer holds is told so, and does not watch yet.
        Raises `UnknownSession`, `UnknownTurn`.
        """
        key, head, turn = self._events.locate(tenant, session_id, turn_id)
        if turn is not None and after.seq < turn.first_seq - 1:
            after = Cursor(turn.first_seq - 1, turn.first_seq - 1, 0)
        about = {"id": subscription, "session_id": session_id}
        replay = _Replay(about, send, after, turn_id)
        self._directory.note_subscription(connection_id, session_id, subscription)
        if not send({"type": "subscribed", **about, "seq": head.session.seq}):
            return
        if not replay.send_all(self._events.frames(key, head, after)):
            return
        if replay.cursor.seq < head.session.seq:
            send({"type": "more", **about, "cursor": replay.cursor.text()})
            return
        self._store.add_watcher(key, Watcher(connection_id, subscription, turn_id or ""))
        if not self._is_noted(connection_id, session_id, subscription):
            self._store.remove_watcher(key, connection_id, subscription)  # ended while we replayed
            return
        _, head, _ = self._events.locate(tenant, session_id, None)
        replay.send_all(self._events.frames(key, head, replay.cursor))

    def _is_noted(self, connection_id: str, session_id: str, subscription: str) -> bool:
        connection = self._directory.connection(connection_id) or {}
        return [session_id, subscription] in connection.get("sessions", [])

    def end(self, tenant: str, connection_id: str, subscription: str) -> None:
        """End one subscription of a connection; an unknown one is no error."""
        connection = self._directory.connection(connection_id) or {}
        for session_id, name in connection.get("sessions", []):
            if name == subscription:
                self._directory.forget_subscription(connection_id, session_id, name)
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


class _Replay:
    """What one subscription has been sent so far."""

    def __init__(
        self, about: dict[str, Any], send: Send, after: Cursor, turn_id: str | None
    ) -> None:
        self.cursor = after
        """The last event and the last piece that were read."""

        self._about = about
        self._send = send
        self._turn_id = turn_id
        self._sent_seq = after.seq

    def send_all(self, frames: list[Frame]) -> bool:
        """Send `frames` as far as they are wanted; returns `False` once the connection is gone."""
        return all(self._one(frame) for frame in frames)

    def _one(self, frame: Frame) -> bool:
        self.cursor = read_cursor(frame.cursor)
        if self._turn_id is not None and frame.data.get("turn_id") != self._turn_id:
            return True
        place = {**self._about, "cursor": frame.cursor}
        if frame.event == "llm.token.delta":
            prev_n = self.cursor.n - 1
            return self._send({"type": "delta", **place, "prev_n": prev_n, "delta": frame.data})
        prev_seq, self._sent_seq = self._sent_seq, self.cursor.seq
        seqs = {"seq": self.cursor.seq, "prev_seq": prev_seq}
        return self._send({"type": "event", **place, **seqs, "event": frame.data})
