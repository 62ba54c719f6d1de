"""A function in a process of its own, killed in the middle of an invocation."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from integration.local.probe import Probe, has, running_stack, until


@pytest.fixture(scope="module")
def stack() -> Iterator[Probe]:
    """The fixture stack whose worker runs in child processes."""
    with running_stack(process_functions=frozenset({"worker"})) as probe:
        yield probe


def pids(stack: Probe, group: str) -> list[str]:
    """Process ids that handled a group's messages."""
    return [item["pid"]["N"] for item in stack.items(f"seen#{group}")]


def test_a_killed_invocation_is_delivered_again_to_a_new_process(stack: Probe) -> None:
    stack.send("killed", 1, seconds=60)
    until(lambda: stack.seen("killed"), lambda seen: seen == ["begin 1"])

    died = stack.runtime.kill("worker")
    stack.runtime.skip_time(3)
    seen = until(lambda: stack.seen("killed"), has(2))
    stack.runtime.kill("worker")

    first, second = pids(stack, "killed")
    assert died == 1
    assert seen == ["begin 1", "begin 1"]
    assert len({first, second, str(os.getpid())}) == 3


def test_an_idle_process_is_used_again(stack: Probe) -> None:
    for number in range(3):
        stack.send("calm", number)
        until(lambda: stack.seen("calm"), has(2 * number + 2))

    assert stack.seen("calm")[-1] == "end 2"
    assert len(set(pids(stack, "calm"))) == 1
