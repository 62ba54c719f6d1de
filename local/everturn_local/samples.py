"""What the samples in `events/` refer to: a key, an agent, an input, a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from everturn_local.runtime import LocalRuntime

TENANT: Final = "acme"
SESSION: Final = "0198f3a2-5c1e-7d40-9b1a-000000000001"
TURN: Final = "0198f3a2-5c1e-7d40-9b1a-000000000002"
CONNECTION: Final = "L0SM9cOFvHcCIhw="
API_KEY: Final = "evt_sample-key-of-acme"
AGENT: Final = "helper"
TEXT: Final = "[[say:Hello from afar]]"

NEVER_S: Final = 4_000_000_000

PATIENT: Final = {
    "timeout_secs": 60,
    "max_retries": 3,
    "backoff_base_secs": 60,
    "backoff_max_secs": 60,
}
"""So that a driver leaves what comes next to the step machine, and does not wait for it."""


@dataclass(frozen=True, slots=True)
class _Earlier:
    """A clock that is behind."""

    clock: Any
    ago_s: int

    def now_ms(self) -> int:
        now_ms: int = self.clock.now_ms()
        return now_ms - self.ago_s * 1000

    def entropy(self) -> bytes:
        drawn: bytes = self.clock.entropy()
        return drawn


def seed(runtime: LocalRuntime, input_ago_s: int | None) -> None:
    """Write it, the input as of so long ago, or none where that is `None`.

    The engine is imported here, because a runtime imports it afresh.
    """
    from everturn.ports.callers import Caller  # noqa: PLC0415
    from everturn.ports.directory import ApiKey  # noqa: PLC0415
    from everturn.ports.sessions import SessionKey  # noqa: PLC0415
    from everturn.ports.streams import Watcher  # noqa: PLC0415
    from everturn.protocol.api_keys import hash_of  # noqa: PLC0415
    from everturn.wiring import adapters, use_cases  # noqa: PLC0415

    directory = adapters.directory()
    directory.put_tenant(TENANT, {"name": TENANT})
    directory.put_api_key(hash_of(API_KEY), ApiKey(TENANT, "sample"))
    definition = {
        "model": "demo:demo",
        "decides": "engine",
        "worker": runtime.function_url("sample_worker"),
        "retry": PATIENT,
        "tools": [{"name": "convert", "description": "Converts.", "effect": "read"}],
    }
    use_cases.agents().put(TENANT, AGENT, definition)
    directory.put_connection(CONNECTION, Caller(TENANT), NEVER_S)
    if input_ago_s is not None:
        _submit(Caller(TENANT), input_ago_s)
    adapters.store().add_watcher(SessionKey(TENANT, SESSION), Watcher(CONNECTION, "live"))


def _submit(caller: Any, ago_s: int) -> None:
    """Record an input as of some time ago, and wake nobody."""
    from everturn.commands.submit_input import SubmitInput  # noqa: PLC0415
    from everturn.protocol.client_input import read_input  # noqa: PLC0415
    from everturn.store.memory_directory import InMemoryWake  # noqa: PLC0415
    from everturn.wiring import adapters, use_cases  # noqa: PLC0415
    from everturn.wiring.clients import CLOCK  # noqa: PLC0415

    submit = SubmitInput(
        adapters.store(),
        use_cases.session_reader(),
        InMemoryWake(),
        _Earlier(CLOCK, ago_s),
        by="http_api",
        runnable_s=1200,
        check_route=lambda _tenant, _facts: None,
        attempts=use_cases.attempts,
    )
    message = {"role": "user", "content": TEXT}
    given = {"type": "client.message", "agent_id": AGENT, "turn_id": TURN, "message": message}
    submit(caller, read_input({"session_id": SESSION, "input": given}))
