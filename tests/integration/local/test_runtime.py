"""A runtime as a whole: start, stop, one after another, idle, and on the real template."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import pytest

from everturn_local.bell import Bell
from everturn_local.clients import Clients
from everturn_local.clock import LocalClock
from everturn_local.cloud import LocalCloud, RuntimeStopped
from everturn_local.runtime import LocalRuntime
from everturn_local.stack import Endpoints, Stack, create_stack
from everturn_local.template import Deployment, load_template
from integration.local.probe import (
    IMPORTS,
    REAL_TEMPLATE,
    TEMPLATE,
    Probe,
    has,
    running_stack,
    until,
)


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

    assert start_s < 10
    assert stop_s < 10


def test_runtimes_one_after_another_share_nothing() -> None:
    names, variables = [], []
    for _ in range(2):
        with running_stack() as probe:
            probe.send("again", 1)
            seen = until(lambda: probe.seen("again"), has(2))
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
        until(lambda: probe.seen("gone"), has(2))
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
    time.sleep(2)
    print((time.process_time() - before) / 2)
"""


def test_an_idle_runtime_uses_little_of_a_core() -> None:
    measured = subprocess.run(  # noqa: S603
        [sys.executable, "-c", IDLE, str(TEMPLATE)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert float(measured.stdout) < 0.1  # 0.02 on a quiet machine; spinning would be 1


def test_a_second_runtime_in_one_process_is_refused() -> None:
    with running_stack(), pytest.raises(RuntimeError, match="another local runtime"):
        LocalRuntime(TEMPLATE, imports=IMPORTS).start()


def test_what_a_handler_left_behind_does_not_reach_aws() -> None:
    with running_stack():
        left_behind = boto3.client("dynamodb")

    with pytest.raises(RuntimeStopped):
        left_behind.list_tables()


@contextmanager
def real_stack() -> Iterator[tuple[Stack, Clients]]:
    """The repository's own template in a local cloud, without its functions running."""
    cloud = LocalCloud("us-east-1", LocalClock(), Bell(), lambda *_: None)
    deployment = Deployment("real", "us-east-1", parameters={"WorkerNetworks": "any"})
    clients = cloud.start(0)
    try:
        template = load_template(REAL_TEMPLATE, deployment)
        yield create_stack(template, clients, Endpoints("http://127.0.0.1:1", "live")), clients
    finally:
        cloud.stop()


def test_the_real_stacks_functions_get_their_variables() -> None:
    with real_stack() as (stack, _):
        driver = stack.environments["DriverFunction"]

    agreed = {
        "EVERTURN_TABLE": stack.physical["Table"],
        "EVERTURN_BUCKET": stack.physical["Bucket"],
        "EVERTURN_QUEUE_URL": stack.physical["Queue"],
        "EVERTURN_STEP_MACHINE_ARN": stack.physical["StepMachine"],
        "EVERTURN_WEBSOCKET_ENDPOINT": "http://127.0.0.1:1/live",
        "EVERTURN_LEASE_SECONDS": "120",
        "EVERTURN_WORKER_NETWORKS": "any",
        "EVERTURN_DEMO_PROVIDER": "on",
        "EVERTURN_RUNNABLE_SECONDS": "1200",
    }
    assert {name: driver.get(name) for name in agreed} == agreed


def test_the_real_step_machine_sends_its_wake_up() -> None:
    message = {"step": "timer", "subject": 'says "now"'}
    wait = {"kind": "wait", "until": "2024-01-01T00:00:00Z", "message": message}
    with real_stack() as (stack, clients):
        queue_url = stack.physical["Queue"]
        clients.stepfunctions.start_execution(
            stateMachineArn=stack.physical["StepMachine"],
            name="timer-1",
            input=json.dumps(wait | {"group": "g", "dedup": "d"}),
        )
        received = clients.sqs.receive_message(
            QueueUrl=queue_url, WaitTimeSeconds=5, MessageSystemAttributeNames=["All"]
        )["Messages"]

    attributes = received[0]["Attributes"]
    assert json.loads(received[0]["Body"]) == message
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("g", "d")
