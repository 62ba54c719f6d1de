"""What the functions do for runs and for inboxes, each time in a process that can die.

It must not decide when a function is invoked. Each method mirrors routes of `surfaces/`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from everturn.commands.inbox import Inbox
from everturn.commands.read_run import ReadRun
from everturn.commands.run_answers import RunAnswers, ToolResult
from everturn.commands.run_specs import RunSpecs
from everturn.commands.start_run import Started, StartRun, Wanted
from everturn.errors import to_http
from everturn.ports.sessions import SessionKey
from everturn.runs.frames import RunFrame
from everturn.session.events.runs import RunRequested
from everturn.session.inbox_commands import RunOrder
from everturn.store.memory_runs import InMemoryRuns
from everturn.surfaces.http_runs import RunStreamApi
from everturn.surfaces.inbox_routes import inbox_operations
from everturn.surfaces.routes import Request
from faults.functions import BEARER, READER_WAIT_S, Functions
from faults.process import Process, Through
from unit.drive.world import KEY, MACHINE, TENANT


@dataclass
class RunFunctions:
    """The doors of one deployment that are newer than the others."""

    functions: Functions

    def enqueue(self, process: Process, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer `POST /v1/sessions/{id}/inbox`."""
        route = inbox_operations(Inbox(self.functions.change(process)))["enqueue_item"]
        event, path = {"body": json.dumps(body)}, {"session_id": KEY.session}
        try:
            caller = self.functions.callers(process).by_headers(BEARER)
            return route(Request(caller, path, {}, event))
        except Exception as error:  # noqa: BLE001  # as surfaces/http.py
            return to_http(error)

    def start(
        self, process: Process, name: str, spec: dict[str, Any], text: str, session: str | None
    ) -> tuple[int, Started | None]:
        """Answer `POST /agent-runs`, and `POST /agent-sessions/{id}/messages`."""
        functions = self.functions
        specs = RunSpecs(functions.directory(process), functions.world.catalogue_of)
        start = StartRun(functions.change(process), lambda _tenant, _facts: None)
        try:
            caller = functions.callers(process).by_headers(BEARER)
            resolved = specs.resolve(caller.tenant, spec)
            order = RunOrder({"spec": spec, "name": name}, resolved.config, resolved.client)
            said = ({"role": "user", "content": text},)
            return 202, start(caller, Wanted(resolved.agent_id, order, said, session))
        except Exception as error:  # noqa: BLE001  # as surfaces/http.py
            return to_http(error)[0], None

    def started(self, name: str) -> Started | None:
        """Return the run of that name, as a list of all runs would; nobody dies of looking."""
        store = self.functions.world.store
        for key in store.keys(TENANT):
            for commit in store.log(key, 1):
                for event in store.materialise(key, (commit,))[0].events:
                    if isinstance(event, RunRequested) and (event.run or {})["name"] == name:
                        return Started(key.session, event.turn_id or "")
        return None

    def result(self, process: Process, run: str, call_id: str) -> tuple[int, dict[str, Any]]:
        """Answer `POST /agent-runs/{id}/tool-results`."""
        functions = self.functions
        answers = RunAnswers(functions.change(process), self._index(process))
        try:
            caller = functions.callers(process).by_headers(BEARER)
            answers.tool_result(caller, run, ToolResult(call_id, "three feet"))
        except Exception as error:  # noqa: BLE001  # as surfaces/http.py
            return to_http(error)
        return 200, {"ok": True}

    def cancel(self, process: Process, run: str) -> tuple[int, dict[str, Any]]:
        """Answer `POST /agent-runs/{id}/cancel`."""
        functions = self.functions
        answers = RunAnswers(functions.change(process), self._index(process))
        try:
            answers.cancel(functions.callers(process).by_headers(BEARER), run)
        except Exception as error:  # noqa: BLE001  # as surfaces/http.py
            return to_http(error)
        return 200, {"ok": True}

    def stream(
        self, process: Process, run: str, cursor: int, sleep: Callable[[float], None]
    ) -> dict[str, Any]:
        """Answer `GET /agent-runs/{id}/stream`."""
        functions = self.functions
        store, clock = functions.store(process), functions.world.clock
        read = ReadRun(store, self._index(process), clock, sleep, READER_WAIT_S)
        place = {"last-event-id": str(cursor)} if cursor else {}
        path = {"slug": TENANT, "run_id": run}
        api = RunStreamApi(functions.callers(process), read)
        return api({"headers": {**BEARER, **place}, "pathParameters": path})

    def told(self, run: str) -> tuple[RunFrame, ...]:
        """Return all frames of a run as they are read at once, when all is over."""
        world = self.functions.world
        read = ReadRun(world.store, InMemoryRuns(world.store), world.clock, world.clock.sleep)
        return read.stream(MACHINE, run, 0).frames

    def _index(self, process: Process) -> Any:
        return Through(process, InMemoryRuns(self.functions.world.store), "runs")


def names_of(functions: Functions, key: SessionKey) -> dict[str, str]:
    """Return what the turns of a session that are runs were called by who asked for them."""
    store = functions.world.store
    asked = [
        event
        for commit in store.materialise(key, store.log(key, 1))
        for event in commit.events
        if isinstance(event, RunRequested)
    ]
    return {event.turn_id or "": (event.run or {})["name"] for event in asked}
