"""Sessions that are put aside: one conditional update each, on a head that need not be readable.

It must not judge whether a session deserves it. What is put aside stands in a partition of the
`due` index of its own, by the time at which that was done: a list that no sweep looks into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from everturn.errors import StoreRefused, VersionConflict
from everturn.ports.sessions import Head, Quarantine, SessionKey
from everturn.session.formats import FORMAT
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import query_all
from everturn.store.codec import opened, readable
from everturn.store.dynamo_errors import (
    AwsError,
    Fault,
    fault_of,
    if_holds,
    item_in,
    translated,
    when_free,
)
from everturn.store.heads import head_key
from everturn.store.pace import Pace
from everturn.store.tombstones import is_tombstone

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_NAMES: Final = {"#version": "version", "#format": "format", "#quarantined": "quarantined"}

_NOT_NEWER: Final = (
    "(attribute_not_exists(#format) OR NOT attribute_type(#format, :number) OR #format <= :format)"
)
"""Holds for what this code knows, and for what no code wrote."""

_ASIDE: Final = "SET #quarantined = :why, due_shard = :shard, due_epoch_s = :since"
_MOVED: Final = "#version = #version + :one"


class Quarantines:
    """The quarantined heads of a table."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._pace = pace

    def put(self, key: SessionKey, head: Head | None, why: Quarantine) -> bool:
        """Put a session aside; returns whether that is news.

        One UpdateItem. The version moves, so that a driver which is still at it loses its race;
        where it is no number, a second request leaves it alone.
        """
        condition = f"attribute_exists(pk) AND attribute_not_exists(#quarantined) AND {_NOT_NEWER}"
        names: dict[str, str] = dict(_NAMES)
        values: dict[str, Any] = {
            ":why": {"reason": why.reason, "at": why.at_ms, "wake": why.wake},
            ":shard": keys.QUARANTINE_SHARD,
            ":since": why.at_ms // 1000,
        }
        if head is not None:
            condition += " AND #version = :version AND #created = :created"
            names["#created"] = "created"
            values |= {":version": head.version, ":created": head.created}
        try:
            refused = self._update(key, f"{_ASIDE}, {_MOVED}", condition, names, values)
        except StoreRefused:
            if head is not None:
                raise
            refused = self._update(key, _ASIDE, condition, names, values)
        if refused is None:
            return True
        if not refused or "quarantined" in refused or is_tombstone(refused):
            return False
        opened(refused)
        raise VersionConflict(f"{key.session} moved on before it was quarantined")

    def lift(self, key: SessionKey, due_epoch_s: int | None) -> tuple[str, int] | None:
        """End a quarantine, back in a swept shard where a time is given: one UpdateItem.

        Returns `(created, version)`, `None` where the session is not quarantined.
        """
        expression = f"SET {_MOVED}"
        removed = "#quarantined, due_epoch_s, due_shard"
        values: dict[str, Any] = {}
        if due_epoch_s is not None:
            expression += ", due_epoch_s = :due, due_shard = :shard"
            removed = "#quarantined"
            values = {":due": due_epoch_s, ":shard": keys.due_shard(key)}
        condition = f"attribute_exists(#quarantined) AND {_NOT_NEWER}"
        request = self._request(key, f"{expression} REMOVE {removed}", condition, _NAMES, values)
        try:
            answer = when_free(
                self._pace,
                lambda: self._client.update_item(**request, ReturnValues="ALL_NEW"),
            )
        except AwsError as error:
            if fault_of(error) is not Fault.CONDITION:
                raise translated(error) from error
            found = item_in(error) or {}
            if not is_tombstone(found):
                opened(found)
            return None
        after: Mapping[str, Any] = answer["Attributes"]
        with readable({"sk": keys.HEAD}):
            return after["created"]["S"], int(after["version"]["N"])

    def all(self) -> Iterator[SessionKey]:
        """Yield every quarantined session, the first one first, eventually consistent.

        One Query for each MB of keys.
        """
        request: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": keys.DUE_INDEX,
            "KeyConditionExpression": "due_shard = :shard",
            "ExpressionAttributeValues": to_item({":shard": keys.QUARANTINE_SHARD}),
        }
        for item in query_all(self._client, request, self._pace):
            yield keys.session_of(item["pk"]["S"])

    def _update(
        self,
        key: SessionKey,
        expression: str,
        condition: str,
        names: Mapping[str, str],
        values: Mapping[str, Any],
    ) -> Item | None:
        """Update a head; returns what stands there where the condition does not hold."""
        request = self._request(key, expression, condition, names, values)
        return if_holds(self._pace, lambda: self._client.update_item(**request))

    def _request(
        self,
        key: SessionKey,
        expression: str,
        condition: str,
        names: Mapping[str, str],
        values: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return an update with the names and values that it uses, and no other."""
        known: dict[str, Any] = {":format": FORMAT, ":number": "N"}
        if _MOVED in expression:
            known[":one"] = 1
        used = {tag: name for tag, name in names.items() if tag in f"{expression} {condition}"}
        return {
            "TableName": self._table,
            "Key": head_key(key),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": used,
            "ExpressionAttributeValues": to_item({**known, **values}),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
