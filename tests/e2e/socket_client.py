"""A WebSocket client that follows sessions by the rules, and notices when they are broken."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Event
from types import TracebackType
from typing import Any, Self, TypeVar

from websockets.sync.client import ClientConnection, connect

from e2e.waiting import PATIENCE_S, NotInTime
from published import check_frame

Started = TypeVar("Started")


class Gap(AssertionError):
    """A frame does not follow the one before it."""


class Socket:
    """One connection."""

    def __init__(
        self, ws_url: str, credential: str | None, touched: dict[str, None], **how: Any
    ) -> None:
        """Take a credential for the header; without one `how`, for `connect`, may have another."""
        self._url = ws_url
        self._headers = {} if credential is None else {"authorization": f"Bearer {credential}"}
        self._how = how
        self._touched = touched
        self._socket: ClientConnection | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Connect."""
        opening = connect(self._url, additional_headers=self._headers, max_size=None, **self._how)
        self._socket = self._stack.enter_context(opening)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self._stack.close()

    @property
    def socket(self) -> ClientConnection:
        """The open connection."""
        assert self._socket is not None
        return self._socket

    def send(self, frame: Any) -> None:
        """Send a frame, or a text as it is."""
        self.socket.send(frame if isinstance(frame, str) else json.dumps(frame))

    def receive(self, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """Return the next frame; raises `NotInTime`."""
        try:
            frame: dict[str, Any] = json.loads(self.socket.recv(timeout=within_s))
        except TimeoutError:
            raise NotInTime(f"no frame came within {within_s:g} s") from None
        check_frame(frame)
        if frame["type"] == "accepted":
            self._touched[frame["session_id"]] = None
        return frame

    def ask(self, frame: Any) -> dict[str, Any]:
        """Send a frame, return the next one that comes."""
        self.send(frame)
        return self.receive()

    def subscribe(self, session_id: str, name: str = "sub", **more: Any) -> dict[str, Any]:
        """Subscribe; return the frame that says so."""
        wanted = {"action": "subscribe", "id": name, "session_id": session_id, **more}
        subscribed = self.ask(wanted)
        assert subscribed["type"] == "subscribed", subscribed
        return subscribed

    def frames(self, within_s: float = PATIENCE_S) -> Iterator[dict[str, Any]]:
        """Yield frames as they come; raises `NotInTime` where none comes in time."""
        end = time.monotonic() + within_s
        while True:
            yield self.receive(max(0.01, end - time.monotonic()))


@dataclass(slots=True)
class Follower:
    """What a client has seen of one session: repeats are dropped, what comes early is held back.

    A live event may overtake the replay; a gap that stays raises `Gap`.
    """

    seq: int = 0
    place: tuple[int, int] = (0, 0)
    cursor: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    """Payloads, or `event_ref` frames, in their order."""

    deltas: list[dict[str, Any]] = field(default_factory=list)
    repeats: int = 0
    early: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Event frames by the event that they follow, which has not come yet."""

    early_deltas: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    """Delta frames by their place; pieces before them have not come yet."""

    def take(self, frame: dict[str, Any]) -> None:
        """Take one frame in."""
        match frame["type"]:
            case "event" | "event_ref" | "skipped":
                self._event(frame)
            case "delta":
                self._delta(frame)
            case "error":
                raise AssertionError(frame)

    def read(
        self,
        socket: Socket,
        enough: Callable[[Follower], bool],
        within_s: float = PATIENCE_S,
    ) -> None:
        """Take frames until there is enough."""
        if enough(self):
            return
        try:
            for frame in socket.frames(within_s):
                self.take(frame)
                if enough(self):
                    return
        except NotInTime:
            if self.early:
                raise Gap(f"after {self.seq} come {sorted(self.early)}") from None
            raise

    def until_end(self, socket: Socket, turns: int = 1, within_s: float = PATIENCE_S) -> None:
        """Take frames until so many turns are over."""
        self.read(socket, lambda one: one.turns_ended() >= turns, within_s)

    def turns_ended(self) -> int:
        """Return how many turns ended."""
        return self.types().count("turn.completed")

    def text(self, call_id: str | None = None, attempt: int = 1) -> str:
        """Return what the deltas of a call say, by default of the last call that said something."""
        wanted = call_id or (self.deltas[-1]["call_id"] if self.deltas else "")
        return "".join(
            delta.get("text") or ""
            for delta in self.deltas
            if (delta["call_id"], delta["attempt"]) == (wanted, attempt)
        )

    def types(self) -> list[str]:
        """Return the types of the events."""
        return [event["type"] for event in self.events]

    def _event(self, frame: dict[str, Any]) -> None:
        if frame["seq"] <= self.seq:
            self.repeats += 1
            return
        if frame["prev_seq"] > self.seq:
            self.early[frame["prev_seq"]] = frame
            return
        self.seq = frame["seq"]
        if frame["type"] != "skipped":
            self.events.append(frame["event"]["payload"] if frame["type"] == "event" else frame)
        self._move()
        next_one = self.early.pop(self.seq, None)
        if next_one is not None:
            self._event(next_one)

    def _delta(self, frame: dict[str, Any]) -> None:
        dispatch, _, n = frame["cursor"].partition(".")[2].partition("-")
        place = (int(dispatch), int(n))
        reached = self.place[1] if place[0] == self.place[0] else 0
        if place <= self.place:
            self.repeats += 1
            return
        if frame["prev_n"] > reached:
            self.early_deltas[place] = frame
            return
        self.place = place
        self.deltas.append(frame["delta"])
        self._move()
        for waiting in sorted(self.early_deltas):
            if self.early_deltas[waiting]["prev_n"] <= n_of(self.place, waiting):
                self._delta(self.early_deltas.pop(waiting))
                return

    def _move(self) -> None:
        self.cursor = f"{self.seq}.{self.place[0]}-{self.place[1]}"


def until_seen(socket: Socket, event_type: str) -> Iterator[dict[str, Any]]:
    """Yield the frames of a socket up to the first event of a type."""
    while True:
        frame = socket.receive()
        yield frame
        if frame.get("event", {}).get("payload", {}).get("type") == event_type:
            return


def watched_turn(
    socket: Socket, session_id: str, start: Callable[[], Started], is_watched: Event
) -> tuple[Started, list[dict[str, Any]]]:
    """Start a turn in an idle session that is followed; return what `start` does, and its frames.

    `is_watched` is set once the call is seen to be on its way: who streams only then is heard.
    """
    socket.subscribe(session_id)
    assert list(until_seen(socket, "session.done")), "it is followed from here on"
    started = start()
    frames = list(until_seen(socket, "llm.call.dispatched"))
    is_watched.set()
    return started, [*frames, *until_seen(socket, "turn.completed")]


def n_of(place: tuple[int, int], other: tuple[int, int]) -> int:
    """Return how far `place` is in the dispatch of `other`."""
    return place[1] if place[0] == other[0] else 0
