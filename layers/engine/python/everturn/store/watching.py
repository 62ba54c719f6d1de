"""Who reads a session, the frames they are shown meanwhile, and sessions that nobody looks after.

It must not decide who is shown what.
"""

from __future__ import annotations

from dataclasses import replace
from json import loads
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.protocol.json_text import compact
from everturn.session.formats import FORMAT
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.codec import opened
from everturn.store.compression import pack, unpack
from everturn.store.due import past_due
from everturn.store.dynamo_errors import Fault, dynamo_errors, fault_of, if_holds, when_free
from everturn.store.pace import Pace
from everturn.store.tombstones import text_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FRONTEND: Final = "frontend"
_PREFIX: Final = "watcher#"
"""Each subscription is an attribute `watcher#<connection>#<subscription>`, its value the turn and,
where it ends by itself, a space and the second: several come and go without meeting, and without a
map that has to be there first."""


class Watching:
    """The watch items, frames and due sessions of a table."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._pace = pace

    def watch(self, key: SessionKey) -> Watch:
        """Return who reads the session: one GetItem."""
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.get_item(
                    TableName=self._table, Key=watch_key(key), ConsistentRead=True
                ),
            )
        return to_watch(answer.get("Item"))

    def add(self, key: SessionKey, watcher: Watcher, created: str) -> None:
        """Record a subscription: one UpdateItem."""
        name = f"{_PREFIX}{watcher.connection_id}#{watcher.subscription}"
        self._note(key, created, name, _wish_of(watcher))

    def extend(self, key: SessionKey, connection_id: str, until_epoch_s: int | None) -> None:
        """Move the end of a connection's subscriptions: one GetItem, an UpdateItem for each."""
        for watcher in self.watch(key).watchers:
            if watcher.connection_id == connection_id:
                later = replace(watcher, until_epoch_s=until_epoch_s)
                self._update_if(
                    UpdateExpression="SET #watcher = :wish",
                    ConditionExpression="attribute_exists(#watcher)",
                    ExpressionAttributeNames={
                        "#watcher": f"{_PREFIX}{connection_id}#{watcher.subscription}"
                    },
                    ExpressionAttributeValues=to_item({":wish": _wish_of(later)}),
                    Key=watch_key(key),
                )

    def remove(self, key: SessionKey, connection_id: str, subscription: str) -> None:
        """Forget a subscription: one UpdateItem; all of a connection: one GetItem before it."""
        gone = [subscription]
        if not subscription:
            watchers = self.watch(key).watchers
            gone = [one.subscription for one in watchers if one.connection_id == connection_id]
        if not gone:
            return
        names = {f"#{n}": f"{_PREFIX}{connection_id}#{one}" for n, one in enumerate(gone)}
        self._update_if(
            UpdateExpression="REMOVE " + ", ".join(names),
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeNames=names,
            Key=watch_key(key),
        )

    def reader_until(self, key: SessionKey, until_ms: int, created: str) -> None:
        """Move the time up to which a long-poll reader is there forward: one UpdateItem."""
        later = "attribute_not_exists(#what) OR #what < :value"
        self._note(key, created, "reader_until_ms", until_ms, later)

    def _note(
        self, key: SessionKey, created: str, name: str, value: str | int, condition: str = ""
    ) -> None:
        """Set an attribute; readers that an earlier incarnation left behind are replaced.

        Nothing happens where a later one has begun, or the condition does not hold.
        """
        sets, conditions = "SET #what = :value, #format = :format", [condition] * bool(condition)
        values: dict[str, Any] = {":value": value, ":format": FORMAT}
        if created:
            sets += ", created = :created"
            conditions.append("attribute_not_exists(created) OR created = :created")
            values[":created"] = created
        request: dict[str, Any] = {
            "UpdateExpression": sets,
            "ExpressionAttributeNames": {"#what": name, "#format": "format"},
            "ExpressionAttributeValues": to_item(values),
            "Key": watch_key(key),
        }
        if conditions:
            whole = " AND ".join(f"({one})" for one in conditions)
            request |= {
                "ConditionExpression": whole,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        before = self._update_if(**request)
        if before and created and text_in(before, "created") < created:
            fresh = watch_key(key) | to_item({name: value, "format": FORMAT, "created": created})
            if_holds(
                self._pace,
                lambda: self._client.put_item(
                    TableName=self._table,
                    Item=fresh,
                    ConditionExpression="created < :created",
                    ExpressionAttributeValues=to_item({":created": created}),
                ),
            )

    def _update_if(self, **request: Any) -> Item | None:
        """Update an item if its condition holds; returns what stands there if it does not."""
        return if_holds(
            self._pace, lambda: self._client.update_item(TableName=self._table, **request)
        )

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        """Keep a frame: one PutItem, one write unit up to a KB."""
        values = {
            "pk": keys.session_pk(key),
            "sk": keys.delta_sk(delta.dispatch_seq, delta.n),
            "format": FORMAT,
            "call_id": delta.call_id,
            "attempt": delta.attempt,
            "turn_id": delta.turn_id,
            "body": pack(compact(dict(delta.body))),
            "merged_from": delta.merged_from or None,
            "created": delta.created or None,
            "expires_epoch_s": expires_epoch_s,
        }
        request: dict[str, Any] = {"TableName": self._table, "Item": to_item(values)}
        if delta.created:
            not_later = "attribute_not_exists(created) OR created <= :created"
            request["ConditionExpression"] = not_later
            request["ExpressionAttributeValues"] = to_item({":created": delta.created})
        with dynamo_errors():
            try:
                self._client.put_item(**request)
            except ClientError as error:
                if fault_of(error) is not Fault.CONDITION:
                    raise

    def deltas(
        self, key: SessionKey, dispatch_seq: int, after_n: int, limit: int
    ) -> tuple[Delta, ...]:
        """Return the frames after a place: one Query for each MB."""
        found: list[Item] = []
        low = keys.delta_sk(dispatch_seq, after_n + 1)
        while len(found) < limit:
            between = {
                ":pk": keys.session_pk(key),
                ":low": low,
                ":high": keys.delta_sk(keys.LAST_SEQ, 0),
            }
            answer = self._query(
                KeyConditionExpression="pk = :pk AND sk BETWEEN :low AND :high",
                ExpressionAttributeValues=to_item(between),
                ConsistentRead=True,
                Limit=limit - len(found),
            )
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                break
            reached, n = keys.delta_place(answer["LastEvaluatedKey"]["sk"]["S"])
            low = keys.delta_sk(reached, n + 1)
        return tuple(to_delta(item) for item in found)

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        """Return sessions past their time, eventually consistent: at most one Query a shard."""
        found = past_due(self._client, self._table, self._pace, keys.DUE_SHARDS, now_epoch_s, limit)
        return tuple(keys.session_of(item["pk"]["S"]) for item in found)

    def _query(self, **request: Any) -> dict[str, Any]:
        with dynamo_errors():
            answer = when_free(
                self._pace, lambda: self._client.query(TableName=self._table, **request)
            )
        return dict(answer)


def watch_key(key: SessionKey) -> Item:
    """Return the key of the watch item."""
    return to_item({"pk": keys.session_pk(key), "sk": keys.WATCH})


def to_watch(item: Item | None) -> Watch:
    """Return what a watch item says; nobody reads where there is none. Raises `NewerFormat`."""
    if item is None:
        return Watch()
    values = opened(item)
    names = sorted(name.split("#", 2) for name in values if name.startswith(_PREFIX))
    watchers = tuple(
        _watcher(connection_id, subscription, values[f"{_PREFIX}{connection_id}#{subscription}"])
        for _, connection_id, subscription in names
    )
    return Watch(watchers, values.get("reader_until_ms", 0), values.get("created", ""))


def _wish_of(watcher: Watcher) -> str:
    """Return what stands under a subscription's name; ids hold no space. Source: O-9."""
    until = "" if watcher.until_epoch_s is None else str(watcher.until_epoch_s)
    marks = (watcher.turn_id, until, FRONTEND if watcher.frontend else "")
    return " ".join(marks).rstrip()


def _watcher(connection_id: str, subscription: str, wish: str) -> Watcher:
    turn_id, until, mark = [*wish.split(" "), "", ""][:3]
    until_epoch_s = int(until) if until else None
    return Watcher(connection_id, subscription, turn_id, until_epoch_s, mark == FRONTEND)


def to_delta(item: Item) -> Delta:
    """Return the frame of an item. Raises `NewerFormat`."""
    values = opened(item)
    dispatch_seq, n = keys.delta_place(values["sk"])
    return Delta(
        dispatch_seq=dispatch_seq,
        n=n,
        call_id=values["call_id"],
        attempt=values["attempt"],
        turn_id=values["turn_id"],
        body=loads(unpack(values["body"])),
        merged_from=values.get("merged_from", 0),
        created=values.get("created", ""),
    )
