"""A process that can die, or stall, before and after every request it makes of the world outside.

It must not know which function it runs, nor what must hold afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from everturn.errors import StoreUnreadable

Answer = TypeVar("Answer")

IN_MEMORY: Final = frozenset({"materialise"})
"""Asked of an adapter, but no request: the bodies are in their events here."""

READS: Final = frozenset(
    {
        *("head", "head_and_turn", "head_and_watch", "nodes", "log", "page", "watch", "deltas"),
        *("due", "quarantined", "api_key", "tenant", "agent", "connection", "place"),
    }
)
"""Requests that leave no trace: whoever dies before or after one leaves the same world behind."""


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Moment:
    """Points at which one process would leave the same world behind."""

    first: int
    place: str
    last: int = 0


@dataclass
class Fate:
    """Where processes die or stall: at points counted over a whole run, from 1; 0 is nowhere."""

    kill_at: int = 0
    then_at: int = 0
    """Which point of the process that takes over is deadly as well."""

    stall_at: int = 0
    """Where a process stops for long, and then goes on as if nothing had been."""

    doom: str = ""
    """Every process that comes to this place dies there, always."""

    count: int = 0
    places: list[str] = field(default_factory=list)
    """Where that happened: `role: before store.append`."""

    moments: list[Moment] = field(default_factory=list)
    go_on_without: Callable[[str], int] = lambda _role: 0
    """Lets the others work while a process stalls; returns for how many milliseconds."""

    _second_at: int = 0
    _traces: int = 0
    _now: tuple[int, int] = (0, 0)
    _born: int = 0

    def born(self, role: str) -> int:
        """Note a new process, return its number; the first of a role that died takes over."""
        self._born += 1
        if self.then_at and not self._second_at and role in self.struck_roles()[:1]:
            self._second_at = self.count + self.then_at
        return self._born

    def trace(self) -> None:
        """Note that something outside has changed."""
        self._traces += 1

    def passes(self, process: Process, name: str) -> bool:
        """Count a point; return whether the process survives it."""
        self.count += 1
        place, now = f"{process.role}: {name}", (process.number, self._traces)
        if now != self._now:
            self.moments.append(Moment(self.count, place))
            self._now = now
        self.moments[-1].last = self.count
        if self.count == self.stall_at:
            self.places.append(f"{place}, stalled")
            process.stalled_ms += self.go_on_without(process.role)
        if self.count in {self.kill_at, self._second_at} or place == self.doom:
            self.places.append(place)
            return False
        return True

    def struck_roles(self) -> list[str]:
        """Return the roles of the processes that died or stalled, in order."""
        return [place.partition(":")[0] for place in self.places]


class Process:
    """One invocation of a function; once dead it asks nothing of the world any more."""

    def __init__(self, role: str, fate: Fate) -> None:
        self.role = role
        self.number = fate.born(role)
        self.dead = False
        self.stalled_ms = 0
        """Time that it knows nothing of: a machine that stands still counts no seconds."""

        self._fate = fate

    def point(self, name: str) -> None:
        """Die here, if it is time. Raises `Killed`."""
        if self.dead or not self._fate.passes(self, name):
            self.dead = True
            raise Killed(name)

    def request(self, name: str, ask: Callable[[], Answer]) -> Answer:
        """Make one request, with a point before and one after it."""
        self.point(f"before {name}")
        answer = ask() if name.rpartition(".")[2] in READS else self.outside(ask)
        self.point(f"after {name}")
        return answer

    def outside(self, act: Callable[[], Answer]) -> Answer:
        """Do what leaves a trace in the world."""
        self._fate.trace()
        return act()


class Through:
    """An adapter of which everything is asked through a process."""

    def __init__(
        self, process: Process, adapter: Any, name: str, unreadable: frozenset[str] = frozenset()
    ) -> None:
        self._process = process
        self._adapter = adapter
        self._name = name
        self._unreadable = unreadable

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._adapter, name)
        if name in IN_MEMORY:
            return method

        def ask(*args: Any, **kwargs: Any) -> Any:
            where = f"{self._name}.{name}"
            if name in self._unreadable:
                raise StoreUnreadable(f"{where} finds what cannot be read")
            return self._process.request(where, lambda: method(*args, **kwargs))

        return ask
