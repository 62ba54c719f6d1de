"""Invokes the stack's functions under Lambda's limits. What triggers them is not its business."""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Protocol, assert_never

from everturn_local.invocations import (
    ASYNC_PAYLOAD_MAX_BYTES,
    PAYLOAD_MAX_BYTES,
    Failed,
    LambdaContext,
    Outcome,
    Returned,
    Throttled,
    TooLarge,
    failed_by,
    timed_out,
)
from everturn_local.patches.lambda_invoke import Invoked, InvokeRefused
from everturn_local.template import ACCOUNT
from everturn_local.topology import FunctionSpec

logger = logging.getLogger(__name__)


class Sandbox(Protocol):
    """Where one function's code runs."""

    def run(self, event_json: str, context: LambdaContext) -> Outcome:
        """Run one invocation to its end on this thread."""
        ...

    def warm(self) -> object:
        """Do ahead what the first invocation would have to do."""
        ...

    def kill(self) -> int:
        """End running code at once where that is possible; returns how many invocations died."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


Observe = Callable[[FunctionSpec, float], None]
"""Told (function, seconds taken) after each invocation."""


class Functions:
    """All functions of a stack, by name. Thread-safe."""

    def __init__(
        self,
        specs: Iterable[FunctionSpec],
        sandboxes: Mapping[str, Sandbox],
        physical: Mapping[str, str],
        *,
        region: str,
        observe: Observe,
    ) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._sandboxes = sandboxes
        self._physical_names = {spec.name: physical[spec.logical_id] for spec in specs}
        self._by_reference = {
            alias: name
            for name, physical_name in self._physical_names.items()
            for alias in (name, physical_name)
        }
        self._slots = {
            name: threading.Semaphore(spec.reserved_concurrency)
            for name, spec in self._specs.items()
            if spec.reserved_concurrency is not None
        }
        self._region = region
        self._observe = observe
        self._running: dict[str, str] = {}
        self._guard = threading.Lock()

    def spec(self, name: str) -> FunctionSpec:
        """Settings of the function `name`."""
        return self._specs[name]

    def running(self) -> tuple[str, ...]:
        """Names of the functions that run now, one entry an invocation."""
        with self._guard:
            return tuple(self._running.values())

    def submit(self, name: str, event: Any, *, asynchronous: bool = False) -> Future[Outcome]:
        """Start an invocation on a thread of its own; the future never fails.

        The function's timeout is its caller's to watch: threads cannot be ended.
        """
        future: Future[Outcome] = Future()
        future.set_running_or_notify_cancel()
        event_json = json.dumps(event)
        size_bytes = len(event_json.encode())
        if size_bytes > (ASYNC_PAYLOAD_MAX_BYTES if asynchronous else PAYLOAD_MAX_BYTES):
            logger.error("%s was sent %d bytes", name, size_bytes)
            future.set_result(TooLarge(size_bytes))
            return future
        slot = self._slots.get(name)
        if slot is not None and not slot.acquire(blocking=False):
            logger.warning("%s is throttled: its reserved concurrency is in use", name)
            future.set_result(Throttled())
            return future
        context = self._context(name)
        threading.Thread(
            target=self._run,
            args=(name, event_json, context, future, slot),
            name=f"{name}-{context.aws_request_id[:8]}",
            daemon=True,
        ).start()
        return future

    def invoke(self, name: str, event: Any) -> Outcome:
        """Run one invocation and wait for it, at most for the function's timeout."""
        timeout_s = self._specs[name].timeout_s
        try:
            return self.submit(name, event).result(timeout_s)
        except FutureTimeoutError:
            logger.warning("%s timed out after %s s and goes on in its thread", name, timeout_s)
            return timed_out(timeout_s)

    def invoke_api(self, reference: str, payload: bytes, asynchronous: bool) -> Invoked | None:
        """Serve Lambda's Invoke API; `reference` is a function's own or its physical name."""
        name = self._by_reference.get(reference)
        if name is None:
            return None
        event = json.loads(payload or b"{}")
        if asynchronous:
            future = self.submit(name, event, asynchronous=True)
            outcome = future.result() if future.done() else Returned(None)
        else:
            outcome = self.invoke(name, event)
        match outcome:
            case Returned(payload=result):
                return Invoked(json.dumps(result).encode(), failed=False)
            case Failed():
                if asynchronous:
                    return Invoked(b"", failed=False)
                return Invoked(json.dumps(outcome.to_payload()).encode(), failed=True)
            case Throttled():
                raise InvokeRefused(429, "TooManyRequestsException", "Rate Exceeded.")
            case TooLarge(size_bytes=size_bytes):
                raise InvokeRefused(
                    413, "RequestTooLargeException", f"Request of {size_bytes} bytes is too large"
                )
            case _:
                assert_never(outcome)

    def kill(self, name: str) -> int:
        """Kill what runs of a function in process mode; returns how many invocations died."""
        return self._sandboxes[name].kill()

    def close(self, *, patience_s: float) -> None:
        """Wait `patience_s` for running invocations, then leave or kill them."""
        until = time.monotonic() + patience_s
        while self.running() and time.monotonic() < until:
            time.sleep(0.01)
        left = self.running()
        for sandbox in self._sandboxes.values():
            sandbox.close()
        if left:
            logger.warning("left behind, still running: %s", ", ".join(sorted(left)))

    def _context(self, name: str) -> LambdaContext:
        spec, physical_name = self._specs[name], self._physical_names[name]
        return LambdaContext(
            function_name=physical_name,
            aws_request_id=str(uuid.uuid4()),
            invoked_function_arn=(
                f"arn:aws:lambda:{self._region}:{ACCOUNT}:function:{physical_name}"
            ),
            memory_limit_in_mb=spec.memory_mb,
            deadline_monotonic_s=time.monotonic() + spec.timeout_s,
        )

    def _run(
        self,
        name: str,
        event_json: str,
        context: LambdaContext,
        future: Future[Outcome],
        slot: threading.Semaphore | None,
    ) -> None:
        started = time.monotonic()
        with self._guard:
            self._running[context.aws_request_id] = name
        try:
            outcome = self._sandboxes[name].run(event_json, context)
        except Exception as error:
            logger.exception("the local runtime could not run %s", name)
            outcome = failed_by(error)
        finally:
            with self._guard:
                del self._running[context.aws_request_id]
            if slot is not None:
                slot.release()
        self._observe(self._specs[name], time.monotonic() - started)
        future.set_result(outcome)
