"""The `step` state machine, executed from its own file in the local cloud."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everturn.protocol.events import to_rfc3339
from everturn_local.runtime import LocalRuntime

ROOT = Path(__file__).parents[2]
DEADLINE_S = 20.0


@pytest.fixture(scope="module")
def runtime() -> Iterator[LocalRuntime]:
    with LocalRuntime(ROOT / "template.yaml") as running:
        yield running


def start(runtime: LocalRuntime, name: str, given: dict[str, Any]) -> str:
    machine = runtime.physical["StepMachine"]
    answer = runtime.clients.stepfunctions.start_execution(
        stateMachineArn=machine, name=name, input=json.dumps(given)
    )
    return str(answer["executionArn"])


def ended(runtime: LocalRuntime, arn: str) -> dict[str, Any]:
    return until(
        lambda: runtime.clients.stepfunctions.describe_execution(executionArn=arn),
        lambda found: found["status"] != "RUNNING",
    )


def until(look: Callable[[], Any], is_right: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        found: dict[str, Any] = dict(look())
        if is_right(found):
            return found
        time.sleep(0.02)
    raise AssertionError("nothing came in time")


def wait_input(due_ms: int, session: str) -> dict[str, Any]:
    due = to_rfc3339(due_ms)
    wake = {"step": "timer", "tenant": "t", "session": session, "version": 1, "due": due}
    return {
        "kind": "wait",
        "until": due,
        "message": wake,
        "group": "a" * 52,
        "dedup": f"d-{session}",
    }


def test_a_wait_whose_time_is_past_sends_its_wake_up_at_once(runtime: LocalRuntime) -> None:
    now_ms = time.time_ns() // 1_000_000

    found = ended(runtime, start(runtime, "past", wait_input(now_ms - 5_000, "past")))

    assert found["status"] == "SUCCEEDED"
    assert "MessageId" in json.loads(found["output"])


def test_a_wait_sends_nothing_before_its_time(runtime: LocalRuntime) -> None:
    now_ms = time.time_ns() // 1_000_000

    arn = start(runtime, "hour", wait_input(now_ms + 3_600_000, "hour"))
    before = runtime.clients.stepfunctions.describe_execution(executionArn=arn)
    runtime.skip_time(3_601)
    found = ended(runtime, arn)

    assert before["status"] == "RUNNING"
    assert found["status"] == "SUCCEEDED"


def test_the_same_timer_asked_for_twice_is_one_execution(runtime: LocalRuntime) -> None:
    given = wait_input(time.time_ns() // 1_000_000 + 3_600_000, "twice")

    first = start(runtime, "twice", given)
    second = start(runtime, "twice", given)

    assert first == second


def test_an_unknown_kind_fails_by_name(runtime: LocalRuntime) -> None:
    found = ended(runtime, start(runtime, "unknown", {"kind": "paint"}))

    assert (found["status"], found["error"]) == ("FAILED", "UnknownKind")
