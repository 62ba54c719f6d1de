"""An engine in memory: every use case on hand-written doubles, time in the test's hand.

No test lives here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from everturn.commands.agents import Agents
from everturn.commands.answer_later import SettleCalls
from everturn.commands.attempts import Attempts
from everturn.commands.change import ChangeSession
from everturn.commands.crossing import Crossing
from everturn.commands.interrupts import Interrupts
from everturn.commands.reading import SessionReader
from everturn.commands.shared_budgets import LookUpBudgets, SharedBudgets
from everturn.commands.submit_input import SubmitInput, Submitted
from everturn.commands.take_input import TakeInput
from everturn.commands.wake_held import WakeHeld
from everturn.drive.advance import AdvanceSession
from everturn.drive.lease import Lease
from everturn.drive.tools import Invocation, Tools
from everturn.llm.catalogue import Catalogue, ModelFacts, Route
from everturn.llm.demo.model import DEMO_ROUTE, DemoModel
from everturn.llm.models import Models
from everturn.llm.registry import ModelRegistry, Served
from everturn.ports.budgets import Held, Wanted
from everturn.ports.callers import Caller
from everturn.ports.directory import Directory
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, Logged, SessionKey
from everturn.ports.wake import Wake
from everturn.protocol.client_input import read_input
from everturn.protocol.wake import WAKE, WakeUp
from everturn.session.commands import Deliveries
from everturn.store.memory import InMemorySessionStore
from everturn.store.memory_budgets import InMemoryBudgets
from everturn.store.memory_directory import InMemoryDirectory, InMemoryWake
from everturn.store.memory_uploads import InMemoryUploads
from unit.drive.doubles import (
    FrozenClock,
    RecordingLanes,
    ScriptedDecider,
    ScriptedModel,
    Step,
    SteppingClock,
    WatchedModel,
    lease,
)
from unit.drive.kin import family_of

TENANT = "acme"
MACHINE = Caller(TENANT)
"""Whoever has a key of the tenant."""

KEY = SessionKey(TENANT, "s1")
QUICK_RETRY = {
    "timeout_secs": 60,
    "max_retries": 5,
    "backoff_base_secs": 0.01,
    "backoff_max_secs": 1,
}
TOOLS = [
    {
        "name": "look",
        "description": "Looks.",
        "effect": "read",
        "retry": {**QUICK_RETRY, "max_retries": 3},
    },
    {"name": "send", "description": "Sends.", "effect": "non_idempotent_write"},
    {
        "name": "put",
        "description": "Puts.",
        "effect": "idempotent_write",
        "retry": {**QUICK_RETRY, "max_retries": 3},
    },
]
AGENT: dict[str, Any] = {
    "model": "demo:demo",
    "stream": True,
    "retry": QUICK_RETRY,
    "tools": TOOLS,
    "worker": "https://worker.example/hook",
    "decides": "engine",
}


@dataclass
class World:
    """One deployment in memory."""

    clock: FrozenClock = field(default_factory=SteppingClock)
    store: InMemorySessionStore = field(default_factory=InMemorySessionStore)
    directory: InMemoryDirectory = field(default_factory=InMemoryDirectory)
    wake: InMemoryWake = field(default_factory=InMemoryWake)
    models: ModelRegistry = field(default_factory=ModelRegistry)
    decider: ScriptedDecider = field(default_factory=ScriptedDecider)
    lanes: RecordingLanes = field(default_factory=RecordingLanes)
    deliveries: Deliveries = field(
        default_factory=lambda: Deliveries(backoff_base_s=0.01, backoff_max_s=1)
    )

    uploads: InMemoryUploads = field(default_factory=InMemoryUploads)
    budgets: InMemoryBudgets = field(init=False)

    def __post_init__(self) -> None:
        self.budgets = InMemoryBudgets(self._held)
        self.models.register(Served(DEMO_ROUTE, lambda: WatchedModel(DemoModel(lambda _s: False))))
        self.agent("helper")

    def agent(self, agent_id: str, **changed: Any) -> None:
        """Write an agent: `AGENT` with some fields changed, those that are None left out."""
        merged = {name: value for name, value in {**AGENT, **changed}.items() if value is not None}
        catalogue = self.models.catalogue()
        agents = Agents(
            self.directory,
            self.clock,
            networks="any",
            catalogue_of=lambda _tenant: catalogue,
            forget=lambda _tenant, _agent: None,
        )
        agents.put(TENANT, agent_id, merged)

    def script(self, *steps: Step, agent_id: str = "helper", **changed: Any) -> ScriptedModel:
        """Give an agent a model that plays `steps`."""
        model = ScriptedModel(*steps)
        facts = ModelFacts("scripted", "m", "M", context_window_tokens=32_000)
        self.models.register(Served(Route("scripted", "Scripted", (facts,)), lambda: model))
        self.agent(agent_id, model="scripted:m", **changed)
        return model

    def catalogue_of(self, _tenant: str) -> Catalogue:
        """Return the catalogue of every tenant."""
        return self.models.catalogue()

    def tenant_record(self, tenant: str) -> Mapping[str, Any]:
        """Return what the directory has of a tenant."""
        return self.directory.tenant(tenant) or {}

    @property
    def reader(self) -> SessionReader:
        return self.reader_on(self.store)

    def reader_on(self, store: SessionStore, directory: Directory | None = None) -> SessionReader:
        """Return a reader of sessions; it looks agents up in the directory."""
        used = directory or self.directory
        look_up = LookUpBudgets(self.budgets, self.budgets.has_any, self.clock)
        return SessionReader(store, used, self.directory.agent, self.catalogue_of, look_up)

    def _held(self, tenant: str) -> list[Held]:
        listed = self.store.listed(tenant, "", 1000).sessions
        keys = [key for one in listed for key in family_of(self.store, one.key)]
        heads = [(key, self.store.head(key)) for key in keys]
        return [
            Held(key.session, head.created) for key, head in heads if head and head.session.is_held
        ]

    def allow(self, tokens: int) -> None:
        """Give the tenant a budget; what is over it fails."""
        self.budgets.put(TENANT, Wanted(None, None, tokens, "fail", "lifetime"), 0)

    def shared_budgets(self) -> SharedBudgets:
        """Return the use cases of the budgets of owners and tenants."""
        return SharedBudgets(self.budgets, self.wake_held(), self.clock)

    def wake_held(self) -> WakeHeld:
        """Return what has drivers look at sessions that a budget pauses."""
        return WakeHeld(self.budgets, self.store, self.wake, self.clock)

    def attempts(self) -> Attempts:
        """Return a budget on the world's clock."""
        return Attempts(lambda: self.clock.now_ms() / 1000, self.clock.sleep)

    def submitter(self, store: SessionStore | None = None, wake: Wake | None = None) -> SubmitInput:
        """Return the use case of inputs."""
        used = store or self.store
        return SubmitInput(
            used,
            self.reader_on(used),
            wake or self.wake,
            self.clock,
            by="http_api",
            runnable_s=1200,
            check_route=lambda _tenant, _facts: None,
            attempts=self.attempts,
        )

    def changer(self, by: str = "http_api") -> ChangeSession:
        """Return what changes sessions from outside a driver."""
        return ChangeSession(
            self.store, self.reader, self.wake, self.clock, by, 1200, self.attempts
        )

    def taker(self, submit: Any = None, by: str = "http_api") -> TakeInput:
        """Return the use case of all inputs."""
        change = self.changer(by)
        return TakeInput(submit or self.submitter(), SettleCalls(change), Interrupts(change))

    def submit(
        self,
        text: str,
        *,
        turn: str = "t1",
        session: str | None = "s1",
        agent: str = "helper",
        owner: str = "",
    ) -> Submitted:
        """Submit one message, for the default owner where none is named."""
        whose = {"identity": {"id": owner}} if owner else {}
        return self.submitter()(MACHINE, read_input(body(text, turn, session, agent) | whose))

    def tools(self, **changed: Any) -> Tools:
        """Return what a driver works with."""
        given: dict[str, Any] = {
            "store": self.store,
            "reader": self.reader,
            "agents": self.directory.agent,
            "wake": self.wake,
            "clock": self.clock,
            "models": Models(self.models),
            "uploads": self.uploads,
            "decider": self.decider,
            "secrets": _secret,
            "new_lanes": lambda _key: self.lanes,
            "attempts": self.attempts,
            "runnable_s": 1200,
            "crossing": Crossing(self.changer("driver"), lambda _tenant, _facts: None),
            "deliveries": self.deliveries,
        }
        return Tools(**(given | changed))

    def advance(
        self,
        message: WakeUp | None = None,
        *,
        held: Lease | None = None,
        request_id: str = "r1",
        received: int = 1,
        remaining_ms: Callable[[], int] | int = 900_000,
        **tools: Any,
    ) -> None:
        """Run one invocation of a driver on a message, by default the last that was sent."""
        left = remaining_ms if callable(remaining_ms) else lambda: remaining_ms
        invocation = Invocation(request_id, received, left)
        drive = AdvanceSession(self.tools(**tools))
        drive(message or self.last_wake(), held or lease(), invocation)

    def last_wake(self) -> WakeUp:
        """Return the newest message as a driver reads it."""
        return WAKE.validate_python(dict(self.wake.sent[-1].message))

    def head(self, session: str = "s1") -> Head:
        """Return a session's head, which is there."""
        head = self.store.head(SessionKey(TENANT, session))
        assert head is not None
        return head

    def log(self, session: str = "s1") -> tuple[Logged, ...]:
        """Return a session's log, bodies in their places."""
        key = SessionKey(TENANT, session)
        return self.store.materialise(key, self.store.log(key, 1))

    def kinds(self, session: str = "s1") -> list[str]:
        """Return the types of a session's events."""
        return [event.type for commit in self.log(session) for event in commit.events]

    def texts(self, session: str = "s1") -> list[tuple[str, Any]]:
        """Return role and content of the messages, in order."""
        return [
            (event.message["role"], event.message.get("content"))
            for commit in self.log(session)
            for event in commit.events
            if event.type == "message.new"
        ]


def body(
    text: str, turn: str | None = "t1", session: str | None = "s1", agent: str = "helper"
) -> dict[str, Any]:
    """Return the body of `POST /v1/sessions/input`."""
    client_input: dict[str, Any] = {
        "type": "client.message",
        "agent_id": agent,
        "message": {"role": "user", "content": text},
    }
    if turn is not None:
        client_input["turn_id"] = turn
    named = {} if session is None else {"session_id": session}
    return {**named, "input": client_input}


def _secret(place: Mapping[str, Any]) -> str:
    return f"secret of {place['env']}"
