"""The meter's figures against sizes counted by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from everturn_local.capacity import item_size_bytes, read_units, value_size_bytes, write_units
from everturn_local.usage import Line, Usage
from integration.local.probe import Probe, running_stack, until


@pytest.fixture(scope="module")
def stack() -> Iterator[Probe]:
    """The fixture stack."""
    with running_stack() as probe:
        yield probe


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        ({"S": "ü"}, 2),
        ({"N": "12345"}, 4),
        ({"N": "-12.30"}, 4),
        ({"N": "100"}, 2),
        ({"B": b"abc"}, 3),
        ({"B": "YWJj"}, 3),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["ab", "c"]}, 3),
        ({"L": [{"S": "ab"}, {"NULL": True}]}, 3 + 3 + 2),
        ({"M": {"key": {"S": "ab"}}}, 3 + 1 + 3 + 2),
    ],
)
def test_value_sizes(value: dict[str, Any], size_bytes: int) -> None:
    assert value_size_bytes(value) == size_bytes


def test_units_are_rounded_as_aws_does() -> None:
    assert item_size_bytes({"pk": {"S": "abc"}, "n": {"N": "1"}}) == 2 + 3 + 1 + 2
    assert [write_units(None, size) for size in (1, 1024, 1025)] == [1.0, 1.0, 2.0]
    assert write_units(5000, 10) == 5.0
    assert write_units(None, 1025, transactional=True) == 4.0
    assert [read_units(size, consistent=True) for size in (0, 4096, 4097)] == [1.0, 1.0, 2.0]
    assert read_units(4097, consistent=False) == 1.0
    assert read_units(1, consistent=True, transactional=True) == 2.0


def sized(sk: str, size_bytes: int, **attributes: Any) -> dict[str, Any]:
    """An item of exactly `size_bytes`, without the further attributes."""
    own = {"pk": {"S": "metered"}, "sk": {"S": sk}}
    pad = size_bytes - item_size_bytes(own) - len("pad")
    return {**own, "pad": {"S": "x" * pad}, **attributes}


def used(stack: Probe, act: Any) -> Usage:
    """What `act` used, given a client as handlers make it and the table's name."""
    before = stack.runtime.meter.snapshot()
    act(boto3.client("dynamodb"), stack.runtime.physical["Table"])
    return stack.runtime.meter.snapshot().minus(before)


def test_writes_count_the_larger_image_and_index_entries(stack: Probe) -> None:
    due = {"due_shard": {"S": "due#01"}, "due_epoch_s": {"N": "1700000000"}}

    def act(client: Any, table: str) -> None:
        client.put_item(TableName=table, Item=sized("a", 3000))
        client.put_item(TableName=table, Item=sized("a", 100))
        client.put_item(TableName=table, Item=sized("a", 100, **due))
        client.put_item(TableName=table, Item=sized("a", 200, **due))
        moved = {**due, "due_epoch_s": {"N": "1700000600"}}
        client.put_item(TableName=table, Item=sized("a", 200, **moved))
        client.delete_item(TableName=table, Key={"pk": {"S": "metered"}, "sk": {"S": "a"}})

    usage = used(stack, act)

    puts = 3 + 3 + (1 + 1) + (1 + 0) + (1 + 2)
    assert usage.lines == {
        ("main", "dynamodb.PutItem"): Line(requests=5, write_units=puts),
        ("main", "dynamodb.DeleteItem"): Line(requests=1, write_units=1 + 1),
    }


def test_transactions_cost_twice_also_when_they_are_cancelled(stack: Probe) -> None:
    def act(client: Any, table: str) -> None:
        first = {"Put": {"TableName": table, "Item": sized("t1", 1500)}}
        second = {"Put": {"TableName": table, "Item": sized("t2", 100)}}
        client.transact_write_items(TransactItems=[first, second])
        once = {"ConditionExpression": "attribute_not_exists(pk)"}
        with pytest.raises(ClientError):
            client.transact_write_items(TransactItems=[{"Put": {**first["Put"], **once}}])

    usage = used(stack, act)

    assert usage.lines == {
        ("main", "dynamodb.TransactWriteItems"): Line(requests=2, write_units=2 * (2 + 1) + 2 * 2)
    }


def test_reads_count_whole_items_and_whole_pages(stack: Probe) -> None:
    for number in range(3):
        stack.runtime.clients.dynamodb.put_item(
            TableName=stack.runtime.physical["Table"], Item=sized(f"r{number}", 3000)
        )
    key = {"pk": {"S": "metered"}, "sk": {"S": "r0"}}

    def act(client: Any, table: str) -> None:
        client.get_item(TableName=table, Key=key)
        client.get_item(TableName=table, Key=key, ConsistentRead=True, ProjectionExpression="sk")
        client.query(
            TableName=table,
            KeyConditionExpression="pk = :p AND begins_with(sk, :r)",
            ExpressionAttributeValues={":p": {"S": "metered"}, ":r": {"S": "r"}},
            ProjectionExpression="sk",
            ConsistentRead=True,
        )
        client.transact_get_items(TransactItems=[{"Get": {"TableName": table, "Key": key}}])
        client.batch_get_item(RequestItems={table: {"Keys": [key]}})

    usage = used(stack, act)

    assert {operation: line.read_units for (_, operation), line in usage.lines.items()} == {
        "dynamodb.GetItem": 0.5 + 1,
        "dynamodb.Query": 3,
        "dynamodb.TransactGetItems": 2,
        "dynamodb.BatchGetItem": 0.5,
    }


def test_deltas_watch_reads_and_pushes_are_told_apart(stack: Probe) -> None:
    head = {"pk": {"S": "metered"}, "sk": {"S": "HEAD"}}

    def act(client: Any, table: str) -> None:
        client.put_item(TableName=table, Item=sized("DELTA#1#2", 100))
        get = {"TableName": table, "Key": head}
        watch = threading.Thread(target=client.get_item, kwargs=get, name="watch")
        watch.start()
        watch.join()
        client.get_item(**get)
        endpoint = f"{stack.runtime.http_url}/live"
        sockets = boto3.client("apigatewaymanagementapi", endpoint_url=endpoint)
        with pytest.raises(ClientError):
            sockets.post_to_connection(ConnectionId="gone=", Data=b"12345")

    usage = used(stack, act)

    assert usage.total(category="delta") == Line(requests=1, write_units=1)
    assert usage.total(category="watch") == Line(requests=1, read_units=0.5)
    assert usage.total(category="push") == Line(requests=1, bytes_in=5)
    assert usage.total(category="main") == Line(requests=1, read_units=0.5)


def test_other_services_count_requests_and_bytes(stack: Probe) -> None:
    def act(_client: Any, _table: str) -> None:
        bucket = stack.runtime.physical["Bucket"]
        s3 = boto3.client("s3")
        s3.put_object(Bucket=bucket, Key="k", Body=b"x" * 1000)
        s3.get_object(Bucket=bucket, Key="k")["Body"].read()
        states = boto3.client("stepfunctions")
        arn = stack.runtime.physical["Machine"]
        states.start_execution(stateMachineArn=arn, name="metered", input='{"kind": "x"}')
        boto3.client("sqs").receive_message(QueueUrl=stack.runtime.physical["DeadLetters"])

    usage = used(stack, act)

    assert usage.lines == {
        ("main", "s3.PutObject"): Line(requests=1, bytes_in=1000),
        ("main", "s3.GetObject"): Line(requests=1, bytes_out=1000),
        ("main", "stepfunctions.StartExecution"): Line(requests=1, bytes_in=13),
    }


def test_a_delivery_counts_one_receive_one_delete_and_the_handlers_requests(stack: Probe) -> None:
    before = stack.runtime.meter.snapshot()
    stack.send("counted", 1)

    usage = until(
        lambda: stack.runtime.meter.snapshot().minus(before),
        lambda each: ("source", "sqs.DeleteMessage") in each.lines,
    )

    requests = {key: line.requests for key, line in usage.lines.items()}
    assert requests == {
        ("source", "sqs.ReceiveMessage"): 1,
        ("source", "sqs.DeleteMessage"): 1,
        ("function", "lambda.worker"): 1,
        ("main", "dynamodb.PutItem"): 2,
    }
