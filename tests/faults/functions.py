"""One invocation of each function, on a deployment in memory; what is asked goes through a process.

It must not decide when a function is invoked. Each method mirrors `functions/<name>/app.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from everturn.commands.answer_later import SettleCalls
from everturn.commands.cancel import Cancels
from everturn.commands.change import ChangeSession
from everturn.commands.crossing import Crossing
from everturn.commands.fan_out import FanOut
from everturn.commands.interrupts import Interrupts
from everturn.commands.read_events import ReadEvents
from everturn.commands.recover import Recover
from everturn.commands.resolve_wait import ResolveWait
from everturn.commands.submit_input import SubmitInput
from everturn.commands.subscribe import Subscribe
from everturn.commands.take_input import TakeInput
from everturn.drive.advance import AdvanceSession
from everturn.drive.lease import Lease, redelivery_s
from everturn.drive.tools import Invocation
from everturn.errors import to_http
from everturn.llm.catalogue import Route
from everturn.llm.demo.model import DEMO_ROUTE
from everturn.llm.models import Models
from everturn.llm.registry import ModelRegistry, Served
from everturn.ports.budgets import Spending
from everturn.ports.callers import Caller
from everturn.ports.directory import ApiKey
from everturn.ports.sessions import Logged, SessionKey
from everturn.ports.tokens import Tokens
from everturn.protocol.api_keys import hash_of
from everturn.protocol.client_input import read_input
from everturn.protocol.wake import WAKE
from everturn.push.outcome import PushOutcome
from everturn.session.budget import spent_in
from everturn.session.state import Spent
from everturn.store.memory_revocations import InMemoryRevocations
from everturn.surfaces.callers import Callers
from everturn.surfaces.connections import Connections
from everturn.surfaces.http_events import EventsApi
from everturn.surfaces.session_routes import accepted
from everturn.surfaces.websocket import Sockets
from faults.outside import DyingDecider, DyingLanes, DyingModel, OpenConnections, Workers
from faults.process import Process, Through
from faults.scenario import Scenario
from faults.sources import Message
from faults.stepwise import Stepwise
from unit.drive.doubles import NoQueue
from unit.drive.world import KEY, MACHINE, TENANT, World

API_KEY: Final = "key-of-acme"
BEARER: Final = {"authorization": f"Bearer {API_KEY}"}
LEASE_S: Final = 120
RUNNABLE_S: Final = 1200
READER_WAIT_S: Final = 0.5
"""How long the reader holds a request; in 25 s it looks more often, and does nothing else."""


@dataclass
class Functions:
    """The functions of one deployment."""

    world: World
    scenario: Scenario
    connections: OpenConnections
    workers: Workers

    def __post_init__(self) -> None:
        self.world.directory.put_api_key(hash_of(API_KEY), ApiKey(TENANT, "main"))

    # ---- the two APIs

    def http_api(self, process: Process, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer `POST /v1/sessions/input`."""
        try:
            caller = self._callers(process).by_headers(BEARER)
            return 202, accepted(self._take(process)(caller, read_input(body)))
        except Exception as error:  # noqa: BLE001  # as surfaces/http.py
            return to_http(error)

    def cancel(self, process: Process, turn: str) -> tuple[int, dict[str, Any]]:
        """Answer `POST /v1/sessions/{id}/turns/{turn_id}/cancel`."""
        stop = Cancels(self._change(process)).turn
        try:
            caller = self._callers(process).by_headers(BEARER)
            return 200, {"cancelled": stop(caller, KEY.session, turn, {}).is_cancelled}
        except Exception as error:  # noqa: BLE001  # as surfaces/http.py
            return to_http(error)

    def answer(self, process: Process, wait: str, text: str) -> tuple[int, dict[str, Any]]:
        """Answer `POST /v1/sessions/{id}/approvals/{id}`."""
        try:
            caller = self._callers(process).by_headers(BEARER)
            resolve = ResolveWait(self._change(process))
            was_over = resolve(caller, KEY.session, wait, {"answer": text})
        except Exception as error:  # noqa: BLE001  # as surfaces/http.py
            return to_http(error)
        return 200, {"ok": True, **({"duplicate": True} if was_over else {})}

    def reader(
        self, process: Process, cursor: str, sleep: Callable[[float], None]
    ) -> dict[str, Any]:
        """Answer `GET /v1/sessions/{id}/events` as a stream."""
        api = EventsApi(self._callers(process), self._events(process, sleep))
        place = {"last-event-id": cursor} if cursor else {}
        headers = {**BEARER, "accept": "text/event-stream", **place}
        return api({"headers": headers, "pathParameters": {"session_id": KEY.session}})

    def authorizer(self, process: Process) -> Caller:
        """Return whose a new connection is."""
        return self._callers(process).by_headers(BEARER)

    def admit(self, connection_id: str) -> None:
        """Have a connection that was there before; it lasts as long as any run."""
        self.world.directory.put_connection(connection_id, MACHINE, 2**40)

    def connect(self, process: Process, connection_id: str, caller: Caller) -> bool:
        """Record a connection that the authorizer let in."""
        self._sockets(process).connect(connection_id, caller)
        return True

    def frame(self, process: Process, connection_id: str, frame: dict[str, Any]) -> bool:
        """Do what a frame asks."""
        self._sockets(process).frame(connection_id, json.dumps(frame))
        return True

    def disconnect(self, process: Process, connection_id: str) -> bool:
        """Forget a connection."""
        self._sockets(process).disconnect(connection_id)
        return True

    # ---- behind them

    def driver(
        self, process: Process, message: Message, stepwise: Stepwise, request_id: str
    ) -> Exception | None:
        """Advance a session; returns what went wrong: the message comes back soon."""
        clock, receipt = self.world.clock, message.received

        def extend(seconds: int) -> None:
            def renew() -> None:
                if message.received != receipt:
                    raise PermissionError("the receipt handle has expired")
                message.visible_ms = clock.now + seconds * 1000

            process.request("queue.extend", renew)

        lease = Lease(extend, LEASE_S, lambda: (clock.now - process.stalled_ms) / 1000)
        remaining_ms = self.scenario.remaining_ms_of(message.number)
        invocation = Invocation(request_id, message.received, lambda: remaining_ms)
        try:
            lease.take()
            drive = AdvanceSession(self.world.tools(**self._tools(process, stepwise)))
            drive(WAKE.validate_python(dict(message.body)), lease, invocation)
        except Exception as error:  # noqa: BLE001  # as functions/driver
            with suppress(OSError):
                extend(redelivery_s(message.received, LEASE_S))
            return error
        return None

    def _tools(self, process: Process, stepwise: Stepwise) -> dict[str, Any]:
        clock, store = self.world.clock, self._store(process)
        models = ModelRegistry()
        route = Route(DEMO_ROUTE.id, DEMO_ROUTE.name, DEMO_ROUTE.models)
        models.register(Served(route, lambda: DyingModel(process, stepwise, clock)))
        return {
            "store": store,
            "reader": self.world.reader_on(store, self._directory(process)),
            "agents": self._directory(process).agent,
            "wake": Through(process, self.world.wake, "wake"),
            "models": Models(models),
            "decider": DyingDecider(process, stepwise, clock, self.workers),
            "crossing": Crossing(self._change(process), lambda _tenant, _facts: None),
            "new_lanes": lambda key: self._lanes(process, key),
            "new_effects": stepwise.effects,
            "watching": stepwise.watching,
        }

    def fanout(
        self, process: Process, key: SessionKey, commits: Sequence[Logged]
    ) -> Exception | None:
        """Fan out commits in order; returns what went wrong: all of them come again."""
        fan_out = FanOut(
            self._store(process),
            Through(process, self.world.wake, "wake"),
            lambda key: self._lanes(process, key),
            self.world.clock.now_ms,
        )
        failed: Exception | None = None
        try:
            for commit in commits:
                self._count(process, commit)
                fan_out(key, commit)
        except Exception as error:  # noqa: BLE001  # as commands/fan_out_records.py
            failed = error
        fan_out.flush()
        return failed

    def _count(self, process: Process, commit: Logged) -> None:
        spent = spent_in(commit.events)
        if self.scenario.tenant_tokens is None or spent == Spent():
            return
        spending = Spending(TENANT, "default", commit.commit_id, commit.at_ms, spent)
        Through(process, self.world.budgets, "budgets").count(spending)

    def settle(self, process: Process, message: Message) -> Exception | None:
        """Settle a dead letter; returns what went wrong: it comes again."""
        try:
            self._recover(process).settle(WAKE.validate_python(dict(message.body)))
        except Exception as error:  # noqa: BLE001  # as functions/recovery
            return error
        return None

    def sweep(self, process: Process) -> int:
        """Wake what is past its time; returns how many sessions."""
        return self._recover(process).sweep().woken

    # ---- what they are made of

    def _sockets(self, process: Process) -> Sockets:
        store, directory = self._store(process), self._directory(process)
        clock = self.world.clock
        return Sockets(
            Connections(directory, self._callers(process), clock),
            self._take(process),
            Subscribe(store, directory, self._events(process, clock.sleep)),
            self._post(process),
            clock.sleep,
            self.connections.close,
        )

    def _recover(self, process: Process) -> Recover:
        store, directory = self._store(process), self._directory(process)
        reader = self.world.reader_on(store, directory)
        return Recover(store, reader, Through(process, self.world.wake, "wake"), self.world.clock)

    def _take(self, process: Process) -> TakeInput:
        change = self._change(process)
        return TakeInput(self._submit(process), SettleCalls(change), Interrupts(change))

    def _change(self, process: Process) -> ChangeSession:
        store = self._store(process)
        return ChangeSession(
            store,
            self.world.reader_on(store, self._directory(process)),
            Through(process, self.world.wake, "wake"),
            self.world.clock,
            process.role,
            RUNNABLE_S,
            self.world.attempts,
        )

    def _submit(self, process: Process) -> SubmitInput:
        store = self._store(process)
        wake = NoQueue() if "wake-up" in self.scenario.lost else self.world.wake
        return SubmitInput(
            store,
            self.world.reader_on(store, self._directory(process)),
            Through(process, wake, "wake"),
            self.world.clock,
            by=process.role,
            runnable_s=RUNNABLE_S,
            check_route=lambda _tenant, _facts: None,
            attempts=self.world.attempts,
        )

    def _events(self, process: Process, sleep: Callable[[float], None]) -> ReadEvents:
        return ReadEvents(self._store(process), self.world.clock, sleep, READER_WAIT_S)

    def _callers(self, process: Process) -> Callers:
        return Callers(
            self._directory(process), self.world.clock, _no_tokens, InMemoryRevocations()
        )

    def _store(self, process: Process) -> Any:
        broken = process.role in {"driver", "recovery"}
        unreadable = self.scenario.unreadable if broken else frozenset()
        return Through(process, self.world.store, "store", unreadable)

    def _directory(self, process: Process) -> Any:
        return Through(process, self.world.directory, "directory")

    def _post(self, process: Process) -> Callable[[str, bytes], PushOutcome]:
        def post(connection_id: str, frame: bytes) -> PushOutcome:
            return process.request("push", lambda: self.connections.post(connection_id, frame))

        return post

    def _lanes(self, process: Process, key: SessionKey) -> DyingLanes:
        store = self._store(process)

        def gone(connection_id: str) -> None:
            store.remove_watcher(key, connection_id)

        return DyingLanes(self._post(process), gone, lazy=self.scenario.lazy_lanes)


def _no_tokens() -> Tokens:
    raise AssertionError("everybody here has a key")
