"""The local runtime takes what AWS takes and refuses what AWS refuses, each limit at its edge."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from everturn.protocol.limits import (
    DYNAMODB_ITEM_BYTES,
    DYNAMODB_TRANSACTION_BYTES,
    DYNAMODB_TRANSACTION_ITEMS,
    LAMBDA_PAYLOAD_BYTES,
    SQS_MESSAGE_BYTES,
    STEP_FUNCTIONS_PAYLOAD_BYTES,
)
from everturn.store.codec import LOG_ITEM_BYTES
from everturn_local.capacity import item_size_bytes
from everturn_local.invocations import PAYLOAD_MAX_BYTES
from everturn_local.runtime import LocalRuntime

Send = Callable[[LocalRuntime, int], object]
"""Sends something of that many bytes, or of that many members."""


def put_of(runtime: LocalRuntime, size_bytes: int) -> dict[str, Any]:
    """Return a Put of an item of exactly that size."""
    own = {"pk": {"S": "LIMITS"}, "sk": {"S": uuid.uuid4().hex}, "pad": {"S": ""}}
    pad = {"S": "x" * (size_bytes - item_size_bytes(own))}
    return {"TableName": runtime.physical["Table"], "Item": {**own, "pad": pad}}


def send_item(runtime: LocalRuntime, size: int) -> object:
    return runtime.clients.dynamodb.put_item(**put_of(runtime, size))


def send_many(runtime: LocalRuntime, count: int) -> object:
    puts: list[Any] = [{"Put": put_of(runtime, 100)} for _ in range(count)]
    return runtime.clients.dynamodb.transact_write_items(TransactItems=puts)


def send_heavy(runtime: LocalRuntime, size: int) -> object:
    sizes = [size // 16] * 15
    puts: list[Any] = [{"Put": put_of(runtime, each)} for each in [*sizes, size - sum(sizes)]]
    return runtime.clients.dynamodb.transact_write_items(TransactItems=puts)


def send_message(runtime: LocalRuntime, size: int) -> object:
    url = runtime.clients.sqs.create_queue(QueueName="limits")["QueueUrl"]
    return runtime.clients.sqs.send_message(QueueUrl=url, MessageBody="x" * size)


def send_input(runtime: LocalRuntime, size: int) -> object:
    return runtime.clients.stepfunctions.start_execution(
        stateMachineArn=runtime.physical["StepMachine"], input='{"kind":"none"}'.ljust(size)
    )


def send_payload(runtime: LocalRuntime, size: int) -> object:
    name = runtime.physical["SampleWorkerFunction"]
    frame = '{"pad": ""}'
    payload = json.dumps({"pad": "x" * (size - len(frame))}).encode()
    return runtime.clients.lambda_.invoke(FunctionName=name, Payload=payload)


LIMITS: list[tuple[Send, int]] = [
    (send_many, DYNAMODB_TRANSACTION_ITEMS),
    (send_heavy, DYNAMODB_TRANSACTION_BYTES),
    (send_message, SQS_MESSAGE_BYTES),
    (send_input, STEP_FUNCTIONS_PAYLOAD_BYTES),
    (send_payload, PAYLOAD_MAX_BYTES),
]


@pytest.mark.parametrize(("send", "limit"), LIMITS, ids=lambda one: getattr(one, "__name__", ""))
def test_what_is_at_a_limit_is_taken_and_what_is_above_is_refused(
    runtime: LocalRuntime, send: Send, limit: int
) -> None:
    send(runtime, limit - 1)
    send(runtime, limit)

    with pytest.raises(ClientError):
        send(runtime, limit + 1)


def test_an_item_over_its_limit_is_refused_and_the_largest_that_the_store_writes_is_taken(
    runtime: LocalRuntime,
) -> None:
    send_item(runtime, LOG_ITEM_BYTES)

    with pytest.raises(ClientError):
        send_item(runtime, DYNAMODB_ITEM_BYTES + 1)


def test_the_engine_expects_no_more_of_an_invocation_than_lambda_takes() -> None:
    assert LAMBDA_PAYLOAD_BYTES <= PAYLOAD_MAX_BYTES < LAMBDA_PAYLOAD_BYTES + 1_024
