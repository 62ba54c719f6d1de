"""Clients of runs: one starts them, others read along and run the tools that are theirs.

They must not look into the store: what they know, they were told.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from everturn.commands.start_run import Started
from everturn.runs.frames import TERMINAL
from faults.clients import CHUNKS_BETWEEN, PATIENCE_MS, Site
from faults.follower import read_frames
from faults.process import Process
from faults.run_functions import RunFunctions
from faults.scenario import Scenario

LONGER_THAN_IT_LIVES_MS: Final = 60_000
"""Behind an API a function lives for half a minute: what it has not written then, it never will."""

AT_MOST_MS: Final = 200_000
"""How long a reader stays away: not as long as a tool of its client's is waited for."""

MEASURE: Final = {"kind": "local", "name": "measure", "description": "Measures."}
Frame = tuple[int, str, dict[str, Any]]
"""Seq, type and data."""

OVER: Final = {404: "unknown_tool_use", 409: "run_terminal"}
"""What the second one is told that brings a result: it came before, or the run is over."""


@dataclass
class Starts:
    """Starts the turns as runs, one after another, without waiting for what becomes of them.

    A start has no key by which it could be known again: sent twice it is two runs, and that is
    right. So a client that heard nothing waits until nothing can come of it any more, looks whether
    there is a run of that name, and only then asks again.
    """

    site: Site
    doors: RunFunctions
    scenario: Scenario
    next_ms: int | None = None
    told: list[Started] = field(default_factory=list)

    def act(self, *, meanwhile: bool) -> bool:
        """Start the next run, unless it is to be waited for."""
        del meanwhile
        waits = self.next_ms is not None and self.site.clock.now < self.next_ms
        number = len(self.told)
        if waits or number == len(self.scenario.turns):
            return False
        turn, asks_again = f"t{number + 1}", self.next_ms is not None
        self.next_ms = self.site.clock.now + LONGER_THAN_IT_LIVES_MS
        started = self.doors.started(turn) if asks_again else None
        started = started or self._start(turn, self.scenario.turns[number])
        if started is not None:
            self.told.append(started)
            self.site.accepted.append(turn)
            self.next_ms = None
        return True

    def repeat(self, number: int) -> None:
        """Send nothing: it would be another run."""

    def stop(self, process: Process) -> tuple[int, dict[str, Any]]:
        """Stop the first run; before it is known there is nothing to stop."""
        if not self.told:
            return 503, {}
        return self.doors.cancel(process, self.told[0].run_id)

    def _start(self, turn: str, text: str) -> Started | None:
        spec: dict[str, Any] = {"agentId": "helper", "tools": [MEASURE]}
        if self.scenario.decides == "engine":  # a worker has texts of its own
            spec["systemPrompt"] = f"For {turn}."
        session = self.told[0].session_id if self.told else None
        status, started = self.site.invoke(
            "http_api", lambda p: self.doors.start(p, turn, spec, text, session)
        ) or (0, None)
        if status not in {0, 202, 503}:
            self.site.wrong.append(f"the start of {turn} was answered {status}")
        return started


@dataclass
class RunReader:
    """Follows one run as the published clients do, and runs its tools; a cursor is all it keeps.

    It drops nothing that comes twice: nothing may.
    """

    site: Site
    doors: RunFunctions
    starts: Starts
    number: int
    """Of the run, from 0."""

    twice: bool = False
    """Sends each result once more although it was taken."""

    next_ms: int | None = None
    frames: list[Frame] = field(default_factory=list)

    _is_busy: bool = False
    _skipped: int = 0
    _empty: int = 0
    _sent: set[str] = field(default_factory=set)
    """Calls whose result was sent, heard of or not."""

    _settled: set[str] = field(default_factory=set)

    @property
    def run(self) -> str:
        """The run's id."""
        return self.starts.told[self.number].run_id

    def act(self, *, meanwhile: bool) -> bool:
        """Bring the result of a tool that was called, or ask for what comes after the cursor."""
        waits = self.next_ms is not None and self.site.clock.now < self.next_ms
        has_begun = len(self.starts.told) > self.number
        is_over = bool(self.frames) and self.frames[-1][1] in TERMINAL
        if self._is_busy or not has_begun or is_over or (waits and not meanwhile):
            return False
        if meanwhile and self._skipped < CHUNKS_BETWEEN:
            self._skipped += 1
            return False
        self._skipped, self.next_ms, self._is_busy = 0, None, True
        called = [data["toolUseId"] for _, kind, data in self.frames if kind == "local_tool_call"]
        wanted = [call_id for call_id in called if call_id not in self._settled]
        if wanted:
            self._bring(wanted[0])
        else:
            self._ask()
        self._is_busy = False
        return True

    def _bring(self, call_id: str) -> None:
        if self._send(call_id):
            self._settled.add(call_id)
            if self.twice:
                self._send(call_id)
        else:
            self.next_ms = self.site.clock.now + PATIENCE_MS

    def _send(self, call_id: str) -> bool:
        """Send a result; return whether it is there. Only who sends it again is told otherwise."""
        site, again = self.site, call_id in self._sent
        self._sent.add(call_id)
        answered = site.invoke("http_api", lambda p: self.doors.result(p, self.run, call_id))
        status, told = answered or (0, {})
        is_known = again and OVER.get(status) == told.get("code")
        if status not in {0, 503} and not is_known and (status != 200 or call_id in self._settled):
            site.wrong.append(f"the result of {call_id} was answered {status} {told}")
        return status == 200 or is_known

    def _ask(self) -> None:
        site, cursor = self.site, self.frames[-1][0] if self.frames else 0
        answer = site.invoke("reader", lambda p: self.doors.stream(p, self.run, cursor, site.sleep))
        if answer is None:
            self.next_ms = site.clock.now + PATIENCE_MS
            return
        if answer["statusCode"] != 200:
            site.wrong.append(f"the reader of a run was answered {answer}")
            return
        found = read_frames(answer["body"])
        self.frames += [(int(seq), kind, json.loads(data)["data"]) for seq, kind, data in found]
        self._empty = 0 if found else self._empty + 1
        if not found:
            self.next_ms = site.clock.now + min(PATIENCE_MS * 2**self._empty, AT_MOST_MS)
