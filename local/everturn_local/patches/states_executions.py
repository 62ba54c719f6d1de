"""Step machine executions with AWS's names, waits and stops. JSONata is in `states_jsonata`.

Upstream gaps (moto 5.2.5): CloudFormation creates machines in the backend that does not execute;
unnamed executions collide, bad names are accepted and two threads can start one name twice; waits
until a timestamp read local time and drop fractions; `send_task_failure` drops the cause;
`stop_execution` drops error and cause and does not end a parked task.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import moto.stepfunctions.models as moto_models
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow
from moto.stepfunctions.exceptions import InvalidExecutionInput, InvalidName
from moto.stepfunctions.parser.api import ExecutionStatus
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEventException,
)
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.timestamp import Timestamp
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import (
    WaitFunction,
)
from moto.stepfunctions.parser.backend.execution import (
    BaseExecutionWorkerCommunication,
    Execution,
)
from moto.stepfunctions.parser.models import (
    StepFunctionsParserBackend,
    stepfunctions_parser_backends,
)
from moto.stepfunctions.responses import StepFunctionResponse

from everturn_local.clock import LocalClock
from everturn_local.patches.replacing import replaced

GOOD_NAME = re.compile(r"[^\s<>{}\[\]?*\"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]{1,80}")
"""Source: AWS Step Functions API, StartExecution, name."""
INPUT_MAX_BYTES = 262_144
"""Source: AWS Step Functions Developer Guide, "Service quotas"."""


@contextmanager
def states_from_cloudformation() -> Iterator[None]:
    """Let CloudFormation create machines in the backend that executes them."""
    with replaced(moto_models, "stepfunctions_backends", stepfunctions_parser_backends):
        yield


@contextmanager
def states_names() -> Iterator[None]:
    """Start one execution a name, whoever asks at once; refuse bad names and large inputs."""
    start, lock = StepFunctionsParserBackend.start_execution, threading.Lock()

    def start_execution(
        self: StepFunctionsParserBackend,
        state_machine_arn: str,
        name: str | None = None,
        execution_input: str = "{}",
        trace_header: Any = None,
    ) -> Execution:
        name = name or str(uuid.uuid4())
        if not GOOD_NAME.fullmatch(name):
            raise InvalidName(f"Invalid Name: '{name}'")
        if len(execution_input.encode()) > INPUT_MAX_BYTES:
            raise InvalidExecutionInput(f"The input exceeds {INPUT_MAX_BYTES} bytes")
        with lock:
            return start(self, state_machine_arn, name, execution_input, trace_header)

    with replaced(StepFunctionsParserBackend, "start_execution", start_execution):
        yield


@contextmanager
def states_waits(clock: LocalClock) -> Iterator[None]:
    """Wait on `clock`, in UTC, to the fraction of a second."""

    def wait_interval(_wait: WaitFunction, env: Any, wait_seconds: float) -> None:
        clock.wait_until(clock.now() + wait_seconds, stopped=lambda: not env.is_running())

    def seconds_until_timestamp(self: Timestamp, env: Any) -> float:
        self.string.eval(env=env)
        text = env.stack.pop()
        if not self._is_valid_timestamp_pattern(text):
            raise FailureEventException(self._create_failure_event(env, text))
        due = datetime.fromisoformat(text).astimezone(UTC)
        return due.timestamp() - clock.now()

    with (
        replaced(WaitFunction, "_wait_interval", wait_interval),
        replaced(Timestamp, "_get_wait_seconds", seconds_until_timestamp),
    ):
        yield


def _stop(execution: Any, error: str | None, cause: str | None) -> None:
    """End `execution` now as ABORTED, a parked task included."""
    if execution.exec_status != ExecutionStatus.RUNNING:
        return
    stop_date = utcnow()
    execution.exec_status, execution.stop_date = ExecutionStatus.ABORTED, stop_date
    execution.error, execution.cause = error or None, cause or None
    environment = execution.exec_worker.env
    if environment is not None:
        execution.exec_worker.stop(stop_date=stop_date, cause=cause, error=error)
        for callback in list(environment.callback_pool_manager._pool.values()):
            callback.interrupt_all()


@contextmanager
def states_stops(clock: LocalClock) -> Iterator[None]:
    """Keep error and cause of failed tasks and stopped executions; a stop is immediate."""
    reflect: Any = BaseExecutionWorkerCommunication._reflect_execution_status

    def reflect_unless_stopped(self: BaseExecutionWorkerCommunication) -> None:
        if self.execution.exec_status == ExecutionStatus.RUNNING:
            reflect(self)

    def send_task_failure(self: StepFunctionResponse) -> EmptyResult:
        token, error = self._get_param("taskToken"), self._get_param("error")
        backend: Any = self.stepfunction_backend
        backend.send_task_failure(token, error=error, cause=self._get_param("cause"))
        return EmptyResult()

    def stop_execution(self: StepFunctionResponse) -> ActionResult:
        arn = self._get_param("executionArn")
        execution: Any = self.stepfunction_backend.describe_execution(arn)
        _stop(execution, self._get_param("error"), self._get_param("cause"))
        clock.nudge()
        return ActionResult({"stopDate": execution.stop_date})

    with (
        replaced(
            BaseExecutionWorkerCommunication, "_reflect_execution_status", reflect_unless_stopped
        ),
        replaced(StepFunctionResponse, "send_task_failure", send_task_failure),
        replaced(StepFunctionResponse, "stop_execution", stop_execution),
    ):
        yield


def stop_all_executions(clock: LocalClock) -> None:
    """Abort whatever still runs, for the end of a runtime."""
    for regions in list(stepfunctions_parser_backends.values()):
        for backend in list(regions.values()):
            for machine in list(backend.state_machines):
                for execution in list(machine.executions):
                    _stop(execution, None, "the local runtime stopped")
    clock.nudge()
