"""Step machine tasks on the runtime's clock, with AWS's measure of sizes. It runs none of them.

Upstream gaps (moto 5.2.5): timeouts and the waits between retries live on real time; the 256 KB are
measured on escaped text, which makes other alphabets two to three times as large, and not on what a
task is given.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl as moto_retrier
from moto.stepfunctions.parser.asl.component.state import state as moto_state
from moto.stepfunctions.parser.asl.component.state.exec import execute_state as moto_execute
from moto.stepfunctions.parser.asl.component.state.exec.state_task import (
    state_task_lambda as moto_lambda,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service as moto_service,
)

from everturn_local.clock import LocalClock
from everturn_local.patches.replacing import replaced
from everturn_local.patches.states_executions import INPUT_MAX_BYTES
from everturn_local.patches.states_jsonata import compact_text


@dataclass(frozen=True, slots=True)
class _Threading:
    """Stands for the module `threading` where moto waits for the end of a task."""

    clock: LocalClock

    def Event(self) -> _ClockedEvent:  # noqa: N802  the module's name
        return _ClockedEvent(self.clock)


class _ClockedEvent:
    """An event whose timeout runs on the runtime's clock."""

    def __init__(self, clock: LocalClock) -> None:
        self._clock = clock
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()
        self._clock.nudge()

    def wait(self, timeout_s: float) -> bool:
        until = self._clock.now() + timeout_s
        self._clock.wait_until(until, stopped=self._event.is_set)
        return self._event.is_set()


@dataclass(frozen=True, slots=True)
class _Time:
    """Stands for the module `time` where moto waits between two attempts."""

    clock: LocalClock

    def sleep(self, seconds: float) -> None:
        self.clock.wait_until(self.clock.now() + seconds, stopped=lambda: False)


@contextmanager
def states_timeouts(clock: LocalClock) -> Iterator[None]:
    """Let tasks time out, and wait for their next attempt, on `clock`."""
    with (
        replaced(moto_execute, "threading", _Threading(clock)),
        replaced(moto_retrier, "time", _Time(clock)),
    ):
        yield


def is_within_quota(value: Any) -> bool:
    """Whether `value` is at most 256 KB as UTF-8.

    Source: AWS Step Functions Developer Guide, "Service quotas".
    """
    text = value if isinstance(value, str) else compact_text(value)
    return len(text.encode("utf-8", "surrogatepass")) <= INPUT_MAX_BYTES


@contextmanager
def states_sizes() -> Iterator[None]:
    """Measure in UTF-8, and measure also what a task is given."""
    service = moto_service.StateTaskService
    before = service._before_eval_execution

    def measured(self: Any, env: Any, *rest: Any, **given: Any) -> None:
        self._verify_size_quota(env=env, value=given["raw_parameters"])
        before(self, env, *rest, **given)

    with ExitStack() as stack:
        for module in (moto_state, moto_service, moto_lambda):
            stack.enter_context(replaced(module, "is_within_size_quota", is_within_quota))
        stack.enter_context(replaced(service, "_before_eval_execution", measured))
        yield
