"""Reading many items; what they mean is the caller's business."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from everturn.errors import StoreUnavailable
from everturn.store.attributes import Item
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BATCH_KEYS: Final = 100
"""Source: DynamoDB, BatchGetItem."""

Value = TypeVar("Value")


def batch_get(
    client: DynamoDBClient, table: str, wanted: Iterable[Item], pace: Pace
) -> Iterator[Item]:
    """Yield those of the `wanted` keys' items that exist, read consistently, in any order.

    One request for each 100 keys. Raises `StoreUnavailable` if some stay unread to the end.
    """
    deadline = pace.deadline()
    for batch in chunks(wanted, BATCH_KEYS):
        left: Any = {table: {"Keys": batch, "ConsistentRead": True}}
        unread = 0
        while left:
            with dynamo_errors():
                answer = when_free(pace, partial(client.batch_get_item, RequestItems=left))
            yield from answer["Responses"].get(table, [])
            left = answer.get("UnprocessedKeys")
            if left and pace.is_over(deadline):
                raise StoreUnavailable("DynamoDB left keys unread", retry_after_s=1.0)
            if left:
                pace.pause(unread)
                unread += 1


def query_all(client: DynamoDBClient, request: Mapping[str, Any], pace: Pace) -> Iterator[Item]:
    """Yield all items of a Query in their order: one request for each MB."""
    start: dict[str, Any] = {}
    while True:
        with dynamo_errors():
            answer = when_free(pace, partial(client.query, **request, **start))
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def chunks(values: Iterable[Value], size: int) -> Iterator[list[Value]]:
    """Yield `values` in lists of `size`, the last one shorter."""
    rest = iter(values)
    while chunk := list(islice(rest, size)):
        yield chunk
