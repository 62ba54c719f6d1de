"""A function in a process of its own that may be killed at any moment: the child and its owner.

The two speak JSON lines over a socket pair; handlers own stdout and stderr.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from everturn_local.handlers import InProcessSandbox
from everturn_local.invocations import Failed, LambdaContext, Outcome, Returned
from everturn_local.template import CodeLocation

logger = logging.getLogger(__name__)


class _Child:
    """One child process; it serves one invocation at a time."""

    def __init__(
        self, name: str, code: CodeLocation, environment: Mapping[str, str], wrong_s: float
    ) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module, our own interpreter
                [
                    *(sys.executable, "-m", "everturn_local.function_process"),
                    *(str(theirs.fileno()), name, str(code.directory), code.handler, str(wrong_s)),
                ],
                env=dict(environment),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=sys.__stderr__,
            )
        self._socket = ours
        self._lines: IO[bytes] = ours.makefile("rb")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def run(self, event_json: str, context: LambdaContext) -> Outcome:
        request = asdict(context) | {
            "event_json": event_json,
            "remaining_s": context.get_remaining_time_in_millis() / 1000,
        }
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            answer = self._lines.readline()
        except OSError:
            answer = b""
        if not answer.endswith(b"\n"):
            code = self._process.wait()
            return Failed("Runtime.ExitError", f"the function's process ended with status {code}")
        match json.loads(answer):
            case {"payload": payload}:
                return Returned(payload)
            case {"failed": failed}:
                return Failed(failed["error_type"], failed["message"], tuple(failed["trace"]))
            case other:
                raise ValueError(f"a function process answered {other!r}")

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self._lines.close()
        self._socket.close()


class ProcessSandbox:
    """Runs a function in child processes, one for each invocation at a time, reused when idle."""

    def __init__(
        self,
        name: str,
        code: CodeLocation,
        environment: Mapping[str, str],
        wrong_s: Callable[[], float],
    ) -> None:
        """`wrong_s` is asked by how much the clock of the next child is wrong."""
        self._name = name
        self._code = code
        self._environment = environment
        self._wrong_s = wrong_s
        self._guard = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()

    def warm(self) -> None:
        """Start one child ahead of the first invocation."""
        child = self._new_child()
        with self._guard:
            self._idle.append(child)

    def run(self, event_json: str, context: LambdaContext) -> Outcome:
        """Run one invocation in a child; `Failed` with Runtime.ExitError when it was killed."""
        child = self._take()
        try:
            outcome = child.run(event_json, context)
        finally:
            self._give_back(child)
        if isinstance(outcome, Failed):
            logger.error("%s failed: %s %s", self._name, outcome.error_type, outcome.message)
        return outcome

    def kill(self) -> int:
        """Kill every running child with SIGKILL; returns how many were in an invocation."""
        with self._guard:
            busy, idle = list(self._busy), list(self._idle)
        for child in (*busy, *idle):
            child.kill()
        return len(busy)

    def close(self) -> None:
        """Kill every child and let go of its socket."""
        with self._guard:
            children = [*self._busy, *self._idle]
            self._idle.clear()
        for child in children:
            child.close()

    def _new_child(self) -> _Child:
        return _Child(self._name, self._code, self._environment, self._wrong_s())

    def _take(self) -> _Child:
        with self._guard:
            dead = [child for child in self._idle if not child.alive]
            alive = [child for child in self._idle if child.alive]
            self._idle = alive[:-1]
            child = alive[-1] if alive else self._new_child()
            self._busy.add(child)
        for each in dead:
            each.close()
        return child

    def _give_back(self, child: _Child) -> None:
        with self._guard:
            self._busy.discard(child)
            if child.alive:
                self._idle.append(child)
                return
        child.close()


def child_environment(variables: Mapping[str, str], aws_endpoint_url: str) -> dict[str, str]:
    """Environment of a child: this process's own, its import path, and the way to moto."""
    return {
        **os.environ,
        **variables,
        "AWS_ENDPOINT_URL": aws_endpoint_url,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def serve(connection: socket.socket, name: str, code: CodeLocation) -> None:
    """Answer invocations from `connection` until it closes."""
    sandbox = InProcessSandbox(name, code)
    with contextlib.suppress(Exception):  # the first invocation tries again and reports
        sandbox.warm()
    with connection, connection.makefile("rb") as lines:
        for line in lines:
            connection.sendall(json.dumps(_answer(sandbox, json.loads(line))).encode() + b"\n")


def set_clock_wrong(seconds: float) -> None:
    """Put `time.time_ns` off, which handlers go by; the time that signs requests stays right."""
    if seconds:
        right_ns, wrong_ns = time.time_ns, round(seconds * 1e9)
        time.time_ns = lambda: right_ns() + wrong_ns


def _answer(sandbox: InProcessSandbox, request: dict[str, Any]) -> dict[str, Any]:
    event_json, remaining_s = request.pop("event_json"), request.pop("remaining_s")
    deadline = time.monotonic() + remaining_s
    context = LambdaContext(**(request | {"deadline_monotonic_s": deadline}))
    match sandbox.run(event_json, context):
        case Returned(payload):
            return {"payload": payload}
        case Failed() as failed:
            return {"failed": asdict(failed)}
        case other:
            raise ValueError(f"a handler cannot end as {other!r}")


def main(arguments: list[str]) -> None:
    """Serve one function: file descriptor, name, directory, handler, seconds its clock is wrong."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    descriptor, name, directory, handler, wrong_s = arguments
    set_clock_wrong(float(wrong_s))
    serve(socket.socket(fileno=int(descriptor)), name, CodeLocation(Path(directory), handler))


if __name__ == "__main__":
    main(sys.argv[1:])
