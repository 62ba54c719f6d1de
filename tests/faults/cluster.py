"""A deployment that runs until nothing moves: events reach functions as AWS would deliver them.

It must not judge what comes of it. The order is always the same, time is the clock's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from everturn.llm.registry import Served
from everturn.ports.model import Model
from everturn.ports.sessions import Logged, SessionKey
from faults.clients import Client, Inputs, Poller, Stopper, Subscriber
from faults.follower import Follower
from faults.functions import Functions
from faults.outside import BROKEN, OpenConnections, Workers
from faults.owner import Owner
from faults.people import Answerer
from faults.process import Fate, Killed, Process
from faults.run_clients import RunReader, Starts
from faults.run_functions import RunFunctions
from faults.scenario import Scenario
from faults.sources import Message, Queue, Runs, Timers
from faults.stepwise import Stepwise
from unit.drive.doubles import FrozenClock, SteppingClock
from unit.drive.kin import family_of
from unit.drive.world import KEY, TENANT, World

Answer = TypeVar("Answer")

MAX_STEPS: Final = 400
SWEEP_MS: Final = 300_000
DEAD_LETTER_MS: Final = 720_000
"""How long recovery has for a dead letter. Source: template.yaml."""

STALLS_MS: Final = 35_000
"""Longer than a client waits for an answer."""

DRIVER_STALLS_MS: Final = 150_000
"""Longer than its lease."""


class Twice(StrEnum):
    """What is delivered a second time although it was handled."""

    NOTHING = "nothing"
    AT_ONCE = "everything, at once"
    """Every message, record, firing and input: right after the first time."""

    LATER = "everything, later"
    """Every message and record once more when the next input was accepted, and in the end."""


class NeverQuiet(Exception):
    """Something goes on for ever."""


@dataclass(frozen=True, slots=True)
class _Done:
    """An invocation that came to its end."""

    error: Exception | None


@dataclass
class Cluster:
    """One run of a scenario."""

    scenario: Scenario
    fate: Fate = field(default_factory=Fate)
    twice: Twice = Twice.NOTHING
    max_steps: int = MAX_STEPS
    """After so many it counts as never quiet; five minutes of waiting are one."""

    def __post_init__(self) -> None:
        self.fate.doom = self.scenario.doom
        self.fate.go_on_without = self._go_on_without
        self.clock: FrozenClock = SteppingClock()
        self.world = World(clock=self.clock, deliveries=self.scenario.deliveries)
        self.world.models.register(Served(BROKEN, _never_asked))
        self.world.agent("helper", **self.scenario.agent)
        self.world.agent("poet", **{**self.scenario.agent, "sub_agents": None})
        if self.scenario.tenant_tokens is not None:
            self.world.allow(self.scenario.tenant_tokens)
        self.connections = OpenConnections()
        self.workers = Workers(self.scenario.worker, self.scenario.writes_home)
        self.functions = Functions(self.world, self.scenario, self.connections, self.workers)
        self.doors = RunFunctions(self.functions)
        self.queue = Queue()
        self.timers = Timers(self.scenario.timers_late_ms)
        self.runs = Runs()
        self.dead_letters = Queue(MAX_STEPS)
        at_once = self.twice is Twice.AT_ONCE
        self.inputs, self.run_readers = self._who_asks(twice=at_once)
        kinds = [kind for kind in self.scenario.readers if kind not in {"poller", "run reader"}]
        self.subscribers = [Subscriber(self, kind) for kind in kinds]
        self.people = [Answerer(self, ear, at_once) for ear in self.subscribers[:1]]
        self.pollers = [Poller(self) for kind in self.scenario.readers if kind == "poller"]
        self.stoppers = [Stopper(self, self.scenario, self._stop)] if self.scenario.stops else []
        follower = self.subscribers[0].follower if self.subscribers else Follower()
        self.owner = Owner(self, follower, self.scenario.answers_after_ms, twice=at_once)
        self.accepted: list[str] = []
        self.wrong: list[str] = []
        self.failures: Counter[str] = Counter()
        """Errors that functions ended with, by type."""

        self.invoked: list[tuple[str, int]] = []
        """Roles, and when one of their functions was invoked."""

        self.woken_by_sweep = 0
        self.ended_seq = 0
        """The last event when everything was quiet for the first time."""

        self._sent = self._ran = self._invocations = self._steps = 0
        self._streamed: dict[SessionKey, int] = {}
        """The last event of each session that fanout has handled."""

        self._next_sweep_ms = (self.clock.now // SWEEP_MS + 1) * SWEEP_MS
        self._is_driving = self._is_fanning = False

    def _who_asks(self, *, twice: bool) -> tuple[Inputs | Starts, list[RunReader]]:
        if self.scenario.door != "runs":
            return Inputs(self, self.scenario, twice=twice), []
        starts = Starts(self, self.doors, self.scenario)
        numbers = range(len(self.scenario.turns) if "run reader" in self.scenario.readers else 0)
        return starts, [RunReader(self, self.doors, starts, n, twice=twice) for n in numbers]

    @property
    def _stop(self) -> Callable[[Process], tuple[int, dict[str, Any]]]:
        return self.inputs.stop if isinstance(self.inputs, Starts) else self.functions.cancel

    @property
    def key(self) -> SessionKey:
        """The session that all others come from: the first one that was made."""
        return next(iter(self.world.store.keys(TENANT)), KEY)

    @property
    def clients(self) -> list[Client]:
        """Everybody outside, in the order in which they act."""
        return [
            self.inputs,
            *self.subscribers,
            *self.people,
            *self.pollers,
            *self.run_readers,
            *self.stoppers,
            self.owner,
        ]

    # ---- until nothing moves

    def to_quiescence(self) -> Cluster:
        """Run until nothing moves; then deliver once more what is to be delivered twice."""
        self._run()
        self.ended_seq = self.world.head(self.key.session).session.seq
        if self.twice is Twice.LATER:
            for number in range(len(self.accepted)):
                self.inputs.repeat(number)
            self._repeat_events()
            self._run()
        return self

    def _run(self) -> None:
        while self.step() or self._pass_time() or self._sweep():
            pass

    def _repeat_events(self) -> None:
        self.queue.repeat_handled()
        self.dead_letters.repeat_handled()
        self._streamed.clear()

    def step(self) -> bool:
        """Do what comes next; returns whether there was something."""
        self._steps += 1
        if self._steps > self.max_steps:
            raise NeverQuiet(self.scenario.name)
        return any(act() for act in self._order())

    def _order(self) -> Iterator[Callable[[], bool]]:
        yield self._act
        if not self.scenario.fanout_lags:
            yield self._fan_out
        yield from (self._take_sent, self._fire, self._run_function, self._settle, self._drive)
        yield self._fan_out

    def _pass_time(self, until_ms: int | None = None) -> bool:
        """Move on to the next moment at which something happens of its own accord."""
        moments = [
            self.queue.next_ms(),
            self.dead_letters.next_ms(),
            self.timers.next_ms(),
            self.runs.next_ms(),
            *(client.next_ms for client in self.clients),
        ]
        later = [moment for moment in moments if moment is not None and moment > self.clock.now]
        if not later or (until_ms is not None and min(later) > until_ms):
            return False
        self.clock.now = min(*later, self._next_sweep_ms)
        if self.clock.now == self._next_sweep_ms:
            self._sweep()
        return True

    def _sweep(self) -> bool:
        """Sweep, as it happens every five minutes; returns whether that is still of use."""
        self.clock.now = max(self.clock.now, self._next_sweep_ms)
        self._next_sweep_ms = (self.clock.now // SWEEP_MS + 1) * SWEEP_MS
        woken = self.invoke("recovery", self.functions.sweep)
        self.woken_by_sweep += woken or 0
        heads = [self.world.store.head(key) for key in family_of(self.world.store, self.key)]
        return woken != 0 or any(head and head.due_epoch_s is not None for head in heads)

    # ---- one invocation, and what others do meanwhile

    def invoke(self, role: str, call: Callable[[Process], Answer]) -> Answer | None:
        """Run one invocation; returns `None` where its process died."""
        process = Process(role, self.fate)
        self.invoked.append((role, self.clock.now))
        try:
            return call(process)
        except Killed:
            return None
        finally:
            process.dead = True

    def sleep(self, seconds: float) -> None:
        """Let time pass for a function that waits; others work, but not in a driver's midst."""
        self.clock.sleep(seconds)
        if not self._is_driving:
            self.step()

    def meanwhile(self) -> None:
        """Let others work in the middle of a driver's invocation."""
        for client in self.clients:
            client.act(meanwhile=True)
        if not self.scenario.fanout_lags:
            self._fan_out()

    def _go_on_without(self, role: str) -> int:
        """Let all others work while a process stalls; a driver's lease runs out meanwhile."""
        since_ms = self.clock.now
        until_ms = since_ms + (DRIVER_STALLS_MS if role == "driver" else STALLS_MS)
        while self.step() or self._pass_time(until_ms):
            pass
        self.clock.now = max(self.clock.now, until_ms)
        return self.clock.now - since_ms

    # ---- what happens

    def _act(self) -> bool:
        known = len(self.accepted)
        acted = any(client.act(meanwhile=False) for client in self.clients)
        if self.twice is Twice.LATER and len(self.accepted) > known > 0:
            self._repeat_events()
        return acted

    def _take_sent(self) -> bool:
        """Take what was sent to the queue and to the step machine."""
        new = self.world.wake.sent[self._sent :]
        for sent in new:
            if sent.due_ms is None:
                self.queue.put(sent.message, sent.group, self._copies)
            else:
                self.timers.start(sent, sent.due_ms)
        self._sent += len(new)
        return bool(new)

    @property
    def _copies(self) -> int:
        return 1 if self.twice is Twice.AT_ONCE else 0

    def _fire(self) -> bool:
        sent = self.timers.fire(self.clock.now)
        if sent is None:
            return False
        for _ in range(1 + self._copies):
            self.queue.put(sent.message, sent.group)
        return True

    def _run_function(self) -> bool:
        """Have the step machine begin functions' runs, and bring what came of one."""
        new = self.world.wake.runs[self._ran :]
        for begun in new:
            self.runs.begin(begun, self.clock.now)
        self._ran += len(new)
        run = self.runs.end(self.clock.now)
        if run is not None:
            self.world.wake.settle(run, answer=self.workers.returned(run.of.request))
        return run is not None

    def _fan_out(self) -> bool:
        """Hand all records that were not handled to fanout, in order."""
        if "stream record" in self.scenario.lost or self._is_fanning:
            return False
        for key in family_of(self.world.store, self.key):
            records = self.world.store.log(key, self._streamed.get(key, 0) + 1)
            if not records:
                continue
            self._is_fanning = True
            done = all(self._fanned_out(key, records) for _ in range(1 + self._copies))
            self._is_fanning = False
            if done:
                self._streamed[key] = records[-1].last_seq
            return True
        return False

    def _fanned_out(self, key: SessionKey, records: tuple[Logged, ...]) -> bool:
        done = self.invoke("fanout", lambda p: _Done(self.functions.fanout(p, key, records)))
        return self._is_done(done)

    def _drive(self) -> bool:
        message = self.queue.receive(self.clock.now)
        for dead in self.queue.dead:
            self.dead_letters.put(dead.body, dead.group, self._copies)
        self.queue.dead.clear()
        if message is None:
            return False
        self._invocations += 1
        receipt, outer, self._is_driving = message.received, self._is_driving, True
        done = self.invoke("driver", lambda process: self._advance(process, message))
        self._is_driving = outer
        if self._is_done(done):
            self.queue.done(message, receipt, self.clock.now)
        return True

    def _advance(self, process: Process, message: Message) -> _Done:
        stepwise = Stepwise(process, self.clock, self.meanwhile)
        request_id = f"r{self._invocations}"
        try:
            return _Done(self.functions.driver(process, message, stepwise, request_id))
        finally:
            stepwise.bury()

    def _settle(self) -> bool:
        message = self.dead_letters.receive(self.clock.now)
        if message is None:
            return False
        receipt, message.visible_ms = message.received, self.clock.now + DEAD_LETTER_MS
        done = self.invoke("recovery", lambda p: _Done(self.functions.settle(p, message)))
        if self._is_done(done):
            self.dead_letters.done(message, receipt, self.clock.now)
        return True

    def _is_done(self, done: _Done | None) -> bool:
        if done is not None and done.error is not None:
            self.failures[type(done.error).__name__] += 1
        return done == _Done(None)


def _never_asked() -> Model:
    raise AssertionError("drivers have models of their own")
