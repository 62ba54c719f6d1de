"""What waits in the step machine while no driver runs."""

from __future__ import annotations

import json
import time
from typing import Any

from e2e.client import Turn
from e2e.waiting import until
from everturn_local.runtime import LocalRuntime

FAR_S = 12.5
"""Further than a driver sleeps."""


def far(runtime: LocalRuntime, wait_s: float = FAR_S) -> dict[str, float]:
    """Return a backoff that ends `wait_s` from now, also where earlier tests skipped time."""
    skipped_s = runtime.clock.now() - time.time()
    return {"backoff_base_secs": skipped_s + wait_s, "backoff_max_secs": 1_000_000}


def wait_for_timer(runtime: LocalRuntime, turn: Turn, before: int = 0) -> dict[str, Any]:
    """Wait until a session waits in the step machine and in no driver; return the timer's input.

    `before` is how many wake-ups of others lay in the queue already.
    """

    def resting() -> list[dict[str, Any]]:
        return waiting_timers(runtime, turn) if messages_in_flight(runtime) <= before else []

    return until(resting)[0]


def waiting_timers(runtime: LocalRuntime, turn: Turn) -> list[dict[str, Any]]:
    """Return the inputs of the executions that wait for a session."""
    states = runtime.clients.stepfunctions
    machine = runtime.physical["StepMachine"]
    running = states.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
    inputs = [
        json.loads(states.describe_execution(executionArn=one["executionArn"])["input"])
        for one in running
    ]
    return [one for one in inputs if one["message"]["session"] == turn.session_id]


def messages_in_flight(runtime: LocalRuntime) -> int:
    """Return how many wake-ups wait or are being worked on."""
    answer = runtime.clients.sqs.get_queue_attributes(
        QueueUrl=runtime.physical["Queue"],
        AttributeNames=[
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
        ],
    )
    return sum(int(count) for count in answer["Attributes"].values())
