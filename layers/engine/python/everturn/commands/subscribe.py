"""Subscribes a connection to a session and replays what it missed; pushing is others' work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from everturn.commands.read_events import Frame, ReadEvents
from everturn.ports.callers import Caller
from everturn.ports.directory import Directory
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watcher
from everturn.push.audience import Audience
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
        caller: Caller,
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
        key, head, turn = self._events.locate(caller, session_id, turn_id)
        if turn is not None:
            turn_id = turn.turn_id  # an alias is not what events are marked with
            if after.seq < turn.first_seq - 1:
                after = Cursor(turn.first_seq - 1, turn.first_seq - 1, 0)
        about = {"id": subscription, "session_id": session_id}
        audience = Audience(caller.is_frontend, turn_id or "")
        replay = _Replay(about, send, after, audience)
        self._directory.note_subscription(connection_id, session_id, subscription)
        if not send({"type": "subscribed", **about, "seq": head.session.seq}):
            return
        if not replay.send_all(self._events.frames(key, head, after)):
            return
        if replay.cursor.seq < head.session.seq:
            send({"type": "more", **about, "cursor": replay.cursor.text()})
            return
        watcher = Watcher(
            connection_id,
            subscription,
            audience.turn_id,
            caller.lapses_epoch_s,
            audience.frontend,
        )
        if not self._watch(key, watcher, head.created):
            return
        _, head, _ = self._events.locate(caller, session_id, None)
        if replay.send_all(self._events.frames(key, head, replay.cursor)):
            replay.tell_skipped()

    def _watch(self, key: SessionKey, watcher: Watcher, created: str) -> bool:
        """Watch, unless the subscription ended while we replayed; returns whether it lasts.

        A token that was renewed meanwhile counts: whoever renewed it found no watcher yet.
        """
        connection_id, subscription = watcher.connection_id, watcher.subscription
        self._store.add_watcher(key, watcher, created)
        connection = self._directory.connection(connection_id)
        if connection is None or (key.session, subscription) not in connection.sessions:
            self._store.remove_watcher(key, connection_id, subscription)
            return False
        until_epoch_s = connection.caller.lapses_epoch_s
        if until_epoch_s != watcher.until_epoch_s:
            self._store.add_watcher(key, replace(watcher, until_epoch_s=until_epoch_s), created)
        return True

    def renew(self, connection_id: str) -> None:
        """Let all subscriptions of a connection last as long as its caller's new token."""
        connection = self._directory.connection(connection_id)
        if connection is None:
            return
        caller = connection.caller
        for session_id in dict.fromkeys(session_id for session_id, _ in connection.sessions):
            key = SessionKey(caller.tenant, session_id)
            self._store.extend_watchers(key, connection_id, caller.lapses_epoch_s)

    def end(self, caller: Caller, connection_id: str, subscription: str) -> None:
        """End one subscription of a connection; an unknown one is no error."""
        connection = self._directory.connection(connection_id)
        for session_id, name in connection.sessions if connection else ():
            if name == subscription:
                self._directory.forget_subscription(connection_id, session_id, name)
                key = SessionKey(caller.tenant, session_id)
                self._store.remove_watcher(key, connection_id, subscription)

    def disconnect(self, connection_id: str) -> None:
        """Forget a connection and all that it subscribed to.

        The connection goes first: a subscription that begins meanwhile sees that, and ends itself.
        """
        connection = self._directory.connection(connection_id)
        if connection is None:
            return
        self._directory.delete_connection(connection_id)
        for session_id, _ in connection.sessions:
            key = SessionKey(connection.caller.tenant, session_id)
            self._store.remove_watcher(key, connection_id)


class _Replay:
    """What one subscription has been sent so far."""

    def __init__(
        self, about: dict[str, Any], send: Send, after: Cursor, audience: Audience
    ) -> None:
        self.cursor = after
        """The last event and the last piece that were read."""

        self._about = about
        self._send = send
        self._audience = audience
        self._sent_seq = after.seq

    def send_all(self, frames: list[Frame]) -> bool:
        """Send `frames` as far as they are wanted; returns `False` once the connection is gone."""
        return all(self._one(frame) for frame in frames)

    def tell_skipped(self) -> None:
        """Say so where the last events are not for this reader: what is pushed hangs on them."""
        if self._sent_seq < self.cursor.seq:
            self._send({"type": "skipped", **self._place()})

    def _one(self, frame: Frame) -> bool:
        self.cursor = read_cursor(frame.cursor)
        if frame.event == "llm.token.delta":
            if self._audience.turn_id not in {"", frame.data.get("turn_id")}:
                return True
            about = {**self._about, "cursor": frame.cursor, "prev_n": self.cursor.n - 1}
            return self._send({"type": "delta", **about, "delta": frame.data})
        if not self._audience.is_shown(frame.data):
            return True
        return self._send({"type": "event", **self._place(), "event": frame.data})

    def _place(self) -> dict[str, Any]:
        """Return what says where a frame of an event stands, which is then the last one sent."""
        prev_seq, self._sent_seq = self._sent_seq, self.cursor.seq
        seqs = {"seq": self.cursor.seq, "prev_seq": prev_seq}
        return {**self._about, "cursor": self.cursor.text(), **seqs}
