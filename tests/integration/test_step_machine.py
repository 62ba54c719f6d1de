"""The `step` state machine, executed from its own file in the local cloud."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from everturn.protocol.events import to_rfc3339
from everturn.protocol.json_text import compact
from everturn.protocol.limits import MAX_STEP_REQUEST_BYTES, STEP_FUNCTIONS_PAYLOAD_BYTES
from everturn_local.faults import Delivery, deliver, never
from everturn_local.runtime import LocalRuntime

ROOT = Path(__file__).parents[2]
DEADLINE_S = 20.0
VERSION = 7
"""Of the wake-ups that a run of the scripted function sends."""

FUNCTION = "everturn-worker-scripted"


class Scripted:
    """The function that the machine invokes, and what it was sent."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.act: Callable[[Any], Any] = lambda _event: {}
        self.over = Event()

    def __call__(self, event: Any, _context: Any) -> Any:
        self.events.append(event)
        return self.act(event)


SCRIPTED = Scripted()


@pytest.fixture(scope="module")
def runtime() -> Iterator[LocalRuntime]:
    functions = {FUNCTION: SCRIPTED}
    with LocalRuntime(ROOT / "template.yaml", worker_functions=functions) as running:
        yield running
        SCRIPTED.over.set()


@pytest.fixture
def sent(runtime: LocalRuntime) -> Iterator[list[dict[str, Any]]]:
    """The wake-ups that reach the queue; no driver gets them."""
    found: list[dict[str, Any]] = []

    def keep(record: Mapping[str, Any]) -> Delivery:
        found.append(json.loads(record["body"]))
        return Delivery.DROP

    runtime.faults.queue = keep
    SCRIPTED.events.clear()
    yield found
    runtime.faults.queue, runtime.faults.throttles = deliver, never


def start(runtime: LocalRuntime, name: str, given: dict[str, Any]) -> str:
    machine = runtime.physical["StepMachine"]
    answer = runtime.clients.stepfunctions.start_execution(
        stateMachineArn=machine, name=name, input=compact(given)
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
        "group": f"g-{session}",
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


# ---- functions


def invoke_input(name: str, request: Any, *, within_s: float = 60) -> dict[str, Any]:
    """Return the input that runs the scripted function."""
    message = {"step": "tool", "tenant": "t", "session": name, "version": VERSION, "subject": "d1"}
    return {
        "kind": "invoke",
        "until": to_rfc3339(time.time_ns() // 1_000_000 + round(within_s * 1000)),
        "function": f"arn:aws:lambda:us-east-1:123456789012:function:{FUNCTION}:prod",
        "request": request,
        "message": message,
        "settles": {"decision_id": "d1", "attempt": 2},
        "group": f"g-{name}",
        "dedup": f"d-{name}",
    }


def ran(
    runtime: LocalRuntime, name: str, act: Callable[[Any], Any], request: Any = None
) -> dict[str, Any]:
    """Run the function to the end of its execution."""
    SCRIPTED.act = act
    return ended(runtime, start(runtime, name, invoke_input(name, request or {"attempts": 2})))


def settled(name: str, **outcome: Any) -> dict[str, Any]:
    """Return the wake-up that brings an outcome."""
    return {
        "step": "tool",
        "tenant": "t",
        "session": name,
        "version": VERSION,
        "subject": "d1",
        "settles": {"decision_id": "d1", "attempt": 2, **outcome},
    }


def arrived(sent: list[dict[str, Any]]) -> dict[str, Any]:
    """Wait for what a run sends; return it."""

    def found() -> list[dict[str, Any]]:
        return [one for one in sent if one["version"] == VERSION]

    until(lambda: {}, lambda _: bool(found()))
    (wake,) = found()
    return wake


ODD = {
    "actions": [{"type": "tool.result", "result": {"n": 1234567890123456, "x": 0.1, "none": None}}],
    "text": '"quoted" {% $states %} \\ 😀 \u2028',
    "one": [1],
    "empty": [],
}


def test_what_a_function_returns_reaches_the_queue_as_it_was(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    found = ran(runtime, "odd", lambda _event: ODD, {"trigger": ODD, "state": None})

    assert found["status"] == "SUCCEEDED"
    assert SCRIPTED.events == [{"trigger": ODD, "state": None}]
    assert arrived(sent) == settled("odd", answer=ODD)


def test_a_function_that_returns_nothing_answers_null(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    ran(runtime, "null", lambda _event: None)

    assert arrived(sent) == settled("null", answer=None)


def test_a_function_that_fails_is_told_by_the_name_of_its_error_alone(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    def fail(_event: Any) -> None:
        raise LookupError("the secret of the customer")

    found = ran(runtime, "fails", fail)

    assert found["status"] == "SUCCEEDED"
    assert arrived(sent) == settled("fails", error="LookupError")
    assert len(SCRIPTED.events) == 1


def test_a_throttled_function_is_tried_again_and_runs_once(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    asked: list[str] = []

    def throttles(name: str) -> bool:
        asked.append(name)
        return len(asked) <= 2

    runtime.faults.throttles = throttles
    SCRIPTED.act = lambda _event: {}

    arn = start(runtime, "busy", invoke_input("busy", {}))
    for refusals in (1, 2):  # waits of one second, then of two
        until(lambda: {"asked": len(asked)}, _at_least(refusals))
        runtime.skip_time(4)
    ended(runtime, arn)

    assert arrived(sent) == settled("busy", answer={})
    assert len(asked) == 3
    assert len(SCRIPTED.events) == 1


def _at_least(count: int) -> Callable[[dict[str, Any]], bool]:
    return lambda found: bool(found["asked"] >= count)


def test_a_function_that_stays_throttled_is_given_back_by_that_name(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    runtime.faults.throttles = lambda _name: True

    arn = start(runtime, "jammed", invoke_input("jammed", {}))
    until(
        lambda: runtime.clients.stepfunctions.describe_execution(executionArn=arn),
        lambda found: _skipped(runtime, 4) and found["status"] != "RUNNING",
    )

    assert arrived(sent) == settled("jammed", error="Lambda.TooManyRequestsException")
    assert SCRIPTED.events == []


def _skipped(runtime: LocalRuntime, seconds: float) -> bool:
    runtime.skip_time(seconds)
    return True


def test_a_function_beyond_its_time_is_a_deadline_that_proves_itself(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    SCRIPTED.act = lambda _event: SCRIPTED.over.wait(30)
    given = invoke_input("late", {}, within_s=3_600)

    arn = start(runtime, "late", given)
    until(lambda: {}, lambda _: bool(SCRIPTED.events))
    before = runtime.clients.stepfunctions.describe_execution(executionArn=arn)
    runtime.skip_time(3_601)
    ended(runtime, arn)
    SCRIPTED.over.set()

    wake = {name: value for name, value in settled("late").items() if name != "settles"}
    assert before["status"] == "RUNNING"
    assert arrived(sent) == wake | {"step": "timer", "due": given["until"]}


LARGE = "é" * (STEP_FUNCTIONS_PAYLOAD_BYTES // 2)


@pytest.mark.parametrize(
    ("name", "answer", "outcome"),
    [
        ("fits", LARGE[:-1_000], "answer"),
        ("over by its result", LARGE + "x", "error"),
        ("over with the names beside it", LARGE[:-150], "error"),
    ],
)
def test_an_answer_over_256_kb_settles_as_an_error(
    runtime: LocalRuntime, sent: list[dict[str, Any]], name: str, answer: str, outcome: str
) -> None:
    session = name.replace(" ", "-")

    found = ran(runtime, session, lambda _event: answer)

    value = answer if outcome == "answer" else "States.DataLimitExceeded"
    assert found["status"] == "SUCCEEDED"
    assert arrived(sent) == settled(session, **{outcome: value})


def test_the_largest_request_that_a_driver_hands_over_is_taken(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    request = {"messages": "😀" * ((MAX_STEP_REQUEST_BYTES - 16) // 4)}

    found = ran(runtime, "largest", lambda event: {"bytes": len(event["messages"])}, request)

    assert found["status"] == "SUCCEEDED"
    assert arrived(sent)["settles"]["answer"] == {"bytes": len(request["messages"])}


def test_a_function_that_is_not_there_is_told_by_the_name_of_the_error(
    runtime: LocalRuntime, sent: list[dict[str, Any]]
) -> None:
    given = invoke_input("nobody", {})
    given["function"] = given["function"].replace(FUNCTION, "everturn-worker-nobody")

    ended(runtime, start(runtime, "nobody", given))

    assert arrived(sent) == settled("nobody", error="Lambda.ResourceNotFoundException")
