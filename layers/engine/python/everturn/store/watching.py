"""Who reads a session, the frames they are shown meanwhile, and sessions that nobody looks after.

It must not decide who is shown what.
"""

from __future__ import annotations

from json import loads
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.protocol.json_text import compact
from everturn.session.events.stored import FORMAT
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.codec import opened
from everturn.store.compression import pack, unpack
from everturn.store.dynamo_errors import Fault, dynamo_errors, fault_of, when_free
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_PREFIX: Final = "watcher#"
"""Each subscription is an attribute `watcher#<connection>#<subscription>`, its value the turn:
several come and go without meeting, and without a map that has to be there first."""

_ROTATION_S: Final = 300
"""A sweep begins at the next shard after so long, so that a limit starves none of them."""


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

    def add(self, key: SessionKey, watcher: Watcher) -> None:
        """Record a subscription: one UpdateItem."""
        name = f"{_PREFIX}{watcher.connection_id}#{watcher.subscription}"
        with dynamo_errors():
            when_free(
                self._pace,
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=watch_key(key),
                    UpdateExpression="SET #watcher = :turn, #format = :format",
                    ExpressionAttributeNames={"#watcher": name, "#format": "format"},
                    ExpressionAttributeValues=to_item(
                        {":turn": watcher.turn_id, ":format": FORMAT}
                    ),
                ),
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

    def reader_until(self, key: SessionKey, until_ms: int) -> None:
        """Move the time up to which a long-poll reader is there forward: one UpdateItem."""
        self._update_if(
            UpdateExpression="SET reader_until_ms = :until, #format = :format",
            ConditionExpression="attribute_not_exists(reader_until_ms) OR reader_until_ms < :until",
            ExpressionAttributeNames={"#format": "format"},
            ExpressionAttributeValues=to_item({":until": until_ms, ":format": FORMAT}),
            Key=watch_key(key),
        )

    def _update_if(self, **request: Any) -> None:
        """Update an item if its condition holds; if it does not, nothing was left to do."""
        with dynamo_errors():
            try:
                when_free(
                    self._pace,
                    lambda: self._client.update_item(TableName=self._table, **request),
                )
            except ClientError as error:
                if fault_of(error) is not Fault.CONDITION:
                    raise

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
            "expires_epoch_s": expires_epoch_s,
        }
        with dynamo_errors():
            self._client.put_item(TableName=self._table, Item=to_item(values))

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
        found: list[SessionKey] = []
        first = now_epoch_s // _ROTATION_S % len(keys.DUE_SHARDS)
        for shard in (*keys.DUE_SHARDS[first:], *keys.DUE_SHARDS[:first]):
            if len(found) >= limit:
                break
            answer = self._query(
                IndexName=keys.DUE_INDEX,
                KeyConditionExpression="due_shard = :shard AND due_epoch_s <= :now",
                ExpressionAttributeValues=to_item({":shard": shard, ":now": now_epoch_s}),
                Limit=limit - len(found),
            )
            found += [keys.session_of(item["pk"]["S"]) for item in answer["Items"]]
        return tuple(found)

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
        Watcher(connection_id, subscription, values[f"{_PREFIX}{connection_id}#{subscription}"])
        for _, connection_id, subscription in names
    )
    return Watch(watchers, values.get("reader_until_ms", 0))


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
    )
