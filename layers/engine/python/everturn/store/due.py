"""The sweep of the `due` index: keys of items past their time, shard by shard.

It must not know what is past its time; each kind has shards of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ROTATION_S: Final = 300
"""A sweep begins at the next shard after so long, so that a limit starves none of them."""


def past_due(
    client: DynamoDBClient,
    table: str,
    pace: Pace,
    shards: Sequence[str],
    now_epoch_s: int,
    limit: int,
) -> list[Item]:
    """Return entries of the index, eventually consistent: at most one Query a shard."""
    found: list[Item] = []
    first = now_epoch_s // _ROTATION_S % len(shards)
    for shard in (*shards[first:], *shards[:first]):
        left = limit - len(found)
        if left <= 0:
            break
        with dynamo_errors():
            answer = when_free(
                pace,
                partial(
                    client.query,
                    TableName=table,
                    IndexName=keys.DUE_INDEX,
                    KeyConditionExpression="due_shard = :shard AND due_epoch_s <= :now",
                    ExpressionAttributeValues=to_item({":shard": shard, ":now": now_epoch_s}),
                    Limit=left,
                ),
            )
        found += answer["Items"]
    return found
