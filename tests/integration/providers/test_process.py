"""Servers of others start once they answer, and stop with whoever started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from e2e.waiting import until
from providers.process import NotStarted, serving

TESTS = Path(__file__).parents[2]
KILLED = """
import os, signal
from pathlib import Path
from providers.process import serving

folder = Path({folder!r})
server = ["{python}", "-m", "http.server", "-b", "127.0.0.1", "-d", str(folder)]
with serving(lambda port: [*server, str(port)], "/") as url:
    print(url, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def files(folder: Path, port: int) -> Sequence[str]:
    """Return what serves the files of a folder."""
    return [sys.executable, "-m", "http.server", "-b", "127.0.0.1", "-d", str(folder), str(port)]


def answers(url: str) -> bool:
    """Return whether somebody listens."""
    try:
        httpx.get(url, timeout=5, trust_env=False)
    except httpx.ConnectError:
        return False
    return True


def test_a_server_answers_while_it_is_needed(tmp_path: Path) -> None:
    with serving(lambda port: files(tmp_path, port), "/") as url:
        during = answers(url)

    assert (during, answers(url)) == (True, False)


def test_a_server_that_does_not_start_says_why() -> None:
    command = [sys.executable, "-c", "raise SystemExit('no more ports')"]

    with pytest.raises(NotStarted, match="no more ports"), serving(lambda _: command, "/"):
        pass


def test_a_server_does_not_outlive_a_run_that_is_killed(tmp_path: Path) -> None:
    script = KILLED.format(folder=str(tmp_path), python=sys.executable)
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )

    until(lambda: not answers(run.stdout.strip()))

    assert run.returncode == -signal.SIGKILL
