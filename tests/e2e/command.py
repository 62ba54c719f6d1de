"""The `everturn` command, each run in a process of its own: warm ones have imported it already."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from e2e.stage import ROOT

EVERTURN = [sys.executable, "-c", "from everturn_local.cli import app; app()"]
PATIENCE_S = 60


def environment() -> dict[str, str]:
    """Return what a person has exported, in a wide terminal."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "COLUMNS": "200", "PYTHONPATH": paths}


def everturn(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        run = COMMANDS.start(arguments, stdout, stderr)
        try:
            status = run.wait(PATIENCE_S)
        finally:
            run.kill()
        for stream in (stdout, stderr):
            stream.seek(0)
        return subprocess.CompletedProcess(arguments, status, stdout.read(), stderr.read())


def cold_everturn(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, in a process that has to import all of it."""
    return subprocess.run(  # noqa: S603  our own command
        [*EVERTURN, *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@dataclass(slots=True)
class Run:
    """One run of the command."""

    pid: int
    _ended: int
    """Tells its exit code, negative for a signal."""

    returncode: int | None = None

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it is over."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once, if it is not over."""
        self.send_signal(signal.SIGKILL)
        self.wait(PATIENCE_S)

    def wait(self, timeout_s: float) -> int:
        """Return its exit code. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            ready, _, _ = select.select([self._ended], [], [], timeout_s)
            if not ready:
                raise subprocess.TimeoutExpired("everturn", timeout_s)
            self.returncode = int(os.read(self._ended, 16))
            os.close(self._ended)
        return self.returncode


@dataclass(slots=True)
class Commands:
    """Starts runs in a process that imported the command when the first one was asked for."""

    _server: subprocess.Popen[bytes] | None = None
    _link: socket.socket = field(init=False)

    def start(self, arguments: tuple[str, ...], stdout: IO[str], stderr: IO[str]) -> Run:
        """Start the command."""
        if self._server is None:
            self._start_server()
        request = {
            "arguments": arguments,
            "directory": str(ROOT),
            "environment": environment(),
        }
        ended, tells = os.pipe()
        handles = [stdout.fileno(), stderr.fileno(), tells]
        socket.send_fds(self._link, [json.dumps(request).encode()], handles)
        os.close(tells)
        return Run(int(self._link.recv(16)), ended)

    def stop(self) -> None:
        """End the process behind it; the next run starts another one."""
        if self._server is not None:
            self._link.close()
            self._server.wait()
            self._server = None

    def _start_server(self) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(  # noqa: S603  our own module
                [sys.executable, "-m", "e2e.forking", str(theirs.fileno())],
                cwd=ROOT,
                env=environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )


COMMANDS = Commands()
"""Of this process; they end with its last test here."""


@dataclass(slots=True)
class Dev:
    """A running `everturn dev`."""

    run: Run
    stdout: IO[str]
    stderr: IO[str]

    def output(self) -> tuple[str, str]:
        """Return what came after its first line, and its errors, once it is over."""
        self.stderr.seek(0)
        return self.stdout.read(), self.stderr.read()


@contextmanager
def everturn_dev(*options: str) -> Iterator[tuple[Dev, dict[str, Any]]]:
    """Run `everturn dev --json`; gives the process and what its first line says."""
    reads, writes = os.pipe()
    with open(reads) as stdout, tempfile.TemporaryFile("w+") as stderr:
        with open(writes, "w") as theirs:
            run = COMMANDS.start(("dev", "--json", *options), theirs, stderr)
        try:
            yield Dev(run, stdout, stderr), json.loads(stdout.readline())
        finally:
            run.kill()
