"""The README's commands, as a reader runs them: in a copy of the project, on free ports."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from e2e.stage import ROOT
from marked_blocks import Block, blocks_of

MARKED = [block for block in blocks_of(ROOT / "README.md") if block.kind]

LEFT_OUT = (".git", ".venv", ".aws-sam", ".hypothesis", "*_cache", "__pycache__", "*.egg-info")

PYTHONPATH = ("layers/engine/python", "local")

STAYS = re.compile(r"^(?:export .+|\w+\(\) \{.+\})$", re.MULTILINE)
"""What a line leaves behind for the blocks after it, as one terminal would."""

THIS_RUN = re.compile(r"^make (?:check|test)$", re.MULTILINE)
"""What runs this very test: it is planned, and not run once more inside itself."""

STARTS_WITHIN_S = 60
STOPS_WITHIN_S = 30

SAYS = {
    "demo": "42.1648128",
    "command line": "echo: hello",
    "input": '{"session_id":"second","turn_id":"t1"}',
    "stream": "event: turn.started",
    "websocket": '"type":"subscribed"',
    "worker": "that is 6",
}
"""What a reader is to see, by where it comes from."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project, with the environment that these tests run in."""
    copy = tmp_path / "everturn"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    venv = copy / ".venv"
    venv.mkdir()
    (venv / "bin").symlink_to(Path(sys.executable).parent)
    for stamp, source in (("local", "requirements/local.txt"), ("project", "pyproject.toml")):
        (venv / f".{stamp}-{digest(copy / source)}").touch()
    return copy


def digest(path: Path) -> str:
    """Return a file's digest as the Makefile has it in the names of its stamps."""
    return sha256(path.read_bytes()).hexdigest()[:16]


def environment(checkout: Path) -> dict[str, str]:
    """Return what commands in the copy are told: its own code, and nothing of these tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        kept.pop(name, None)
    paths = os.pathsep.join(str(checkout / path) for path in PYTHONPATH)
    return {**kept, "PYTHONPATH": paths, "COLUMNS": "200"}


def free_ports(blocks: list[Block]) -> dict[str, str]:
    """Return a port that nobody listens on for each that the blocks name."""
    named = [block.about for block in blocks if block.kind == "serves"]
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in named]
    found = {port: str(one.getsockname()[1]) for port, one in zip(named, sockets, strict=True)}
    for one in sockets:
        one.close()
    return found


def with_ports(text: str, ports: dict[str, str]) -> str:
    """Return a text with the free ports in place of those that it names."""
    for named, free in ports.items():
        text = re.sub(rf"\b{named}\b", free, text)
    return text


@contextmanager
def serving(checkout: Path, command: str, port: str) -> Iterator[None]:
    """Run a command that listens on `port` while the body runs; it has to stop when told."""
    log = checkout / f"served-{port}.log"
    with log.open("w") as output:
        process = subprocess.Popen(  # noqa: S603  # the README's own command
            ["/bin/bash", "-euo", "pipefail", "-c", command],
            cwd=checkout,
            env=environment(checkout),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_for(port, process, log)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise AssertionError(f"{command} did not stop\n{log.read_text()}") from None


def _wait_for(port: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server has said where it is: as a reader does, who then goes on."""
    end = time.monotonic() + STARTS_WITHIN_S
    while port not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)  # polls


def play(
    checkout: Path, blocks: list[Block], ports: dict[str, str], left: tuple[str, ...] = ()
) -> Iterator[str]:
    """Play the blocks in their order; yield what each command that ends has said."""
    for position, block in enumerate(blocks):
        text = with_ports(block.body, ports)
        match block.kind:
            case "file":
                (checkout / block.about).write_text(text)
            case "serves":
                with serving(checkout, text, ports[block.about]):
                    yield from play(checkout, blocks[position + 1 :], ports, left)
                return
            case _:
                yield _said(checkout, "\n".join([*left, text]))
                left = (*left, *STAYS.findall(text))


def _said(checkout: Path, command: str) -> str:
    command = THIS_RUN.sub(lambda found: found[0].replace("make", "make --dry-run"), command)
    run = subprocess.run(  # noqa: S603  # the README's own command
        ["/bin/bash", "-euo", "pipefail", "-c", command],
        cwd=checkout,
        env=environment(checkout),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
    return run.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_command_of_the_readme_does_what_it_is_there_for(checkout: Path) -> None:
    ports = free_ports(MARKED)

    said = "\n".join(play(checkout, MARKED, ports))

    assert [about for about, text in SAYS.items() if text not in said] == []
