"""A driver that can be killed before and after every request it makes of the world outside.

What must hold afterwards is the tests' affair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Condition, current_thread
from typing import Any

from everturn.errors import StoreUnavailable
from everturn.llm.catalogue import Route
from everturn.llm.demo.model import DEMO_ROUTE, DemoModel
from everturn.llm.registry import ModelRegistry, Served
from everturn.ports.decider import WorkerAnswer
from everturn.ports.streams import Watcher
from everturn.protocol.wake import WAKE
from everturn.push.frames import EventPush, Push
from unit.drive.world import KEY, RecordingLanes, SteppingClock, World, answered, lease, result

LEASE_MS = 120_000
MAX_RECEIVES = 5
MAX_INVOCATIONS = 30


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Fate:
    """At which point, counted over all invocations of a run, a process dies; 0 is never."""

    kill_at: int
    count: int = 0
    where: str = ""


class Process:
    """One invocation of a driver; once dead it asks nothing of the world any more."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self._changed = Condition()
        self._inside = 0
        self.dead = False

    def point(self, name: str) -> None:
        """Die here, if it is time. Raises `Killed`."""
        with self._changed:
            if self.dead:
                raise Killed(name)
            self._fate.count += 1
            if self._fate.count == self._fate.kill_at:
                self.dead = True
                self._fate.where = name
                raise Killed(name)

    def request(self, name: str, ask: Callable[[], Any]) -> Any:
        """Make one request, with a point before and one after it."""
        self.point(f"before {name}")
        with self._changed:
            self._inside += 1
        try:
            answer = ask()
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()
        self.point(f"after {name}")
        return answer

    def bury(self) -> None:
        """Wait until nothing that it had under way is under way any more."""
        with self._changed:
            self.dead = True
            assert self._changed.wait_for(lambda: self._inside == 0, 5)


class Through:
    """An adapter of which everything is asked through a process."""

    def __init__(self, process: Process, adapter: Any, name: str) -> None:
        self._process = process
        self._adapter = adapter
        self._name = name

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._adapter, name)

        def ask(*args: Any, **kwargs: Any) -> Any:
            if current_thread().name == "watch":  # it looks now and then: no point to count
                if self._process.dead:
                    raise StoreUnavailable("the process is gone")
                return method(*args, **kwargs)
            return self._process.request(f"{self._name}.{name}", lambda: method(*args, **kwargs))

        return ask


class DyingModel:
    """The demo model, with a point before, between and after its chunks."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._model = DemoModel(lambda _seconds: False)

    def stream(self, request: Any, **how: Any) -> Iterator[Any]:
        self._process.point("before the model streams")
        for chunk in self._model.stream(request, **how):
            yield chunk
            self._process.point("after a chunk")


class DyingLanes(RecordingLanes):
    """Lanes with a point before and after each push; what was pushed is kept by the run."""

    def __init__(self, process: Process, kept: list[Push]) -> None:
        super().__init__()
        self._process = process
        self._kept = kept

    def push(self, connection_id: str, push: Push) -> bool:
        del connection_id
        self._process.request("push", lambda: self._kept.append(push))
        return True


@dataclass
class Workers:
    """The worker behind the tools; it counts how often each call was really started."""

    failing: frozenset[str] = frozenset()
    """Tools whose first attempt fails."""

    started: Counter[str] = field(default_factory=Counter)

    def answer(self, request: dict[str, Any]) -> WorkerAnswer:
        trigger = request["trigger"]
        self.started[trigger["name"]] += 1
        if trigger["name"] in self.failing and trigger["attempt"] == 1:
            return answered({"type": "tool.error", "error": "not now", "retryable": True})
        return result(f"{trigger['name']} ran")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One turn, and what is odd about it."""

    name: str
    text: str
    failing: frozenset[str] = frozenset()
    remaining_ms: int = 900_000
    """Of the first message's invocations."""


@dataclass
class Run:
    """One run of a scenario to quiescence, killed once at most."""

    scenario: Scenario
    fate: Fate
    world: World = field(default_factory=lambda: World(clock=SteppingClock()))
    pushed: list[Push] = field(default_factory=list)
    invocations: int = 0
    was_killed: bool = False

    def __post_init__(self) -> None:
        self.workers = Workers(self.scenario.failing)
        self.world.decider.answer = self.workers.answer
        self.world.submit(self.scenario.text)
        self.world.store.add_watcher(KEY, Watcher("c1", "sub"))

    def to_quiescence(self) -> Run:
        """Deliver every message, in order, again where its driver died."""
        handled = 0
        while handled < len(self.world.wake.sent):
            sent = self.world.wake.sent[handled]
            if sent.due_ms is not None:
                self.world.clock.now = max(self.world.clock.now, sent.due_ms)
            received = 1
            while not self._delivered(dict(sent.message), received, first=handled == 0):
                received += 1
                self.world.clock.move(LEASE_MS)
                assert received <= MAX_RECEIVES, "the message ends in the dead-letter queue"
            handled += 1
        return self

    def _delivered(self, message: dict[str, Any], received: int, *, first: bool) -> bool:
        process = Process(self.fate)
        self.invocations += 1
        assert self.invocations < MAX_INVOCATIONS
        try:
            self._advance(process, message, received, first=first)
        except Killed:
            self.was_killed = True
        self.was_killed |= process.dead
        done = not process.dead
        process.bury()
        return done

    def _advance(
        self, process: Process, message: dict[str, Any], received: int, *, first: bool
    ) -> None:
        world = self.world
        models = ModelRegistry()
        route = Route(DEMO_ROUTE.id, DEMO_ROUTE.name, DEMO_ROUTE.models)
        models.register(Served(route, lambda: DyingModel(process)))
        store: Any = Through(process, world.store, "store")
        world.advance(
            WAKE.validate_python(message),
            held=lease(),
            request_id=f"r{self.invocations}",
            received=received,
            remaining_ms=self.scenario.remaining_ms if first else 900_000,
            store=store,
            reader=world.reader_on(store),
            wake=Through(process, world.wake, "wake"),
            models=models,
            decider=Through(process, world.decider, "worker"),
            new_lanes=lambda _key: DyingLanes(process, self.pushed),
        )

    def pushed_seqs(self) -> set[int]:
        """Return the numbers of all events that the reader was pushed."""
        return {push.seq for push in self.pushed if isinstance(push, EventPush)}
