"""The use cases of runs in a world in memory, and what they are asked for. No test lives here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from everturn.commands.agent_sessions import AgentSessions
from everturn.commands.change import ChangeSession
from everturn.commands.inbox import Inbox
from everturn.commands.run_answers import RunAnswers
from everturn.commands.run_specs import RunSpecs
from everturn.commands.start_run import BASE_AGENT, Started, StartRun, Wanted
from everturn.ports.callers import Caller, Who
from everturn.ports.sessions import SessionKey
from everturn.session.events.sessions import Owner
from everturn.session.facts import Facts
from everturn.session.inbox_commands import RunOrder
from everturn.store.memory_runs import InMemoryRuns
from unit.drive.doubles import FrozenClock
from unit.drive.world import MACHINE, TENANT, World

ANN = Caller(TENANT, Who.FRONTEND, owner=Owner(id="ann"), scopes=("runs:write",))
BOB = Caller(TENANT, Who.FRONTEND, owner=Owner(id="bob"), scopes=("runs:write",))
RIVAL = Caller("rival")
PLAIN: dict[str, Any] = {"model": "demo:demo", "tools": [], "stream": True}
LOCAL: dict[str, Any] = {
    **PLAIN,
    "tools": [{"name": "look", "description": "", "handler": "client", "input": {}}],
}
CALLS_LOOK = "[[call:look {}]][[turn]][[say:Seen {{result}}]]"


def anything(_tenant: str, _facts: Facts) -> None:
    """Check no route."""


@dataclass
class Runs:
    """A world, and its use cases of runs."""

    world: World = field(default_factory=lambda: World(clock=FrozenClock()))
    check: Callable[[str, Facts], None] = anything
    kept: list[Any] = field(default_factory=list)
    """Messages whose uploads were kept, with how many commits there were."""

    index: InMemoryRuns = field(init=False)

    def __post_init__(self) -> None:
        self.index = InMemoryRuns(self.world.store)

    @property
    def change(self) -> ChangeSession:
        return self.world.changer()

    @property
    def starting(self) -> StartRun:
        return StartRun(self.change, self.check, self._keep)

    @property
    def answers(self) -> RunAnswers:
        return RunAnswers(self.change, self.index)

    @property
    def sessions(self) -> AgentSessions:
        return AgentSessions(self.change, self.index)

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.change, self._keep)

    @property
    def specs(self) -> RunSpecs:
        return RunSpecs(self.world.directory, self.world.catalogue_of)

    def _keep(self, tenant: str, messages: Any) -> None:
        heads = [self.world.store.head(key) for key in self.world.store.keys(tenant)]
        seqs = sum(head.session.seq for head in heads if head)
        self.kept.append(([one["content"] for one in messages], seqs))

    def start(
        self,
        text: str = "[[say:Hi]]",
        *,
        caller: Caller = MACHINE,
        session: str | None = None,
        config: Mapping[str, Any] | None = PLAIN,
        agent: str = BASE_AGENT,
        client: Mapping[str, Any] | None = None,
    ) -> Started:
        """Start a run with one message."""
        order = RunOrder({"spec": {"prompt": text}}, config, client)
        message = {"role": "user", "content": text}
        return self.starting(caller, Wanted(agent, order, (message,), session))

    def begin(self, *, caller: Caller = MACHINE, agent: str = BASE_AGENT, **run: Any) -> str:
        """Make a session without a run; return its id."""
        config = run.pop("config", PLAIN)
        order = RunOrder({"spec": {}, **run}, config)
        return self.starting.begin(caller, agent, order)[0]

    def texts(self, session_id: str) -> list[Any]:
        """Return what was said in a session, in order."""
        return [content for _, content in self.world.texts(session_id)]

    def outcome(self, started: Started) -> str | None:
        """Return how a run ended, `None` while it has not."""
        found = self.world.store.head_and_turn(
            SessionKey(TENANT, started.session_id), started.run_id
        )[1]
        return found.outcome if found else None
