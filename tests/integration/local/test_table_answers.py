"""The patch of DynamoDB's answers: they are those that plain moto gives."""

from __future__ import annotations

from typing import Any

from everturn_local.patches.dynamodb_answers import dynamodb_answers
from integration.local import plain_moto

EVERY_TYPE: dict[str, Any] = {
    "text": {"S": ""},
    "number": {"N": "1.50"},
    "bytes": {"B": b"\x00\xff"},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "many": {"BS": [b"a", b"b"]},
    "map": {"M": {"a": {"L": [{"N": "1"}, {"M": {}}]}, "b": {"BOOL": False}}},
    "list": {"L": []},
    "nothing": {"NULL": True},
}


def item_answers() -> list[Any]:
    """What each way to read it says of an item that has attributes of every type."""
    dynamodb, key = plain_moto.a_table(stream=True), plain_moto.item("a")
    dynamodb.put_item(TableName="t", Item={**key, **EVERY_TYPE})
    query = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": key["pk"]}}
    change = {"UpdateExpression": "SET z = :p", "ExpressionAttributeValues": {":p": key["pk"]}}
    return [
        dynamodb.get_item(TableName="t", Key=key)["Item"],
        dynamodb.query(TableName="t", **query)["Items"],
        dynamodb.transact_get_items(TransactItems=[{"Get": {"TableName": "t", "Key": key}}])[
            "Responses"
        ],
        dynamodb.update_item(TableName="t", Key=key, ReturnValues="ALL_NEW", **change)[
            "Attributes"
        ],
        streamed(dynamodb),
    ]


def streamed(dynamodb: Any) -> list[Any]:
    """What the table's stream says of its items."""
    streams = plain_moto.a_client("dynamodbstreams")
    arn = dynamodb.describe_table(TableName="t")["Table"]["LatestStreamArn"]
    [shard] = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records = streams.get_records(ShardIterator=iterator)["Records"]
    return [record["dynamodb"]["NewImage"] for record in records]


def test_items_are_answered_as_before_whatever_their_types() -> None:
    with plain_moto.plain_cloud():
        plain = item_answers()
    with plain_moto.plain_cloud(), dynamodb_answers():
        patched = item_answers()

    assert patched == plain
    assert patched[0] == {**plain_moto.item("a"), **EVERY_TYPE}
