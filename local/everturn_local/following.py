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
        order = _Order()
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TurnNotFinished(f"turn {turn_id} was not over after {timeout_s:g} s")
            try:
                got: dict[str, Any] = json.loads(socket.recv(timeout=left))
            except TimeoutError:
                continue
            for frame in order.put(got):
                yield frame
                if _ends_turn(frame):
                    return


class _Order:
    """Drops what comes again, and holds back a frame that overtook the ones before it.

    What is pushed may overtake the replay that a subscription begins with.
    """

    def __init__(self) -> None:
        self._seen: int | None = None
        self._early: dict[int, dict[str, Any]] = {}
        self._delta = (0, 0)
        self._early_deltas: dict[tuple[int, int], dict[str, Any]] = {}

    def put(self, frame: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what can be shown now that `frame` is here."""
        match frame["type"]:
            case "event" | "event_ref" | "skipped":
                self._early[frame["seq"]] = frame
                yield from self._events()
            case "delta":
                self._early_deltas[_delta_place(frame["cursor"])] = frame
                yield from self._deltas()
            case _:
                yield frame

    def _deltas(self) -> Iterator[dict[str, Any]]:
        for place in sorted(self._early_deltas):
            frame = self._early_deltas[place]
            dispatch, _ = place
            if place > self._delta:
                reached = self._delta[1] if dispatch == self._delta[0] else 0
                if frame["prev_n"] > reached:
                    return
                self._delta = place
                yield frame
            del self._early_deltas[place]

    def _events(self) -> Iterator[dict[str, Any]]:
        for seq in sorted(self._early):
            frame = self._early[seq]
            if self._seen is None and frame["type"] == "skipped":
                del self._early[seq]
                continue
            if self._seen is None and not _begins_turn(frame):
                return
            if self._seen is not None and frame["prev_seq"] > self._seen:
                return
            del self._early[seq]
            if self._seen is None or seq > self._seen:
                self._seen = seq
                if frame["type"] != "skipped":
                    yield frame


def _begins_turn(frame: dict[str, Any]) -> bool:
    return _type_of(frame) == "turn.started"


def _ends_turn(frame: dict[str, Any]) -> bool:
    return _type_of(frame) == "turn.completed"


def _type_of(frame: dict[str, Any]) -> str:
    return str(frame["event"]["payload"]["type"]) if frame["type"] == "event" else ""


def _delta_place(cursor: str) -> tuple[int, int]:
    dispatch, _, n = cursor.partition(".")[2].partition("-")
    return int(dispatch), int(n)
