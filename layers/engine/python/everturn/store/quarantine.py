"""Sessions that are put aside: one conditional update each, on a head that need not be readable.

It must not judge whether a session deserves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from everturn.errors import VersionConflict
from everturn.ports.sessions import Head, Quarantine, SessionKey
from everturn.session.events.stored import FORMAT
from everturn.store import keys
from everturn.store.attributes import from_item, to_item
from everturn.store.codec import opened
from everturn.store.dynamo_errors import (
    AwsError,
    Fault,
    dynamo_errors,
    fault_of,
    item_in,
    translated,
    when_free,
)
from everturn.store.heads import head_key
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_NAMES = {"#version": "version", "#format": "format", "#quarantined": "quarantined"}


class Quarantines:
    """The quarantined heads of a table."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._pace = pace

    def put(self, key: SessionKey, head: Head | None, why: Quarantine) -> bool:
        """Put a session aside, out of the `due` index; returns whether that is news.

        One UpdateItem. The version moves, so that a driver which is still at it loses its race.
        """
        condition = "attribute_not_exists(#quarantined) AND #format <= :format"
        names: dict[str, str] = dict(_NAMES)
        values: dict[str, Any] = {
            ":why": {"reason": why.reason, "at": why.at_ms, "wake": why.wake},
            ":one": 1,
            ":format": FORMAT,
        }
        if head is not None:
            condition += " AND #version = :version AND #created = :created"
            names["#created"] = "created"
            values |= {":version": head.version, ":created": head.created}
        expression = (
            "SET #quarantined = :why, #version = #version + :one REMOVE due_epoch_s, due_shard"
        )
        refused = self._update(key, expression, condition, names, values)
        if refused is None:
            return True
        if not refused or "quarantined" in opened(refused):
            return False
        raise VersionConflict(f"{key.session} moved on before it was quarantined")

    def lift(self, key: SessionKey, due_epoch_s: int | None) -> tuple[str, int] | None:
        """End a quarantine, back in the `due` index where a time is given: one UpdateItem.

        Returns `(created, version)`, `None` where the session is not quarantined.
        """
        expression = "SET #version = #version + :one"
        values: dict[str, Any] = {":one": 1, ":format": FORMAT}
        if due_epoch_s is not None:
            expression += ", due_epoch_s = :due, due_shard = :shard"
            values |= {":due": due_epoch_s, ":shard": keys.due_shard(key)}
        condition = "attribute_exists(#quarantined) AND #format <= :format"
        request = self._request(key, f"{expression} REMOVE #quarantined", condition, _NAMES, values)
        try:
            answer = when_free(
                self._pace,
                lambda: self._client.update_item(**request, ReturnValues="ALL_NEW"),
            )
        except AwsError as error:
            if fault_of(error) is not Fault.CONDITION:
                raise translated(error) from error
            opened(item_in(error) or {})
            return None
        after = from_item(answer["Attributes"])
        return after["created"], after["version"]

    def all(self) -> Iterator[SessionKey]:
        """Yield every quarantined session: one Scan for each MB of the table."""
        request: dict[str, Any] = {
            "TableName": self._table,
            "FilterExpression": "sk = :head AND attribute_exists(#quarantined)",
            "ProjectionExpression": "pk",
            "ExpressionAttributeNames": {"#quarantined": "quarantined"},
            "ExpressionAttributeValues": to_item({":head": keys.HEAD}),
            "ConsistentRead": True,
        }
        while True:
            with dynamo_errors():
                answer = when_free(self._pace, lambda: self._client.scan(**request))
            for item in answer["Items"]:
                yield keys.session_of(item["pk"]["S"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _update(
        self,
        key: SessionKey,
        expression: str,
        condition: str,
        names: dict[str, str],
        values: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Update a head; returns what stands there where the condition does not hold."""
        request = self._request(key, expression, condition, names, values)
        try:
            when_free(self._pace, lambda: self._client.update_item(**request))
        except AwsError as error:
            if fault_of(error) is not Fault.CONDITION:
                raise translated(error) from error
            return item_in(error) or {}
        return None

    def _request(
        self,
        key: SessionKey,
        expression: str,
        condition: str,
        names: dict[str, str],
        values: dict[str, Any],
    ) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "Key": head_key(key),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": to_item(values),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
