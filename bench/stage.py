"""A local runtime to measure on, and a client that plays turns on it; it draws no conclusions."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from bench.tape import Tape
from everturn_local.bootstrap import DEMO_AGENT, Access, open_access, register_sample_agent
from everturn_local.runtime import LocalRuntime

ROOT: Final = Path(__file__).resolve().parents[1]
TENANT: Final = "bench"
QUIET_S: Final = 0.4
"""Silence after which a turn's requests are taken to be over."""

PATIENCE_S: Final = 60.0
LOOK_S: Final = 0.01


class TurnTookTooLong(Exception):
    """A turn did not end in time."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that the engine took on."""

    session_id: str
    turn_id: str


class Stage:
    """One runtime and its tape."""

    def __init__(self, runtime: LocalRuntime, tape: Tape, access: Access) -> None:
        self.runtime = runtime
        self.tape = tape
        self.access = access
        self._table = runtime.physical["Table"]
        self._http = httpx.Client(base_url=access.http_url, headers=access.headers, timeout=30)

    def send(self, text: str, session_id: str | None) -> Turn:
        """Send a message; without a session a new one begins."""
        message = {
            "type": "client.message",
            "agent_id": DEMO_AGENT,
            "message": {"role": "user", "content": text},
            "stream": True,
        }
        body: dict[str, Any] = {"input": message}
        if session_id is not None:
            body["session_id"] = session_id
        answer = self._http.post("/v1/sessions/input", json=body)
        answer.raise_for_status()
        accepted = answer.json()
        return Turn(accepted["session_id"], accepted["turn_id"])

    def wait(self, turn: Turn) -> None:
        """Return once the turn has ended; looks past the meter. Raises `TurnTookTooLong`."""
        key = {
            "pk": {"S": f"SESSION#{TENANT}#{turn.session_id}"},
            "sk": {"S": f"TURN#{turn.turn_id}"},
        }
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if "Item" in self.runtime.clients.dynamodb.get_item(TableName=self._table, Key=key):
                return
            time.sleep(LOOK_S)
        raise TurnTookTooLong(f"turn {turn.turn_id} was not over after {PATIENCE_S:g} s")

    def settle(self) -> None:
        """Return once no function runs and nobody has asked AWS for anything for a while."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if not self.runtime.functions.running() and self.tape.silent_s > QUIET_S:
                return
            time.sleep(LOOK_S)
        raise TurnTookTooLong("the runtime did not come to rest")

    def window(self, session_id: str) -> tuple[int, int]:
        """Return the newest event's number and the window's bytes; costs a read of its own."""
        from everturn.ports.sessions import SessionKey  # noqa: PLC0415  # the runtime imports the engine afresh
        from everturn.wiring.adapters import store  # noqa: PLC0415

        head = store().head(SessionKey(TENANT, session_id))
        if head is None:
            return 0, 0
        window = head.session.window
        return head.session.seq, window.total_bytes - window.from_bytes

    def close(self) -> None:
        """Let go of the client."""
        self._http.close()


class _WithoutMetrics(io.TextIOBase):
    """Where functions print: what is no metric is an error that somebody should see."""

    def write(self, text: str) -> int:
        """Pass `text` on."""
        if text.strip() and '"_aws"' not in text:
            sys.stderr.write(text if text.endswith("\n") else f"{text}\n")
        return len(text)


@contextmanager
def stage() -> Iterator[Stage]:
    """Yield a fresh runtime with the sample agent."""
    quiet = {"POWERTOOLS_LOG_LEVEL": "ERROR"}
    runtime = LocalRuntime(ROOT / "template.yaml", environment=quiet)
    runtime.meter = tape = Tape(runtime.region)
    with redirect_stdout(_WithoutMetrics()), runtime:
        access = open_access(runtime, TENANT)
        register_sample_agent(runtime, access, ROOT)
        here = Stage(runtime, tape, access)
        try:
            yield here
        finally:
            here.close()
