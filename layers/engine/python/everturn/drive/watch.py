"""Looks every second whether others wrote to the session, and who reads it; changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import Final

from everturn.errors import EverturnError
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey
from everturn.ports.streams import Watch

INTERVAL_S: Final = 1.0
"""Source: architecture, section 4."""

Saw = Callable[[Head | None, Watch], None]
"""Takes the head and the readers of one moment."""

Watching = Callable[[SessionStore, SessionKey, Saw], AbstractContextManager[None]]
"""Has a session looked at around a body; `watching` is the one that a deployment uses."""


@contextmanager
def watching(store: SessionStore, key: SessionKey, saw: Saw) -> Iterator[None]:
    """Call `saw` every second from a thread, with the head and the readers of that moment."""
    ended = Event()

    def look() -> None:
        while not ended.wait(INTERVAL_S):
            try:
                head, watch = store.head_and_watch(key)
            except EverturnError:
                continue  # a missed look is made up for by the next one
            if not ended.is_set():
                saw(head, watch)

    thread = Thread(target=look, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
