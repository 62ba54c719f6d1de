"""Clients that keep their side of the contract: they repeat, come back, and notice gaps.

They must not look into the store: what they know, they were told.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from everturn.push.envelopes import read_cursor
from faults.follower import Follower, read_frames
from faults.functions import Functions
from faults.outside import OpenConnections
from faults.process import Process
from faults.run_functions import RunFunctions
from faults.scenario import Reader, Scenario
from unit.drive.doubles import FrozenClock
from unit.drive.world import KEY, body

Answer = TypeVar("Answer")

PATIENCE_MS: Final = 1_000
"""How long a client waits before it repeats what was not answered, and for a gap to close."""

GIVES_UP_AFTER: Final = 12
"""Empty answers in a row, each waited for twice as long, that make a poller leave: over an hour."""

COMES_BACK_AFTER_MS: Final = 15_000
"""When a poller asks again that was told to, because no turn is open."""

CHUNKS_BETWEEN: Final = 2
"""Of a model's answer, between two requests of a poller."""

COMES_AFTER_MS: Final = 60_000
"""How long a late subscriber waits for an answer to break into."""

GOES_AFTER: Final = 5
"""How many frames a leaving subscriber sees first."""

SUBSCRIPTION: Final = "sub"
BUSY: Final = {"turn_already_active": 409, "store_unavailable": 503}
"""Refusals after which an input is sent again, by their codes in a frame."""


class Site(Protocol):
    """What clients reach: functions, each time in a new process."""

    functions: Functions
    doors: RunFunctions
    connections: OpenConnections
    clock: FrozenClock
    accepted: list[str]
    """Turns whose input was accepted."""

    wrong: list[str]
    """What clients were told and should not have been."""

    def invoke(self, role: str, call: Callable[[Process], Answer]) -> Answer | None:
        """Run one invocation; returns `None` where its process died."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let others work while one waits."""
        ...


class Client(Protocol):
    """Somebody outside."""

    next_ms: int | None
    """When it will act again of its own accord."""

    def act(self, *, meanwhile: bool) -> bool:
        """Do what is to be done now; returns whether there was something.

        `meanwhile` is in the middle of a model's answer.
        """
        ...


@dataclass
class Inputs:
    """Sends the turns' inputs in order, the same one again until it is accepted."""

    site: Site
    scenario: Scenario
    twice: bool = False
    """Sends each of them once more although it was accepted."""

    next_ms: int | None = None
    _tries: int = 0
    _replies: list[dict[str, Any]] = field(default_factory=list)

    def act(self, *, meanwhile: bool) -> bool:
        """Send the next input, unless it is to be waited for."""
        waits = self.next_ms is not None and self.site.clock.now < self.next_ms
        number = len(self.site.accepted)
        if (meanwhile and not self._may_wait(number)) or waits:
            return False
        if number == len(self.scenario.turns):
            return False
        self._tries += 1
        self.next_ms = self.site.clock.now + PATIENCE_MS * 2**self._tries
        turn = f"t{number + 1}"
        status, answer = self._send(turn, self.scenario.turns[number])
        if turn in self.site.accepted:
            return True  # a later request was faster: nobody waits for this answer any more
        if status == 202:
            self.site.accepted.append(turn)
            self._tries, self.next_ms = 0, None
            if self.twice:
                self.repeat(number)
        elif status not in {0, *self._refusals(number)}:
            self.site.wrong.append(f"input {turn} was answered {status} {answer.get('code')}")
        return True

    def repeat(self, number: int) -> None:
        """Send an input again that was accepted."""
        turn = f"t{number + 1}"
        status, answer = self._send(turn, self.scenario.turns[number])
        if status and (status, answer.get("duplicate"), answer["turn_id"]) != (202, True, turn):
            self.site.wrong.append(f"input {turn}, sent twice, was answered {status} {answer}")

    def _may_wait(self, number: int) -> bool:
        return self.scenario.door == "inbox" and number > 0

    def _refusals(self, number: int) -> set[int]:
        return {503} if self._may_wait(number) else {*BUSY.values()}

    def _send(self, turn: str, text: str) -> tuple[int, dict[str, Any]]:
        """Return status and body, 0 where nobody answered."""
        site, wanted = self.site, body(text, turn)
        if self._may_wait(int(turn[1:]) - 1):
            item = {"message": wanted["input"]["message"], "turn_id": turn}
            item["wakeup"] = turn not in self.scenario.quiet
            return site.invoke("http_api", lambda p: site.doors.enqueue(p, item)) or (0, {})
        if turn in self.scenario.anew:
            message = wanted["input"].pop("message")
            wanted["input"] |= {"type": "client.messages", "messages": [message]}
        if self.scenario.door != "websocket":
            return site.invoke("http_api", lambda p: site.functions.http_api(p, wanted)) or (0, {})
        site.connections.open("inputs", self)
        site.functions.admit("inputs")
        self._replies.clear()
        frame = {"action": "input", "id": turn, **wanted}
        site.invoke("websocket", lambda p: site.functions.frame(p, "inputs", frame))
        for reply in self._replies:
            is_taken = reply["type"] == "accepted"
            return 202 if is_taken else BUSY.get(reply.get("code", ""), 500), reply
        return 0, {}

    def take(self, frame: dict[str, Any]) -> None:
        """Receive an answer over the connection."""
        self._replies.append(frame)


STOPS_AFTER_MS: Final = 3_000_000
"""How long the user waits who stops a turn in the end: longer than two lost messages stay away."""


@dataclass
class Stopper:
    """Stops the first turn, and says so again until it is answered."""

    site: Site
    scenario: Scenario
    stop: Callable[[Process], tuple[int, dict[str, Any]]]
    """Asks for it."""

    next_ms: int | None = None
    is_done: bool = False

    def act(self, *, meanwhile: bool) -> bool:
        """Stop the turn when it is time."""
        if self.is_done or not (self.site.accepted or meanwhile):
            return False  # who sees words may stop them, heard of or not
        if self.scenario.stops == "in the end" and self.next_ms is None:
            self.next_ms = self.site.clock.now + STOPS_AFTER_MS
        is_time = meanwhile
        if self.next_ms is not None:
            is_time = not meanwhile and self.next_ms <= self.site.clock.now
        if not is_time:
            return False
        if self.next_ms is not None:
            self.next_ms = self.site.clock.now + PATIENCE_MS
        answer = self.site.invoke("http_api", self.stop)
        status = answer[0] if answer else 0
        if status == 200:
            self.is_done, self.next_ms = True, None
        elif status not in {0, 503}:
            self.site.wrong.append(f"the stop was answered {answer}")
        return True


@dataclass
class Subscriber:
    """Follows the session over a WebSocket."""

    site: Site
    kind: Reader = "subscriber"
    next_ms: int | None = None
    follower: Follower = field(default_factory=Follower)
    connection: int = 0
    """Number of the connection, 0 before the first."""

    _is_connected: bool = False
    _is_subscribed: bool = False
    _frames: int = 0

    def act(self, *, meanwhile: bool) -> bool:
        """Connect, subscribe, subscribe again where something is missing, leave."""
        if self._waits(meanwhile):
            return False
        if self.next_ms is not None and self.follower.has_gap:
            self._is_subscribed = False
        waited, self.next_ms = self.next_ms is not None, None
        if not self._is_connected:
            self._connect()
        elif not self._is_subscribed:
            if not self._may_subscribe(at_last=meanwhile or waited):
                return False
            self._subscribe()
        elif self.kind == "leaving subscriber" and self._frames >= GOES_AFTER:
            self._leave()
        else:
            return False
        return True

    def _waits(self, meanwhile: bool) -> bool:
        if self._comes_late and meanwhile:
            return False
        return self.next_ms is not None and self.site.clock.now < self.next_ms

    @property
    def _comes_late(self) -> bool:
        return self.kind == "late subscriber" and self._is_connected and not self.follower.cursor

    def _may_subscribe(self, *, at_last: bool) -> bool:
        if self.site.accepted and self._comes_late and not at_last:
            self.next_ms = self.site.clock.now + COMES_AFTER_MS
            return False
        return bool(self.site.accepted)

    def _connect(self) -> None:
        site, name = self.site, f"c{self.connection + 1}"
        caller = site.invoke("authorizer", site.functions.authorizer)
        connected = caller and site.invoke(
            "websocket", lambda p: site.functions.connect(p, name, caller)
        )
        if self._is_connected:
            return  # a later attempt was faster
        if connected:
            self.connection += 1
            self._is_connected = True
            site.connections.open(name, self)
        else:
            self.next_ms = site.clock.now + PATIENCE_MS

    def _subscribe(self) -> None:
        site, name = self.site, f"c{self.connection}"
        after = self.follower.come_back()
        place = {"after": after} if after else {}
        wanted = {"action": "subscribe", "id": SUBSCRIPTION, "session_id": KEY.session, **place}
        self._is_subscribed = True  # until we hear of something else
        if not site.invoke("websocket", lambda p: site.functions.frame(p, name, wanted)):
            self._is_subscribed = False
            self.next_ms = site.clock.now + PATIENCE_MS

    def _leave(self) -> None:
        """Close the connection; whether the function hears of it is another matter."""
        site, name = self.site, f"c{self.connection}"
        site.connections.close(name)
        self._is_connected = self._is_subscribed = False
        self.kind = "subscriber"
        self.next_ms = site.clock.now + PATIENCE_MS
        site.invoke("websocket", lambda p: site.functions.disconnect(p, name))

    def take(self, frame: dict[str, Any]) -> None:
        """Receive a frame."""
        self._frames += 1
        match frame["type"]:
            case "event":
                place = read_cursor(frame["cursor"])
                self.follower.event(place, frame["prev_seq"], frame["event"])
            case "delta":
                place = read_cursor(frame["cursor"])
                self.follower.delta(place, frame["prev_n"], frame["delta"])
            case "more":
                self._is_subscribed = False
            case "subscribed":
                pass
            case _:
                self.site.wrong.append(f"the subscriber was sent {frame}")
        if self.follower.has_gap and self.next_ms is None:
            self.next_ms = self.site.clock.now + PATIENCE_MS


@dataclass
class Poller:
    """Follows the session as an EventSource does: a request after the other, with its cursor."""

    site: Site
    next_ms: int | None = None
    follower: Follower = field(default_factory=Follower)
    _is_busy: bool = False
    _is_idle: bool = False
    """Was told that there is no open turn, and nothing else."""

    _turns: int = 0
    """How many it has asked for."""

    _skipped: int = 0
    _empty: int = 0

    def act(self, *, meanwhile: bool) -> bool:
        """Ask for what comes after the cursor."""
        waits = self.next_ms is not None and self.site.clock.now < self.next_ms
        if self._is_busy or not self.site.accepted or (waits and not meanwhile):
            return False
        if meanwhile and self._skipped < CHUNKS_BETWEEN:
            self._skipped += 1
            return False
        has_all = self._is_idle or self._empty >= GIVES_UP_AFTER
        if self._turns == len(self.site.accepted) and has_all:
            return False
        self._turns, self._skipped, self.next_ms = len(self.site.accepted), 0, None
        self._ask()
        return True

    def _ask(self) -> None:
        site, cursor, self._is_busy = self.site, self.follower.cursor, True
        answer = site.invoke("reader", lambda p: site.functions.reader(p, cursor, site.sleep))
        self._is_busy = False
        if answer is None:
            self.next_ms, self._is_idle = site.clock.now + PATIENCE_MS, False
            return
        if answer["statusCode"] != 200:
            site.wrong.append(f"the reader was answered {answer}")
            return
        frames = read_frames(answer["body"])
        is_told_to_wait = "retry:" in answer["body"]
        self._is_idle = is_told_to_wait and not frames
        self._empty = 0 if frames else self._empty + 1
        if is_told_to_wait and frames:
            self.next_ms = site.clock.now + COMES_BACK_AFTER_MS
        elif not frames and not self._is_idle and self._empty < GIVES_UP_AFTER:
            self.next_ms = site.clock.now + PATIENCE_MS * 2**self._empty
        for cursor, event, data in frames:
            place = read_cursor(cursor)
            if event == "llm.token.delta":
                self.follower.delta(place, place.n - 1, json.loads(data))
            else:
                self.follower.event(place, place.seq - 1, json.loads(data))
