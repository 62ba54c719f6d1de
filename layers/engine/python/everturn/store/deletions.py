"""Deleting a session: a tombstone first, then all else, the tombstone last, after any crash.

It must not decide who may delete what. Items go in transactions that hold only while the tombstone
stands: whoever is slow can never meet a new session of the same id. Source: docs/storage.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from json import loads
from typing import TYPE_CHECKING, Any, Final

from everturn.errors import StoreUnreadable
from everturn.ports.lists import Deletion, Incarnation
from everturn.ports.sessions import SessionKey
from everturn.protocol.limits import DYNAMODB_TRANSACTION_ITEMS
from everturn.store import keys
from everturn.store.attributes import Item, from_item, to_item
from everturn.store.batches import batch_get, chunks
from everturn.store.blobs import ErasableBlobs
from everturn.store.codec import opened, readable
from everturn.store.compression import unpack
from everturn.store.due import past_due
from everturn.store.dynamo_errors import (
    AwsError,
    Fault,
    dynamo_errors,
    fault_of,
    if_holds,
    item_in,
    translated,
    when_free,
)
from everturn.store.heads import Heads, head_key
from everturn.store.late_writes import LateWrites
from everturn.store.pace import Pace
from everturn.store.tombstones import DELETED, gone, is_tombstone, text_in, tombstone

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BATCH: Final = DYNAMODB_TRANSACTION_ITEMS - 1
"""Items deleted at once; the hundredth action looks at the tombstone."""


class Deletions:
    """The deleted sessions of a table and a bucket."""

    def __init__(
        self, table: str, client: DynamoDBClient, blobs: ErasableBlobs, pace: Pace
    ) -> None:
        self._table = table
        self._client = client
        self._blobs = blobs
        self._pace = pace
        self._heads = Heads(table, client, pace)
        self._late = LateWrites(table, client, pace)

    def incarnation(self, key: SessionKey) -> Incarnation | None:
        """Return who a session is: one GetItem. Raises `NewerFormat`."""
        item = self._heads.item(key)
        if item is None or is_tombstone(item):
            return None
        with suppress(StoreUnreadable):
            opened(item)  # what is newer than this code is not its to delete
        return Incarnation(text_in(item, "created"), _owner_of(key, item))

    def mark_deleted(self, key: SessionKey, created: str, mark: str, due_epoch_s: int) -> bool:
        """Put a tombstone in the place of a head: one PutItem; after a lost answer one GetItem."""
        condition = "attribute_exists(pk) AND attribute_not_exists(#deleted)"
        request: dict[str, Any] = {
            "TableName": self._table,
            "Item": tombstone(key, created, mark, due_epoch_s),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {"#deleted": DELETED},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if created:
            request["ConditionExpression"] += " AND #created = :created"
            request["ExpressionAttributeNames"]["#created"] = "created"
            request["ExpressionAttributeValues"] = to_item({":created": created})
        try:
            when_free(self._pace, lambda: self._client.put_item(**request))
        except AwsError as error:
            match fault_of(error):
                case Fault.CONDITION:
                    return text_in(item_in(error) or {}, DELETED) == mark
                case Fault.UNCLEAR if text_in(self._heads.item(key) or {}, DELETED) == mark:
                    return True
                case _:
                    raise translated(error) from error
        return True

    def erase(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Delete items, then objects: a Query for each MB, a transaction for each 99 items.

        Returns `False` where time was over; a part is done in any case.
        """
        while left := self._left(key):
            for batch in chunks(left, BATCH):
                if not self._delete(key, created, batch):
                    return True
                if is_over():
                    return False
        return not created or self._blobs.remove(keys.body_objects(key, created), is_over)

    def release_id(self, key: SessionKey, created: str, due_epoch_s: int) -> None:
        """Note what was deleted, then delete the tombstone: one PutItem, one DeleteItem."""
        note = gone(key, created, due_epoch_s)
        with dynamo_errors():
            when_free(self._pace, lambda: self._client.put_item(TableName=self._table, Item=note))
        self._while_it_stands(
            lambda: self._client.delete_item(
                TableName=self._table, Key=head_key(key), **_is_deleted(created)
            )
        )

    def erase_late(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """Delete late writes and the note: one GetItem, Queries, a DeleteItem for each."""
        if created:
            item = self._heads.item(key)
            if not self._late.erase(key, created, is_over, is_free=item is None):
                return False
            if not self._blobs.remove(keys.body_objects(key, created), is_over):
                return False
        note = gone(key, created, 0)
        named = {name: note[name] for name in ("pk", "sk")}
        with dynamo_errors():
            when_free(
                self._pace, lambda: self._client.delete_item(TableName=self._table, Key=named)
            )
        return True

    def deletions(self, now_epoch_s: int, limit: int) -> tuple[Deletion, ...]:
        """Return what is left to do: at most one Query a shard, a BatchGetItem for tombstones."""
        entries = past_due(
            self._client, self._table, self._pace, keys.DELETED_SHARDS, now_epoch_s, limit
        )
        notes: list[Item] = []
        heads: list[Item] = []
        for entry in entries:
            is_note = entry["pk"]["S"].startswith(keys.GONE_PREFIX)
            (notes if is_note else heads).append({name: entry[name] for name in ("pk", "sk")})
        stones = (
            Deletion(keys.session_of(item["pk"]["S"]), text_in(item, "created"), is_gone=False)
            for item in batch_get(self._client, self._table, heads, self._pace)
            if is_tombstone(item)
        )
        return (*stones, *(_noted(note) for note in notes))

    def _left(self, key: SessionKey) -> list[tuple[str, str]]:
        """Return the keys of some of what stands beside the tombstone, pointers to runs with them.

        None where nothing is left.
        """
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": to_item({":pk": keys.session_pk(key)}),
            "ProjectionExpression": "sk, #run",
            "ExpressionAttributeNames": {"#run": "run"},
            "ConsistentRead": True,
        }
        while True:
            with dynamo_errors():
                answer = when_free(self._pace, lambda: self._client.query(**request))
            found = [item for item in answer["Items"] if item["sk"]["S"] != keys.HEAD]
            if found or "LastEvaluatedKey" not in answer:
                return [place for item in found for place in _places_of(key, item)]
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _delete(self, key: SessionKey, created: str, places: list[tuple[str, str]]) -> bool:
        """Delete items while the tombstone stands; returns whether it does."""
        check = {"TableName": self._table, "Key": head_key(key), **_is_deleted(created)}
        actions: list[Any] = [{"ConditionCheck": check}]
        actions += [
            {"Delete": {"TableName": self._table, "Key": to_item({"pk": pk, "sk": sk})}}
            for pk, sk in places
        ]
        return self._while_it_stands(
            lambda: self._client.transact_write_items(TransactItems=actions)
        )

    def _while_it_stands(self, request: Callable[[], Any]) -> bool:
        """Make a request; returns whether its condition, that the tombstone stands, held."""
        return if_holds(self._pace, request) is None


def _places_of(key: SessionKey, item: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the key of an item of a session; of a run's the pointer's as well, which goes first.

    Otherwise nothing would be left that leads to the pointer, should the rest fail.
    """
    sk = item["sk"]["S"]
    own = (keys.session_pk(key), sk)
    if "run" not in item:
        return [own]
    return [(keys.run_pk(key.tenant, keys.turn_of(sk)), keys.META), own]


def _is_deleted(created: str) -> dict[str, Any]:
    """Return the condition that a tombstone of that incarnation stands."""
    names = {"#deleted": DELETED, "#created": "created"}
    if not created:
        condition = "attribute_exists(#deleted) AND attribute_not_exists(#created)"
        return {"ConditionExpression": condition, "ExpressionAttributeNames": names}
    return {
        "ConditionExpression": "attribute_exists(#deleted) AND #created = :created",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": to_item({":created": created}),
    }


def _noted(note: Item) -> Deletion:
    created = note["sk"]["S"]
    return Deletion(
        keys.session_of(note["pk"]["S"]), "" if created == keys.META else created, is_gone=True
    )


def _owner_of(key: SessionKey, item: Item) -> str | None:
    """Return the owner that a head names; one of before the `owned` index has it in its state."""
    owned = text_in(item, "owned_pk")
    if owned:
        return owned.removeprefix(keys.owned_pk(key.tenant, ""))
    with suppress(StoreUnreadable), readable(item):
        state = from_item({"state": item["state"]})["state"]
        return str(loads(unpack(state)).get("owner_id", ""))
    return None
