"""Reading heads: the item, and the sections beside it when it says that there are some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from everturn.errors import StoreUnavailable
from everturn.ports.sessions import Head, SessionKey
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import query_all
from everturn.store.codec import from_head_items, opened_head, unreadable
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.pace import Pace
from everturn.store.tombstones import is_tombstone

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TORN_READS: Final = 5
"""How often head and sections may be read that do not fit each other."""


class Heads:
    """The head items of a table."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._pace = pace

    def read(self, key: SessionKey) -> Head | None:
        """Return the head: one GetItem, and one Query if it has sections."""
        return self.complete(key, self.item(key))

    def complete(self, key: SessionKey, item: Item | None) -> Head | None:
        """Return the head of an item at hand: one Query if it has sections, else no request.

        A tombstone is none: its session is deleted.
        Sections that do not fit are those of another commit, or gone. All reads are consistent: it
        is the latter where the head stays the same all the time. That is `StoreUnreadable`.
        """
        seen = set()
        for _ in range(TORN_READS):
            if item is None or is_tombstone(item):
                return None
            values = opened_head(item)
            head = from_head_items(values, self._sections(key) if "sections" in values else ())
            if head:
                return head
            seen.add((values.get("version"), values.get("created")))
            self._pace.pause()
            item = self.item(key)
        if len(seen) > 1:
            raise StoreUnavailable(f"the head of {key.session} changes faster than it is read")
        raise unreadable(key, values, f"sections of the head of {key.session} are missing")

    def has_commit(self, key: SessionKey, last_seq: int, commit_id: str) -> bool:
        """Return whether the log item that ends with `last_seq` is of that commit: one GetItem."""
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.get_item(
                    TableName=self._table,
                    Key=to_item({"pk": keys.session_pk(key), "sk": keys.log_sk(last_seq)}),
                    ProjectionExpression="commit_id",
                    ConsistentRead=True,
                ),
            )
        return answer.get("Item", {}).get("commit_id", {}).get("S") == commit_id

    def item(self, key: SessionKey) -> Item | None:
        """Return the head's item, a tombstone as well: one GetItem."""
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.get_item(
                    TableName=self._table, Key=head_key(key), ConsistentRead=True
                ),
            )
        return answer.get("Item")

    def _sections(self, key: SessionKey) -> list[Item]:
        prefix = {":pk": keys.session_pk(key), ":prefix": keys.SECTION_PREFIX}
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
            "ExpressionAttributeValues": to_item(prefix),
            "ConsistentRead": True,
        }
        return list(query_all(self._client, request, self._pace))


def head_key(key: SessionKey) -> Item:
    """Return the key of the head item."""
    return to_item({"pk": keys.session_pk(key), "sk": keys.HEAD})
