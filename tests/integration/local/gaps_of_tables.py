"""What moto does wrong with tables and streams, one function a gap: true when the gap is there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.exceptions import ClientError
from moto.core.serialize import ResponseSerializer
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table

from integration.local.plain_moto import REGION, a_client, a_table, item, put


def several_threads_win_one_transaction() -> bool:
    """Two threads meet between reading and writing, where that is possible."""

    dynamodb = a_table()
    meeting = threading.Barrier(2)
    get_item = Table.get_item

    def get_and_meet(self: Table, *args: Any) -> Any:
        found = get_item(self, *args)
        try:
            meeting.wait(0.3)
        except threading.BrokenBarrierError:
            return found
        return found

    def attempt(_: int) -> bool:
        condition = {"ConditionExpression": "attribute_not_exists(pk)"}
        try:
            dynamodb.transact_write_items(TransactItems=[put("race", **condition)])
        except ClientError:
            return False
        return True

    Table.get_item = get_and_meet  # type: ignore[method-assign, assignment]
    try:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(attempt, range(2))) == [True, True]
    finally:
        Table.get_item = get_item  # type: ignore[method-assign]


def a_cancelled_transaction_swaps_the_table() -> bool:

    dynamodb = a_table()
    table = dynamodb_backends["123456789012"][REGION].tables["t"]
    cancelled(dynamodb)
    return dynamodb_backends["123456789012"][REGION].tables["t"] is not table


def cancelled(dynamodb: Any) -> None:
    """Run a transaction of two puts whose second condition fails."""
    missing = put("b", ConditionExpression="attribute_exists(pk)")
    with contextlib.suppress(dynamodb.exceptions.TransactionCanceledException):
        dynamodb.transact_write_items(TransactItems=[put("a"), missing])


def a_failed_update_leaves_keys_behind() -> bool:
    dynamodb = a_table()
    with contextlib.suppress(ClientError):
        dynamodb.update_item(
            TableName="t",
            Key=item("new"),
            UpdateExpression="SET body = :body",
            ExpressionAttributeValues={":body": {"S": "x" * 420_000}},
        )
    return "Item" in dynamodb.get_item(TableName="t", Key=item("new"))


def a_request_token_is_ignored() -> bool:
    dynamodb = a_table()
    request: Any = {
        "TransactItems": [put("once", ConditionExpression="attribute_not_exists(pk)")],
        "ClientRequestToken": "the-same-token",
    }
    dynamodb.transact_write_items(**request)
    try:
        dynamodb.transact_write_items(**request)
    except ClientError:
        return True
    return False


def a_transaction_may_exceed_4_mb() -> bool:
    dynamodb = a_table()
    actions: Any = [
        {"Put": {"TableName": "t", "Item": item(str(n), body={"S": "x" * 390_000})}}
        for n in range(11)
    ]
    try:
        dynamodb.transact_write_items(TransactItems=actions)
    except ClientError:
        return False
    return True


def a_batch_may_exceed_25_items() -> bool:
    dynamodb = a_table()
    requests: Any = [{"PutRequest": {"Item": item(str(n))}} for n in range(26)]
    try:
        dynamodb.batch_write_item(RequestItems={"t": requests})
    except ClientError:
        return False
    return True


def records_of(act: Callable[[Any], None]) -> list[tuple[str, str]]:
    """(event, sort key) of the stream records that `act` causes, read by an iterator before it."""
    dynamodb = a_table(stream=True)
    streams = a_client("dynamodbstreams")
    arn = dynamodb.describe_table(TableName="t")["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")[
        "ShardIterator"
    ]
    act(dynamodb)
    records = streams.get_records(ShardIterator=iterator)["Records"]
    return [(each["eventName"], each["dynamodb"]["Keys"]["sk"]["S"]) for each in records]


def an_unchanged_item_gets_a_record() -> bool:
    def twice(dynamodb: Any) -> None:
        dynamodb.put_item(TableName="t", Item=item("a"))
        dynamodb.put_item(TableName="t", Item=item("a"))

    return records_of(twice) != [("INSERT", "a")]


def a_creating_update_gets_two_records() -> bool:
    def upsert(dynamodb: Any) -> None:
        dynamodb.update_item(
            TableName="t",
            Key=item("a"),
            UpdateExpression="SET n = :n",
            ExpressionAttributeValues={":n": {"N": "1"}},
        )

    return records_of(upsert) != [("INSERT", "a")]


def an_iterator_dies_with_a_cancelled_transaction() -> bool:
    def cancel_then_write(dynamodb: Any) -> None:
        cancelled(dynamodb)
        dynamodb.put_item(TableName="t", Item=item("after"))

    return records_of(cancel_then_write) != [("INSERT", "after")]


def a_query_sorts_the_whole_table() -> bool:

    dynamodb = a_table()
    for number in range(300):
        dynamodb.put_item(TableName="t", Item={"pk": {"S": f"p{number}"}, "sk": {"S": "s"}})
    compared = []
    less = DynamoType.__lt__

    def counting(self: DynamoType, other: DynamoType) -> bool:
        compared.append(1)
        return less(self, other)

    DynamoType.__lt__ = counting  # type: ignore[method-assign]
    try:
        dynamodb.query(
            TableName="t",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": "p7"}},
        )
    finally:
        DynamoType.__lt__ = less  # type: ignore[method-assign]
    return len(compared) > 100


def an_attribute_is_searched_for_every_type() -> bool:
    dynamodb = a_table()
    dynamodb.put_item(TableName="t", Item=item("a"))
    searched = []
    search = ResponseSerializer.get_value

    def counting(self: ResponseSerializer, value: Any, key: str, shape: Any) -> Any:
        searched.append(key)
        return search(self, value, key, shape)

    ResponseSerializer.get_value = counting  # type: ignore[method-assign]
    try:
        dynamodb.get_item(TableName="t", Key=item("a"))
    finally:
        ResponseSerializer.get_value = search  # type: ignore[method-assign]
    return "BOOL" in searched


def consumed_capacity_is_constant() -> bool:
    dynamodb = a_table()
    answer = dynamodb.put_item(
        TableName="t", Item=item("a", body={"S": "x" * 5000}), ReturnConsumedCapacity="TOTAL"
    )
    return bool(answer["ConsumedCapacity"]["CapacityUnits"] == 1.0)


def instances_are_kept_for_ever() -> bool:

    dynamodb = a_table()
    tracked: list[Any] = vars(Item)["instances_tracked"]
    before = len(tracked)
    for _ in range(5):
        dynamodb.put_item(TableName="t", Item=item("the same"))
    return len(tracked) - before >= 5
