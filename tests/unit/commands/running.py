"""Runs in an engine in memory, and ways to read them. No test lives here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from everturn.commands.read_run import ReadRun, RunStreamed
from everturn.commands.run_answers import RunAnswers, ToolResult
from everturn.commands.start_run import Started, StartRun, Wanted
from everturn.ports.callers import Caller
from everturn.ports.runs import RunPlace
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Delta
from everturn.runs.frames import RunFrame
from everturn.session.inbox_commands import RunOrder
from everturn.store.memory import InMemorySessionStore
from everturn.store.memory_runs import InMemoryRuns
from unit.drive.doubles import FrozenClock
from unit.drive.world import AGENT, MACHINE, TENANT, World

ASK = {"name": "ask", "description": "Asks.", "handler": "client"}
SPEC: dict[str, Any] = {
    "modelId": "demo:demo",
    "tools": [{"kind": "a2a_local", "name": "ask", "agentCard": {"name": "HR"}}],
}
CONFIG = {name: AGENT[name] for name in ("model", "stream", "retry")} | {
    "tools": [*AGENT["tools"], ASK]
}


@dataclass
class RunCase:
    """A deployment in memory with runs."""

    store: InMemorySessionStore = field(default_factory=InMemorySessionStore)
    world: World = field(init=False)
    started: Started = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(clock=FrozenClock(), store=self.store)
        self.runs: InMemoryRuns = InMemoryRuns(self.store)

    def start(
        self, text: str, *, session: str | None = None, caller: Caller = MACHINE, **run: Any
    ) -> str:
        """Ask for a run with one message; return its id."""
        order = RunOrder({"spec": SPEC, **run}, CONFIG)
        message = {"role": "user", "content": text}
        start = StartRun(self.world.changer(), lambda _tenant, _facts: None)
        self.started = start(caller, Wanted("helper", order, (message,), session))
        return self.started.run_id

    @property
    def key(self) -> SessionKey:
        return SessionKey(TENANT, self.started.session_id)

    def answers(self) -> RunAnswers:
        return RunAnswers(self.world.changer(), self.runs)

    def answer(self, run_id: str, tool_use_id: str, text: str) -> None:
        """Answer a tool of the client's."""
        self.answers().tool_result(MACHINE, run_id, ToolResult(tool_use_id, text))

    def read(self, sleep: Callable[[float], None] | None = None, wait_s: float = 2) -> ReadRun:
        clock = self.world.clock
        return ReadRun(self.store, self.runs, clock, sleep or clock.sleep, wait_s)

    def frames(self, run_id: str, after: int = 0) -> tuple[RunFrame, ...]:
        """Return what one answer has."""
        return self.read().stream(MACHINE, run_id, after).frames

    def all_frames(self, run_id: str) -> list[RunFrame]:
        """Return a whole run, read as often as it takes."""
        seen: list[RunFrame] = []
        while not seen or seen[-1].type not in {"result", "error", "cancelled"}:
            seen += self.frames(run_id, seen[-1].seq if seen else 0)
        return seen

    def says(self, n: int, text: str) -> None:
        """Keep a piece of the answer in flight."""
        call = next(one for one in self.head.session.calls if one.kind == "llm_call")
        seq = max(
            seq
            for commit in self.world.log(self.key.session)
            for seq, event in commit.numbered()
            if event.type == "llm.call.dispatched"
        )
        kept = Delta(seq, n, call.id, call.attempt, call.turn_id, {"text": text})
        self.store.put_delta(self.key, kept, 0)

    @property
    def head(self) -> Any:
        return self.world.head(self.key.session)


class Elsewhere(InMemoryRuns):
    """An index that leads to one place, whatever is there."""

    def __init__(self, store: InMemorySessionStore, place: RunPlace) -> None:
        super().__init__(store)
        self._place = place

    def place(self, _tenant: str, _run_id: str) -> RunPlace:
        return self._place


class Sleeper:
    """Sleeps on a clock, and does something before the n-th time it wakes."""

    def __init__(self, clock: FrozenClock, **acts: Callable[[], None]) -> None:
        """`acts` are named `at1`, `at2` and so on."""
        self._clock = clock
        self._acts = acts
        self.slept: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._clock.sleep(seconds)
        self._acts.get(f"at{len(self.slept)}", lambda: None)()


def types(streamed: RunStreamed | tuple[RunFrame, ...] | list[RunFrame]) -> list[str]:
    frames = streamed.frames if isinstance(streamed, RunStreamed) else streamed
    return [frame.type for frame in frames]
