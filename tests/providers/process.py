"""A server of somebody else's as a process on loopback, for as long as a test run lasts.

It must not know what the server speaks.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Final

import httpx

from e2e.waiting import until

TRIES: Final = 3
"""Somebody may take the free port first."""

WATCHED: Final = """
exec 3<&0
"$@" 3<&- & server=$!
{ read -r _ <&3; kill -KILL $server; } &
wait $server
"""
"""Kills the server once its standard input ends, which it does however the test run ends."""


class NotStarted(AssertionError):
    """A server ended before it answered."""


@contextmanager
def serving(command: Callable[[int], Sequence[str]], ready: str) -> Iterator[str]:
    """Run what `command` says for a port until `ready`, a path, answers 200; gives the URL.

    Raises `NotStarted` with what the server printed.
    """
    for _ in range(TRIES):
        port = _free_port()
        url = f"http://127.0.0.1:{port}"
        with TemporaryFile() as log, _started(command(port), log) as process:
            until(lambda: process.poll() is not None or _answers(url + ready))  # noqa: B023
            if process.poll() is None:
                yield url
                return
            log.seek(0)
            told = log.read().decode(errors="replace")
    raise NotStarted(told)


@contextmanager
def _started(command: Sequence[str], log: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", WATCHED, "sh", *command],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,  # Ctrl-C is for the test run, which then lets go of it
    ) as process:
        yield process


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1, trust_env=False).is_success
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])
