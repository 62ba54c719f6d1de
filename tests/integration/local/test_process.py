"""A function in a process of its own, killed in the middle, and runtimes one after another."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from everturn_local.runtime import LocalRuntime

from integration.local.probe import IMPORTS, TEMPLATE, Probe, running_stack, until


@pytest.fixture(scope="module")
def stack() -> Iterator[Probe]:
    """The fixture stack whose worker runs in child processes."""
    with running_stack(process_functions=frozenset({"worker"})) as probe:
        yield probe


def pids(stack: Probe, group: str) -> list[str]:
    """Process ids that handled a group's messages."""
    return [item["pid"]["N"] for item in stack.items(f"seen#{group}")]


def test_a_killed_invocation_is_delivered_again_to_a_new_process(stack: Probe) -> None:
    stack.send("killed", 1, seconds=60 * (1 if not stack.seen("killed") else 0))
    until(lambda: stack.seen("killed"), lambda seen: seen == ["begin 1"])

    died = stack.runtime.kill("worker")
    stack.runtime.skip_time(3)
    seen = until(lambda: stack.seen("killed"), lambda found: len(found) == 2)
    stack.runtime.kill("worker")

    first, second = pids(stack, "killed")
    assert died == 1
    assert seen == ["begin 1", "begin 1"]
    assert len({first, second, str(os.getpid())}) == 3


def test_an_idle_process_is_used_again(stack: Probe) -> None:
    for number in range(3):
        stack.send("calm", number)
        until(lambda: stack.seen("calm"), lambda seen, n=number: len(seen) == 2 * n + 2)

    assert stack.seen("calm")[-1] == "end 2"
    assert len(set(pids(stack, "calm"))) == 1


def test_a_runtime_starts_and_stops_in_time_even_with_running_invocations() -> None:
    started = time.monotonic()
    runtime = LocalRuntime(TEMPLATE, imports=IMPORTS)
    runtime.start()
    start_s = time.monotonic() - started
    probe = Probe(runtime)
    probe.send("busy", 1, seconds=4)
    until(lambda: probe.seen("busy"), lambda seen: seen == ["begin 1"])

    stopping = time.monotonic()
    runtime.stop()
    stop_s = time.monotonic() - stopping

    assert start_s < 3
    assert stop_s < 3


def test_runtimes_one_after_another_share_nothing() -> None:
    names, variables = [], []
    for _ in range(2):
        with running_stack() as probe:
            probe.send("again", 1)
            seen = until(lambda: probe.seen("again"), lambda found: len(found) == 2)
            names.append(probe.runtime.physical["Table"])
            variables.append(os.environ["STACK_TABLE"])

    assert seen == ["begin 1", "end 1"]
    assert names == variables
    assert names[0] != names[1]
    assert "STACK_TABLE" not in os.environ


def test_a_stopped_runtime_leaves_no_thread_and_no_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://elsewhere.example")
    before = set(threading.enumerate())

    with running_stack() as probe:
        inside = (os.environ["AWS_ACCESS_KEY_ID"], os.environ.get("AWS_ENDPOINT_URL"))
        probe.send("gone", 1)
        until(lambda: probe.seen("gone"), lambda seen: len(seen) == 2)
    left = until(
        lambda: {thread.name for thread in set(threading.enumerate()) - before},
        lambda names: not names,
    )

    assert inside == ("local", None)
    assert os.environ["AWS_ACCESS_KEY_ID"] == "mine"
    assert left == set()


IDLE = """
import sys, time
from pathlib import Path
from everturn_local.runtime import LocalRuntime
with LocalRuntime(Path(sys.argv[1]), imports={"shared-thing": "x"}):
    time.sleep(0.5)
    before = time.process_time()
    time.sleep(3)
    print((time.process_time() - before) / 3)
"""


def test_an_idle_runtime_uses_little_of_a_core() -> None:
    measured = subprocess.run(
        [sys.executable, "-c", IDLE, str(TEMPLATE)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert float(measured.stdout) < 0.03
