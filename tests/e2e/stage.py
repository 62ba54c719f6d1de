"""The one local runtime that tests share, started again only where a module wants it otherwise."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from pathlib import Path

import httpcore

from e2e.scripted_function import NAME, REGISTERED
from everturn_local.faults import deliver, never, right, take
from everturn_local.runtime import LocalRuntime

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a runtime is started with."""

    environment: tuple[tuple[str, str], ...] = (
        ("EVERTURN_DELIVERY_ATTEMPTS", "2"),
        ("EVERTURN_RUNNABLE_SECONDS", "1"),
    )
    process_functions: frozenset[str] = frozenset()
    name: str = ""
    """Setups of different names share no runtime: some tests count what there is."""

    parameters: tuple[tuple[str, str], ...] = ()
    """Of the template, beside those that differ locally anyway."""


@dataclass(slots=True)
class Stage:
    """Runs one runtime at a time, as many tests as possible on the same one."""

    _runtime: LocalRuntime | None = None
    _setup: Setup = field(default_factory=Setup)

    def running(self, setup: Setup) -> LocalRuntime:
        """Return a runtime of that setup, undisturbed by any fault."""
        if self._runtime is None or self._setup != setup:
            self.stop()
            runtime = LocalRuntime(
                ROOT / "template.yaml",
                environment=dict(setup.environment),
                process_functions=setup.process_functions,
                parameters=dict(setup.parameters),
                worker_functions={NAME: REGISTERED},
            )
            runtime.start()
            self._runtime, self._setup = runtime, setup
        self._runtime.faults.queue = deliver
        self._runtime.faults.stream = deliver
        self._runtime.faults.throttles = never
        self._runtime.faults.post = take
        self._runtime.faults.clock = right
        return self._runtime

    def stop(self) -> None:
        """Stop what runs."""
        if self._runtime is not None:
            self._runtime.stop()
            self._runtime = None
            _close_pools()


def _close_pools() -> None:
    """Close the connections that functions kept open; a sandbox takes them along when it ends."""
    for one in gc.get_objects():
        if issubclass(type(one), httpcore.ConnectionPool):  # no look into weak references
            one.close()


STAGE = Stage()
"""Of this process: the local runtime owns it while it runs."""
