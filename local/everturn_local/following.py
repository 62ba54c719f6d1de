"""Follows one turn over a WebSocket, as any client would; what frames mean is the caller's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from websockets.sync.client import connect

from everturn_local.bootstrap import Access


class TurnNotFinished(Exception):
    """The turn's last event did not come in time."""


def follow(
    access: Access, session_id: str, turn_id: str, timeout_s: float
) -> Iterator[dict[str, Any]]:
    """Yield the frames of a turn, from its first event to its last, each once and in order.

    Raises `TurnNotFinished` after `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    with connect(access.ws_url, additional_headers=access.headers, max_size=None) as socket:
        frame = {"action": "subscribe", "id": "demo", "session_id": session_id, "turn_id": turn_id}
        socket.send(json.dumps(frame))
        seen = 0
        delta = (0, 0)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TurnNotFinished(f"turn {turn_id} was not over after {timeout_s:g} s")
            try:
                got: dict[str, Any] = json.loads(socket.recv(timeout=left))
            except TimeoutError:
                continue
            match got["type"]:
                case "event" | "event_ref":
                    if got["seq"] <= seen:
                        continue
                    seen = got["seq"]
                case "delta":
                    place = _delta_place(got["cursor"])
                    if place <= delta:
                        continue
                    delta = place
            yield got
            if got["type"] == "event" and got["event"]["payload"]["type"] == "turn.completed":
                return


def _delta_place(cursor: str) -> tuple[int, int]:
    dispatch, _, n = cursor.partition(".")[2].partition("-")
    return int(dispatch), int(n)
