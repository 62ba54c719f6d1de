"""Slow tools of a Lambda worker as functions see them: a driver that leaves, another that hears."""

from __future__ import annotations

import json
from typing import Any

import pytest

from integration.deployed import TENANT, Deployed, queued, sample
from integration.test_functions import done, invoke, stack, texts, with_worker

__all__ = ["stack"]  # the fixture
pytestmark = pytest.mark.filterwarnings("ignore:No application metrics")

FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:everturn-worker-tools"


def slow_tool(stack: Deployed) -> dict[str, Any]:
    """Have a turn call a tool that the step machine is to run; return the driver's event."""
    record = stack.directory.agent(TENANT, "helper")
    tools = [{"name": "convert", "effect": "non_idempotent_write", "timeout_secs": 60}]
    stack.directory.put_agent(TENANT, with_worker(record, FUNCTION, tools=tools))
    stack.submit("[[call:convert {}]][[turn]][[say:{{result}}]]")
    return queued(sample("driver_llm"), stack)


def runs(stack: Deployed) -> list[dict[str, Any]]:
    """Return the inputs of the executions that run a function."""
    states, machine = stack.clients.stepfunctions, stack.stack.physical["StepMachine"]
    found = states.list_executions(stateMachineArn=machine)["executions"]
    return [
        json.loads(states.describe_execution(executionArn=one["executionArn"])["input"])
        for one in found
        if one["name"].startswith("invoke-")
    ]


def outcome_of(run: dict[str, Any], stack: Deployed) -> dict[str, Any]:
    """Return the sample of an outcome, as that of a run."""
    event = sample("driver_tool_answer")
    [record] = event["Records"]
    wake = json.loads(record["body"])
    record["body"] = json.dumps(wake | {"settles": wake["settles"] | run["settles"]})
    return queued(event, stack)


def test_driver_hands_a_slow_tool_over_and_applies_what_comes_of_it(stack: Deployed) -> None:
    first = slow_tool(stack)
    invoke(stack, "driver", first)
    done(stack, first)
    [run] = runs(stack)
    outcome = outcome_of(run, stack)

    answers = [invoke(stack, "driver", outcome), invoke(stack, "driver", outcome)]

    assert answers == [{"batchItemFailures": []}] * 2
    assert (run["function"], run["request"]["trigger"]["name"]) == (FUNCTION, "convert")
    result = '{"value":3.1,"unit":"mi"}'
    assert texts(stack)[-2:] == [("tool", result), ("assistant", result)]


def test_driver_that_could_not_start_a_slow_tool_starts_the_same_attempt_later(
    stack: Deployed,
) -> None:
    first = slow_tool(stack)
    machine = stack.stack.physical["StepMachine"]
    nowhere = {"EVERTURN_STEP_MACHINE_ARN": f"{machine}-that-is-not-there"}
    failed = invoke(stack, "driver", first, changed=nowhere)
    done(stack, first)
    again = queued(sample("driver_llm"), stack)
    [record] = again["Records"]
    record["attributes"] = {**record["attributes"], "ApproximateReceiveCount": "2"}

    answer = invoke(stack, "driver", again)

    message = first["Records"][0]["messageId"]
    assert failed == {"batchItemFailures": [{"itemIdentifier": message}]}
    assert answer == {"batchItemFailures": []}
    [run] = runs(stack)
    assert run["request"]["trigger"]["attempt"] == run["request"]["attempts"] == 1
    assert texts(stack)[-1] == ("assistant", None)
