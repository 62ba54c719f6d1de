"""An empty cloud of plain moto, and the requests that the tries of its gaps have in common."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from moto import mock_aws

REGION = "us-east-1"

PASS: dict[str, Any] = {"States": {"S": {"Type": "Pass", "End": True}}}
FOREVER: dict[str, Any] = {"States": {"S": {"Type": "Wait", "Seconds": 60, "End": True}}}

_SESSION = boto3.Session("local", "local", region_name=REGION)


def a_client(service: Any) -> Any:
    """A client; all share a session, which reads its models only once."""
    return _SESSION.client(service)


@contextmanager
def plain_cloud() -> Iterator[None]:
    """An empty cloud in the modes that the local runtime uses."""
    os.environ["AWS_DEFAULT_REGION"] = REGION
    config: Any = {
        "lambda": {"use_docker": False},
        "stepfunctions": {"execute_state_machine": True},
    }
    with mock_aws(config=config):
        yield


def a_table(stream: bool = False) -> Any:
    """A client and one table `t` with keys pk and sk, and a sparse index `by_kind`."""
    dynamodb = a_client("dynamodb")
    extra: Any = {}
    if stream:
        extra = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}}
    dynamodb.create_table(
        TableName="t",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
            {"AttributeName": "kind", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_kind",
                "KeySchema": [
                    {"AttributeName": "kind", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        **extra,
    )
    return dynamodb


def item(sk: str, **attributes: Any) -> dict[str, Any]:
    """An item of partition `p`."""
    return {"pk": {"S": "p"}, "sk": {"S": sk}, **attributes}


def put(sk: str, **more: Any) -> dict[str, Any]:
    """A transaction's Put of an item without attributes."""
    return {"Put": {"TableName": "t", "Item": item(sk), **more}}


def a_queue(**attributes: Any) -> tuple[Any, str]:
    """A client and the URL of a FIFO queue."""
    sqs = a_client("sqs")
    url = sqs.create_queue(QueueName="q.fifo", Attributes={"FifoQueue": "true", **attributes})[
        "QueueUrl"
    ]
    return sqs, url


def send(sqs: Any, url: str, body: str, group: str = "g", dedup: str | None = None) -> None:
    """Send one message."""
    sqs.send_message(
        QueueUrl=url,
        MessageBody=body,
        MessageGroupId=group,
        MessageDeduplicationId=dedup or body,
    )


def receive(sqs: Any, url: str, **options: Any) -> list[dict[str, Any]]:
    """Receive up to ten messages."""
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], **options
    )
    return list(answer.get("Messages", []))


def until(read: Callable[[], Any], accept: Callable[[Any], bool], within_s: float = 8.0) -> Any:
    """Read until the value is accepted; gives the last value when time is up."""
    end = time.monotonic() + within_s
    while True:
        value = read()
        if accept(value) or time.monotonic() > end:
            return value
        time.sleep(0.01)


def run_machine(
    definition: dict[str, Any], execution_input: Any = None, within_s: float = 5.0, **named: str
) -> dict[str, Any]:
    """Create a machine, run it and give its description when it ended or time is up."""
    states = a_client("stepfunctions")
    machine = states.create_state_machine(
        name="m",
        roleArn="arn:aws:iam::123456789012:role/r",
        definition=json.dumps({"QueryLanguage": "JSONata", "StartAt": "S", **definition}),
    )["stateMachineArn"]
    execution = states.start_execution(
        stateMachineArn=machine, name="e", input=json.dumps(execution_input or {}), **named
    )["executionArn"]
    described: dict[str, Any] = until(
        lambda: states.describe_execution(executionArn=execution),
        lambda each: each["status"] != "RUNNING",
        within_s,
    )
    return described
