"""Follows a session over SSE, as any client would: comes back at its cursor until there is an end.

It must not print.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx
from httpx_sse import connect_sse

from everturn_local.remote import STREAM_TIMEOUT_S, Refused, Remote, Unreachable, check, place

TRIES = 8
"""Answers in a row that may fail before the follower gives up."""

LONGEST_S = 10.0
"""Longest wait between two of them; the first one is a quarter of a second."""


@dataclass(slots=True)
class Tail:
    """One follower of one session, or of one turn of it."""

    remote: Remote
    session_id: str
    turn_id: str = ""
    cursor: str = ""
    """The last thing seen; empty is the beginning."""

    follow: bool = False
    """Go on when no turn is open."""

    sleep: Callable[[float], None] = time.sleep
    _failed: int = field(default=0, init=False)
    _idle_s: float | None = field(default=None, init=False)
    _ended: bool = field(default=False, init=False)

    def frames(self) -> Iterator[dict[str, Any]]:
        """Yield frames as a WebSocket has them, each once: `{type, cursor, event | delta}`.

        Raises `Refused`, also for a session that is deleted meanwhile, and `Unreachable`.
        """
        while not self._ended:
            self._idle_s = None
            try:
                yield from self._answer()
                self._failed = 0
            except (httpx.TransportError, Refused) as error:
                self._wait_after(error)
                continue
            if self._idle_s is not None:
                if not self.follow:
                    return
                self.sleep(self._idle_s)

    def _answer(self) -> Iterator[dict[str, Any]]:
        """Yield what one answer has to say."""
        headers = {"last-event-id": self.cursor} if self.cursor else {}
        query = {"turn_id": self.turn_id} if self.turn_id else {}
        path = f"/v1/sessions/{place(self.session_id)}/events"
        with connect_sse(
            self.remote.http,
            "GET",
            path,
            params=query,
            headers=headers,
            timeout=STREAM_TIMEOUT_S,
        ) as source:
            if source.response.status_code == HTTPStatus.NO_CONTENT:
                self._ended = True
                return
            if not source.response.is_success:
                source.response.read()
                check(source.response)
            for frame in source.iter_sse():
                if not frame.data:
                    if frame.retry is not None:
                        self._idle_s = frame.retry / 1000
                    continue
                self.cursor = frame.id or self.cursor
                self._failed = 0
                yield self._read(frame.event, frame.data)

    def _read(self, name: str, data: str) -> dict[str, Any]:
        kind = "delta" if name == "llm.token.delta" else "event"
        return {"type": kind, "cursor": self.cursor, kind: json.loads(data)}

    def _wait_after(self, error: httpx.TransportError | Refused) -> None:
        """Wait before the next try. Raises `Refused` for what no repetition changes."""
        if isinstance(error, Refused) and error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise error
        self._failed += 1
        if self._failed >= TRIES:
            if isinstance(error, Refused):
                raise error
            raise Unreachable(f"{self.remote.http.base_url} does not answer") from error
        self.sleep(min(0.25 * 2.0 ** (self._failed - 1), LONGEST_S))
