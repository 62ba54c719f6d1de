"""A WebSocket client that subscribes to a session and takes what comes; it measures nothing."""

from __future__ import annotations

import json
import threading
from collections import Counter
from types import TracebackType
from typing import Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from everturn_local.bootstrap import Access

PATIENCE_S = 10.0


class Subscriber:
    """Subscribed inside its block."""

    def __init__(self, access: Access, session_id: str, after_seq: int) -> None:
        self._access = access
        self._frame = {
            "action": "subscribe",
            "id": "bench",
            "session_id": session_id,
            "after": f"{after_seq}.0-0",
        }
        self.frames: Counter[str] = Counter()
        """How many frames of each type came."""

        self._subscribed = threading.Event()
        self._reading = threading.Thread(target=self._read, name="subscriber", daemon=True)

    def __enter__(self) -> Self:
        """Connect and subscribe. Raises `TimeoutError` where the engine does not confirm it."""
        self._socket = connect(
            self._access.ws_url, additional_headers=self._access.headers, max_size=None
        )
        self._reading.start()
        self._socket.send(json.dumps(self._frame))
        if not self._subscribed.wait(PATIENCE_S):
            self._socket.close()
            raise TimeoutError("the subscription was not confirmed")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Disconnect."""
        self._socket.close()
        self._reading.join(PATIENCE_S)

    def _read(self) -> None:
        try:
            for text in self._socket:
                kind = json.loads(text)["type"]
                self.frames[kind] += 1
                if kind == "subscribed":
                    self._subscribed.set()
        except ConnectionClosed:
            return
