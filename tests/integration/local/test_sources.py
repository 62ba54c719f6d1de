"""Queues, streams, schedules and step machines as the runtime plays them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everturn_local.faults import Delivery, Faults
from everturn_local.filters import passes
from integration.local.probe import Probe, contains, has, running_stack, stays, until


@pytest.fixture(scope="module")
def running() -> Iterator[Probe]:
    """The fixture stack; messages come back after two seconds."""
    with running_stack() as probe:
        yield probe


@pytest.fixture
def stack(running: Probe) -> Iterator[Probe]:
    """The running stack; faults that a test sets end with it."""
    yield running
    running.runtime.faults.queue = Faults().queue
    running.runtime.faults.stream = Faults().stream


def fanned(stack: Probe) -> list[str]:
    """Sort keys that the stream's function saw."""
    return [item["key"]["S"] for item in stack.items("fanned")]


def swept(stack: Probe) -> list[dict[str, Any]]:
    """Events that the sweeping function saw."""
    return [json.loads(text) for text in stack.texts("swept", "event")]


def test_a_group_stays_in_order_while_other_groups_run_beside_it(stack: Probe) -> None:
    for number in range(3):
        stack.send("slow", number, seconds=0.2)
        stack.send("other", number, seconds=0.2)

    slow = until(lambda: stack.seen("slow"), has(6))
    other = until(lambda: stack.seen("other"), has(6))

    in_order = [f"{what} {number}" for number in range(3) for what in ("begin", "end")]
    assert slow == other == in_order
    begun, ended = stack.items("seen#other")[0]["sk"]["S"], stack.items("seen#slow")[-1]["sk"]["S"]
    assert begun < ended


def test_a_queue_record_has_the_shape_that_lambda_gives(stack: Probe) -> None:
    stack.send("shape", 1)
    until(lambda: stack.seen("shape"), has(2))

    record = json.loads(stack.texts("seen#shape", "record")[0])
    assert record.keys() == {
        "messageId",
        "receiptHandle",
        "body",
        "attributes",
        "messageAttributes",
        "md5OfBody",
        "eventSource",
        "eventSourceARN",
        "awsRegion",
    }
    assert record["attributes"].keys() == {
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "SentTimestamp",
        "SequenceNumber",
        "MessageGroupId",
        "MessageDeduplicationId",
        "SenderId",
    }
    assert record["attributes"]["MessageGroupId"] == "shape"
    assert json.loads(record["body"]) == {"group": "shape", "n": 1}


def test_a_reported_failure_blocks_its_group_until_the_message_comes_again(stack: Probe) -> None:
    stack.send("failing", 1, fail_until=1)
    stack.send("failing", 2)

    first = until(lambda: stack.seen("failing"), lambda seen: seen == ["begin 1"])
    blocked = stays(lambda: stack.seen("failing"), for_s=0.2)
    stack.runtime.skip_time(3)
    final = until(lambda: stack.seen("failing"), has(5))

    assert first == blocked == ["begin 1"]
    assert final == ["begin 1", "begin 1", "end 1", "begin 2", "end 2"]


def test_a_message_that_fails_too_often_goes_to_the_dead_letter_queue(stack: Probe) -> None:
    stack.send("doomed", 1, fail_until=99)
    for received in range(1, 4):
        until(lambda: stack.seen("doomed"), has(received))
        stack.runtime.skip_time(3)

    dead = until(
        lambda: [each for each in swept(stack) if "Records" in each],
        has(1),
    )

    assert json.loads(dead[0]["Records"][0]["body"]) == {
        "group": "doomed",
        "n": 1,
        "fail_until": 99,
    }
    assert stack.seen("doomed") == ["begin 1"] * 3


def test_dropped_and_duplicated_messages(stack: Probe) -> None:
    def fate(record: Mapping[str, Any]) -> Delivery:
        fates = {1: Delivery.DROP, 2: Delivery.DUPLICATE, 3: Delivery.LOSE_ANSWER}
        first = record["attributes"]["ApproximateReceiveCount"] == "1"
        number = json.loads(record["body"])["n"]
        return fates[number] if first else Delivery.DELIVER

    stack.runtime.faults.queue = fate
    for number in (1, 2, 3):
        stack.send("faulty", number)

    until(lambda: stack.seen("faulty"), has(6))
    stack.runtime.skip_time(3)
    seen = until(lambda: stack.seen("faulty"), has(8))

    assert seen == ["begin 2", "end 2"] * 2 + ["begin 3", "end 3"] * 2


def test_a_commit_reaches_the_streams_function_filtered_and_in_order(stack: Probe) -> None:
    before = len(fanned(stack))
    for number in range(5):
        stack.put("session", f"HEAD{number}")
        stack.put("session", f"LOG#{number}")
    stack.put("session", "LOG#0", more="no insert")

    keys = until(lambda: fanned(stack)[before:], lambda found: len(found) >= 5)

    assert keys == [f"LOG#{number}" for number in range(5)]


def test_a_record_that_fails_is_tried_again_before_what_follows_it(stack: Probe) -> None:
    before = len(fanned(stack))
    stack.put("retried", "LOG#a")
    stack.put("retried", "LOG#b", fail_once="yes")
    stack.put("retried", "LOG#c")

    keys = until(lambda: fanned(stack)[before:], lambda found: len(found) >= 3)

    assert keys == ["LOG#a", "LOG#b", "LOG#c"]


def test_a_record_that_never_works_is_given_up_told_and_passed_by(stack: Probe) -> None:
    queue_url = stack.runtime.physical["GivenUp"]
    before = len(fanned(stack))
    stack.put("given-up", "LOG#a", fail_always="yes")
    stack.put("given-up", "LOG#b")

    keys = until(lambda: fanned(stack)[before:], lambda found: len(found) >= 1)

    got = stack.runtime.clients.sqs.receive_message(QueueUrl=queue_url, WaitTimeSeconds=2)
    [message] = got["Messages"]
    told = json.loads(message["Body"])
    about = told["DDBStreamBatchInfo"]
    assert keys == ["LOG#b"]
    assert told["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert (about["batchSize"], about["streamArn"][:21]) == (1, "arn:aws:dynamodb:us-e")
    assert about["startSequenceNumber"] == about["endSequenceNumber"]


def test_dropped_stream_records_are_never_seen(stack: Probe) -> None:
    def fate(record: Mapping[str, Any]) -> Delivery:
        dropped = record["dynamodb"]["Keys"]["sk"]["S"] == "LOG#drop"
        return Delivery.DROP if dropped else Delivery.DELIVER

    before = len(fanned(stack))
    stack.runtime.faults.stream = fate
    stack.put("faulty", "LOG#drop")
    stack.put("faulty", "LOG#keep")

    keys = until(lambda: fanned(stack)[before:], lambda found: len(found) >= 1)

    assert keys == ["LOG#keep"]


def test_a_schedule_fires_on_the_local_clock(stack: Probe) -> None:
    def scheduled() -> list[dict[str, Any]]:
        return [event for event in swept(stack) if event.get("source") == "aws.events"]

    before = len(scheduled())
    stack.runtime.skip_time(301)

    fired = until(scheduled, lambda events: len(events) > before)

    assert len(fired) == before + 1
    assert fired[-1]["detail-type"] == "Scheduled Event"
    assert fired[-1]["resources"][0].endswith(":rule/SweepFunctionEvery")


def start(stack: Probe, name: str, **content: Any) -> str:
    """Start an execution of the step machine."""
    return stack.runtime.clients.stepfunctions.start_execution(
        stateMachineArn=stack.runtime.physical["Machine"], name=name, input=json.dumps(content)
    )["executionArn"]


def test_the_step_machine_waits_until_a_time_and_then_wakes_the_queue(stack: Probe) -> None:
    due = datetime.fromtimestamp(stack.runtime.clock.now(), UTC) + timedelta(hours=3)
    start(
        stack,
        "timer",
        kind="wait",
        until=due.isoformat().replace("+00:00", "Z"),
        message={"group": "timed", "n": 1, "text": 'says "hello"'},
        group="timed",
        dedup="firing",
    )

    early = stays(lambda: stack.seen("timed"), for_s=0.2)
    stack.runtime.skip_time(3 * 3600)
    seen = until(lambda: stack.seen("timed"), has(2))

    assert (early, seen) == ([], ["begin 1", "end 1"])
    record = json.loads(stack.texts("seen#timed", "record")[0])
    assert json.loads(record["body"])["text"] == 'says "hello"'


def test_an_unknown_kind_fails_the_execution(stack: Probe) -> None:
    states = stack.runtime.clients.stepfunctions
    arn = start(stack, "strange", kind="dance")

    described = until(
        lambda: states.describe_execution(executionArn=arn),
        lambda each: each["status"] != "RUNNING",
    )

    found = (described["status"], described["error"], described["cause"])
    assert found == ("FAILED", "UnknownKind", "kind dance")


def test_deliveries_are_quick(stack: Probe) -> None:
    queue_s, stream_s = [], []
    for number in range(5):
        started = time.time()
        stack.send("quick", number)
        stack.put("quick", f"LOG#quick{number}")
        until(lambda: stack.seen("quick"), has(2 * number + 2))
        until(lambda: fanned(stack), contains(f"LOG#quick{number}"))
        begun = stack.items("seen#quick")[2 * number]["sk"]["S"]
        fan = next(
            item for item in stack.items("fanned") if item["key"]["S"] == f"LOG#quick{number}"
        )
        queue_s.append(int(begun) / 1e9 - started)
        stream_s.append(int(fan["sk"]["S"]) / 1e9 - started)

    assert min(queue_s) < 0.2  # some 30 ms on a quiet machine; polling would be seconds
    assert min(stream_s) < 0.4  # some 50 ms on a quiet machine


@pytest.mark.parametrize(
    ("pattern", "passed"),
    [
        ({"eventName": ["INSERT", "MODIFY"]}, True),
        ({"eventName": ["REMOVE"]}, False),
        ({"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "LOG#"}]}}}}, True),
        ({"dynamodb": {"Keys": {"sk": {"S": [{"suffix": "9"}]}}}}, False),
        ({"dynamodb": {"NewImage": {"wake": [{"exists": False}]}}}, True),
        ({"dynamodb": {"NewImage": {"wake": [{"exists": True}]}}}, False),
        ({"eventName": [{"anything-but": ["REMOVE"]}]}, True),
        ({"nothing": {"here": ["x"]}}, False),
    ],
)
def test_filter_patterns(pattern: dict[str, Any], passed: bool) -> None:
    record = {"eventName": "INSERT", "dynamodb": {"Keys": {"sk": {"S": "LOG#1"}}, "NewImage": {}}}

    assert passes([pattern], record) is passed
