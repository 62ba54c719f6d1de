"""What was written for a deleted session by somebody who had not noticed: found once more, deleted.

It must not touch a session that has the id by now. Late are streamed frames and readers, which name
their incarnation, and surplus ids of a commit that never landed, which name their commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from everturn.ports.sessions import SessionKey
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import query_all
from everturn.store.dynamo_errors import if_holds
from everturn.store.pace import Pace
from everturn.store.tombstones import text_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_OF_IT: Final = "#created = :created"
_OF_NOBODY: Final = "attribute_not_exists(#created) AND #commit = :commit"
_NAMES: Final = {"#created": "created", "#commit": "commit_id"}


class LateWrites:
    """The late writes in a table."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._pace = pace

    def erase(
        self, key: SessionKey, created: str, is_over: Callable[[], bool], *, is_free: bool
    ) -> bool:
        """Delete what was written late for an incarnation; returns `False` where time was over.

        `is_free` says that nobody has its id now. A Query of the partition, else two of where late
        writes may be, and a conditional DeleteItem for each.
        """
        ranges = (("", "~"),) if is_free else (("DELTA#", "DELTA#~"), (keys.WATCH, keys.WATCH))
        for low, high in ranges:
            for item in self._found(key, low, high):
                commit_id = text_in(item, "commit_id")
                if text_in(item, "created") == created:
                    self._delete(item, _OF_IT, {":created": created})
                elif is_free and "created" not in item and commit_id:
                    self._delete(item, _OF_NOBODY, {":commit": commit_id})
                else:
                    continue
                if is_over():
                    return False
        return True

    def _found(self, key: SessionKey, low: str, high: str) -> Iterator[Item]:
        between = {":pk": keys.session_pk(key), ":low": low, ":high": high}
        condition = "pk = :pk AND sk BETWEEN :low AND :high"
        if not low:
            del between[":low"], between[":high"]
            condition = "pk = :pk"
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": to_item(between),
            "ProjectionExpression": "pk, sk, #created, #commit",
            "ExpressionAttributeNames": _NAMES,
            "ConsistentRead": True,
        }
        return query_all(self._client, request, self._pace)

    def _delete(self, item: Item, condition: str, values: dict[str, str]) -> None:
        """Delete an item if it is still what was found; if not, it is somebody else's."""
        names = {tag: name for tag, name in _NAMES.items() if tag in condition}
        if_holds(
            self._pace,
            lambda: self._client.delete_item(
                TableName=self._table,
                Key={name: item[name] for name in ("pk", "sk")},
                ConditionExpression=condition,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=to_item(values),
            ),
        )
