"""The queue and the step machine as AWS runs them: order, leases, dead letters, moments.

It must not know what a message means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.store.memory_directory import Run, Sent

VISIBILITY_MS: Final = 900_000
MAX_RECEIVES: Final = 5
"""Source: template.yaml, `Queue`."""

RUN_MS: Final = 130_000
"""How long a function takes that the step machine runs: longer than a driver's lease."""


@dataclass
class Message:
    """A message on a FIFO queue."""

    number: int
    """Counts what was put on the queue first, from 0; a copy has that of its original."""

    body: Mapping[str, Any]
    group: str
    received: int = 0
    visible_ms: int = 0
    copies: int = 0
    """How often it will come again although it was handled."""


class Queue:
    """A FIFO queue: one message of a group at a time, again after its lease, at most five times."""

    def __init__(self, max_receives: int = MAX_RECEIVES) -> None:
        self._max_receives = max_receives
        self._messages: list[Message] = []
        self._put = 0
        self.handled: list[Message] = []
        self.dead: list[Message] = []

    def put(self, body: Mapping[str, Any], group: str, copies: int = 0) -> None:
        """Add a message."""
        self._messages.append(Message(self._put, body, group, copies=copies))
        self._put += 1

    def receive(self, now_ms: int) -> Message | None:
        """Return the next message that is visible, made invisible; none where there is none."""
        seen: set[str] = set()
        for message in tuple(self._messages):
            if message.group in seen or message.visible_ms > now_ms:
                seen.add(message.group)
                continue
            if message.received >= self._max_receives:
                self._messages.remove(message)
                self.dead.append(message)
                continue
            message.received += 1
            message.visible_ms = now_ms + VISIBILITY_MS
            return message
        return None

    def done(self, message: Message, receipt: int, now_ms: int) -> None:
        """Delete a message that was handled, unless it is one that comes again all the same.

        A receipt from before it was received again is worth nothing.
        """
        if message.received != receipt or message not in self._messages:
            return
        if message.copies:
            message.copies -= 1
            message.visible_ms = now_ms
            return
        self._messages.remove(message)
        self.handled.append(message)

    def repeat_handled(self) -> None:
        """Deliver once more, before all others, what was handled long ago."""
        again = [Message(one.number, one.body, one.group) for one in self.handled]
        self._messages[:0] = again

    def next_ms(self) -> int | None:
        """Return when the first message of a group becomes visible."""
        first: dict[str, Message] = {}
        for message in self._messages:
            first.setdefault(message.group, message)
        return min((one.visible_ms for one in first.values()), default=None)


@dataclass
class Timers:
    """The waiting executions of the step machine."""

    late_ms: int = 0
    """How long after its moment each one fires."""

    _waiting: list[tuple[int, Sent]] = field(default_factory=list)

    def start(self, sent: Sent, due_ms: int) -> None:
        """Begin to wait."""
        self._waiting.append((due_ms + self.late_ms, sent))

    def fire(self, now_ms: int) -> Sent | None:
        """Return a wake-up whose moment has come, and forget it."""
        due = [one for one in self._waiting if one[0] <= now_ms]
        if not due:
            return None
        first = min(due, key=lambda one: one[0])
        self._waiting.remove(first)
        return first[1]

    def next_ms(self) -> int | None:
        """Return when the next one fires."""
        return min((at for at, _ in self._waiting), default=None)


@dataclass
class Runs:
    """The functions that the step machine runs."""

    _running: list[tuple[int, Run]] = field(default_factory=list)

    def begin(self, run: Run, now_ms: int) -> None:
        """Begin one."""
        self._running.append((now_ms + RUN_MS, run))

    def end(self, now_ms: int) -> Run | None:
        """Return one that has come to its end, and forget it."""
        if not self._running or self._running[0][0] > now_ms:
            return None
        return self._running.pop(0)[1]

    def next_ms(self) -> int | None:
        """Return when the next one ends."""
        return self._running[0][0] if self._running else None
