"""Agents whose worker is a Lambda function: quick tools directly, slow ones by the step machine."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

import pytest

from e2e.client import Client, Ended, Turn
from e2e.scripted_function import NAME, Act, ScriptedFunction, gives, hangs, raises
from e2e.scripted_worker import tool
from e2e.socket_client import Follower
from e2e.stage import Setup
from e2e.waiting import until
from everturn_local.faults import Delivery, deliver
from everturn_local.runtime import LocalRuntime

WRITE = "non_idempotent_write"
SLOW_S = 60
UNKNOWN = (
    "ERROR: The outcome of this call is unknown: it was started, and its end was not seen. "
    "It may have taken effect. Find out before doing it again; it was not repeated."
)
TOO_LARGE = "ERROR: the answer is larger than it may be"
SECRET = LookupError("the secret of the customer")
QUICK_AND_SLOW = pytest.mark.parametrize("timeout_s", [10, SLOW_S], ids=["quick", "slow"])


@pytest.fixture(scope="module")
def setup() -> Setup:
    """A runtime of its own, in which no time was skipped: deadlines of a minute lie ahead.

    What a driver did not finish comes again soon.
    """
    return Setup((*Setup().environment, ("EVERTURN_LEASE_SECONDS", "4")))


def far_s(runtime: LocalRuntime) -> float:
    """Return a timeout that ends a minute from now, also where earlier tests skipped time."""
    return math.ceil(runtime.clock.now() - time.time()) + SLOW_S


def put(client: Client, runtime: LocalRuntime, *tools: dict[str, Any]) -> None:
    """Write an agent `user` whose worker is the scripted function."""
    response = client.put_agent("user", worker=runtime.function_arn(NAME), tools=list(tools))
    assert response.is_success, response.text


def run_tool(
    client: Client,
    runtime: LocalRuntime,
    function: ScriptedFunction,
    *acts: Act,
    effect: str = "read",
    timeout_s: float = 10,
) -> Ended:
    """Run a turn that calls one tool, and one more turn to show that one can."""
    put(client, runtime, tool("go", effect, timeout_secs=timeout_s))
    function.plays("go", *acts)
    ended = client.run("[[call:go]][[say:{{result}}]]", agent_id="user")

    assert ended.completed["outcome"] == "done"
    assert "secret of the customer" not in json.dumps(client.events(ended.session_id))
    assert client.run("still there?", ended.session_id, agent_id="user").answer
    return ended


def started(runtime: LocalRuntime, turn: Turn) -> list[dict[str, Any]]:
    """Return the inputs of the executions that ran a function for a session."""
    states, machine = runtime.clients.stepfunctions, runtime.physical["StepMachine"]
    pages = states.get_paginator("list_executions").paginate(stateMachineArn=machine)
    found = [one for page in pages for one in page["executions"]]
    inputs = [
        json.loads(states.describe_execution(executionArn=one["executionArn"])["input"])
        for one in found
        if one["name"].startswith("invoke-")
    ]
    return [one for one in inputs if one["message"]["session"] == turn.session_id]


def is_outcome(record: Mapping[str, Any]) -> bool:
    """Return whether a queue message brings what a function came to."""
    return "settles" in json.loads(record["body"])


# ---- as it should be


@QUICK_AND_SLOW
def test_a_tool_runs_as_a_function_and_its_turn_is_streamed(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction, timeout_s: float
) -> None:
    put(client, runtime, tool("go", WRITE, timeout_secs=timeout_s))
    function.plays("go", gives({"found": ["gold", 12345678901234567]}, state={"n": 1}))
    follower = Follower()
    with client.connect() as socket:
        turn = client.start('[[call:go {"grüße": "😀"}]][[say:{{result}}]]', agent_id="user")
        socket.subscribe(turn.session_id)
        follower.until_end(socket)
    ended = client.end_of(turn)

    [request] = function.requests
    assert request["trigger"]["input"]["value"] == {"grüße": "😀"}
    assert ended.answer == '{"found":["gold",12345678901234567]}'
    types = [event["payload"]["type"] for event in client.events(turn.session_id)]
    assert follower.types() == types[: len(follower.events)]
    assert len(started(runtime, turn)) == (timeout_s == SLOW_S)
    assert len(ended.all("decision.dispatched")) == 1
    client.run("[[call:go]]", turn.session_id, agent_id="user")
    assert function.requests[1]["state"] == {"n": 1}


def test_quick_and_slow_siblings_do_not_wait_for_each_other(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction
) -> None:
    tools = [
        tool("quick", timeout_secs=10),
        tool("slow", timeout_secs=SLOW_S),
        tool("slower", timeout_secs=SLOW_S),
    ]
    put(client, runtime, *tools)
    for each in tools:
        function.plays(each["name"], gives(each["name"]))

    text = "[[call:slow]][[call:quick]][[call:slower]][[say:{{results}}]]"
    ended = client.run(text, agent_id="user")

    assert ended.answer == "slow | quick | slower"
    assert len(started(runtime, ended.turn)) == 2


def test_a_function_of_another_name_is_refused_with_the_agent(
    client: Client, runtime: LocalRuntime
) -> None:
    arn = runtime.function_arn("payroll")

    response = client.put_agent("user", worker=arn)

    assert response.status_code == 400
    assert response.json()["code"] == "schema_violation"
    assert response.json()["message"].startswith(
        f"/worker: only functions whose ARN begins with {runtime.function_arn('everturn-worker-')}"
    )


def test_a_function_that_is_not_there_is_refused_when_it_is_called(
    client: Client, runtime: LocalRuntime
) -> None:
    arn = runtime.function_arn("everturn-worker-gone")
    tools = [tool("quick", WRITE, timeout_secs=10), tool("slow", WRITE, timeout_secs=SLOW_S)]
    client.put_agent("user", worker=arn, tools=tools)

    ended = client.run("[[call:quick]][[call:slow]][[say:{{results}}]]", agent_id="user")

    told = "ERROR: Not started: the worker's function is refused: it does not exist"
    assert ended.answer == f"{told} | {told}"


# ---- trouble


@QUICK_AND_SLOW
def test_a_write_that_was_throttled_is_made_once_it_can_be(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction, timeout_s: float
) -> None:
    refusals = iter([True])
    runtime.faults.throttles = lambda name: name == NAME and next(refusals, False)

    ended = run_tool(client, runtime, function, gives("ok"), effect=WRITE, timeout_s=timeout_s)

    assert ended.answer == "ok"
    assert len(function.requests) == 1
    assert len(ended.all("tool.call.dispatched")) == 1


@QUICK_AND_SLOW
def test_a_function_that_fails_runs_again_only_where_it_may(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction, timeout_s: float
) -> None:
    put(
        client,
        runtime,
        tool("read", overlap=True, timeout_secs=timeout_s),
        tool("write", WRITE, overlap=True, timeout_secs=timeout_s),
    )
    for name in ("read", "write"):
        function.plays(name, raises(SECRET), gives("second time"))

    ended = client.run("[[call:read]][[call:write]][[say:{{results}}]]", agent_id="user")

    assert ended.answer == f"second time | {UNKNOWN}"
    assert [one["attempts"] for one in function.sent("read")] == [1, 2]
    assert len(function.sent("write")) == 1
    errors = {one["error"] for one in ended.all("decision.errored")}
    assert errors == {"the function failed: LookupError"}


@QUICK_AND_SLOW
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"actions": [{"type": "fly"}]}, None),
        ({"actions": [{"type": "tool.result", "result": "x" * 300_000}]}, TOO_LARGE),
    ],
    ids=["no decision", "large"],
)
def test_an_answer_that_cannot_be_taken_is_told_without_quoting_it(
    client: Client,
    runtime: LocalRuntime,
    function: ScriptedFunction,
    timeout_s: float,
    answer: Any,
    text: str | None,
) -> None:
    ended = run_tool(client, runtime, function, lambda _request: answer, timeout_s=timeout_s)

    if text is None:
        assert ended.answer.startswith("ERROR: /actions/0: unknown type; known: ")
        assert len(function.requests) == 2
    elif timeout_s == SLOW_S:
        assert ended.answer == text
        assert ended.only("tool.call.errored")["detail"] == {"reason": "too_large"}
        assert len(function.requests) == 1
    else:
        assert len(ended.answer) == 300_000  # over what the machine takes, below Lambda's 6 MB


def test_a_quick_write_beyond_its_time_has_an_unknown_outcome(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction
) -> None:
    ended = run_tool(client, runtime, function, hangs(function), effect=WRITE, timeout_s=0.6)

    assert ended.answer == UNKNOWN
    assert len(function.requests) == 1


# ---- once, whatever comes twice


@pytest.mark.parametrize("fate", [Delivery.DUPLICATE, Delivery.LOSE_ANSWER])
@pytest.mark.parametrize("effect", ["read", WRITE])
def test_messages_that_come_twice_run_a_slow_tool_once(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction, fate: Delivery, effect: str
) -> None:
    """The first is a driver that dispatched, started, and died before its message was done."""
    seen: set[str] = set()

    def twice(record: Mapping[str, Any]) -> Delivery:
        if record["messageId"] in seen:
            return Delivery.DELIVER
        seen.add(record["messageId"])
        return fate

    runtime.faults.queue = twice
    put(client, runtime, tool("go", effect, timeout_secs=SLOW_S))
    function.plays("go", gives("once"), gives("twice"))
    ended = client.run("[[call:go]][[say:{{result}}]]", agent_id="user", within_s=30)
    runtime.faults.queue = deliver

    assert ended.answer == "once"
    assert len(function.requests) == 1
    assert len(started(runtime, ended.turn)) == 1
    assert [one["attempt"] for one in ended.all("tool.call.dispatched")] == [1]
    assert len(ended.all("tool.call.completed")) == 1


# ---- sizes


@pytest.mark.parametrize(
    ("timeout_s", "text"),
    [
        (300, "fine"),
        (301, "ERROR: Not started: the request has "),
    ],
)
def test_a_request_that_the_machine_does_not_take_is_the_drivers_if_it_may_be(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction, timeout_s: int, text: str
) -> None:
    put(client, runtime, tool("go", WRITE, timeout_secs=timeout_s))

    large = "x" * 130_000  # stands twice in the request: in the path and in the tree
    ended = client.run(f"{large}[[call:go]][[say:{{{{result}}}}]]", agent_id="user")

    assert ended.answer.startswith(text)
    assert started(runtime, ended.turn) == []
    assert len(function.requests) == (timeout_s == 300)


# ---- time, which these tests skip


def test_a_tool_that_returns_nothing_leaves_its_call_open(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction
) -> None:
    put(client, runtime, tool("go", WRITE, timeout_secs=far_s(runtime)))
    function.plays("go", lambda _request: None)

    turn = client.start("[[call:go]][[say:{{result}}]]", agent_id="user")
    until(lambda: is_answered(client.events(turn.session_id)))
    runtime.skip_time(SLOW_S + 1)

    assert client.end_of(turn).answer == UNKNOWN


def is_answered(events: list[dict[str, Any]]) -> bool:
    """Return whether a worker's answer to `tool.execute` was applied."""
    payloads = [event["payload"] for event in events]
    asked = {one["id"] for one in payloads if one.get("trigger_type") == "tool.execute"}
    return any(one["type"] == "decision.completed" and one["id"] in asked for one in payloads)


def test_a_slow_write_beyond_its_time_has_an_unknown_outcome_and_its_late_answer_is_refused(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction
) -> None:
    put(client, runtime, tool("go", WRITE, timeout_secs=far_s(runtime)))
    function.plays("go", hangs(function))
    turn = client.start("[[call:go]][[say:{{result}}]]", agent_id="user")
    until(lambda: function.requests)

    runtime.skip_time(SLOW_S + 1)
    ended = client.end_of(turn)
    before = client.session(turn.session_id)
    function.over.set()

    assert ended.answer == UNKNOWN
    assert client.run("still there?", turn.session_id, agent_id="user").answer
    assert (
        client.session(turn.session_id)["messages"][: len(before["messages"])]
        == (before["messages"])
    )


def test_an_outcome_that_got_lost_is_made_up_for_by_the_deadline(
    client: Client, runtime: LocalRuntime, function: ScriptedFunction
) -> None:
    lost: list[Any] = []

    def lose(record: Mapping[str, Any]) -> Delivery:
        if is_outcome(record):
            lost.append(record)
            return Delivery.DROP
        return Delivery.DELIVER

    runtime.faults.queue = lose
    put(client, runtime, tool("go", WRITE, timeout_secs=far_s(runtime)))
    turn = client.start("[[call:go]][[say:{{result}}]]", agent_id="user")
    until(lambda: lost)
    runtime.skip_time(SLOW_S + 1)

    assert client.end_of(turn).answer == UNKNOWN
    assert len(function.requests) == 1
