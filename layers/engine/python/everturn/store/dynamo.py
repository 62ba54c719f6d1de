"""`SessionStore` on one DynamoDB table and one bucket: each method in the fewest requests.

It must not decide anything; what an item holds is `codec`'s, how a commit gets in is `writer`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from everturn.errors import VersionConflict
from everturn.ports.lists import Deletion, Incarnation, ListPage
from everturn.ports.sessions import (
    Head,
    Logged,
    NewCommit,
    NodePlace,
    Owner,
    Quarantine,
    SessionKey,
    TurnRecord,
    VersionKind,
)
from everturn.ports.streams import Delta, Watch, Watcher
from everturn.session.events.tree import Stretch
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import batch_get
from everturn.store.blobs import ErasableBlobs
from everturn.store.codec import opened
from everturn.store.deletions import Deletions
from everturn.store.dynamo_errors import (
    AwsError,
    Fault,
    dynamo_errors,
    fault_of,
    item_in,
    translated,
    when_free,
)
from everturn.store.heads import Heads, head_key
from everturn.store.lists import Lists
from everturn.store.logs import Logs
from everturn.store.pace import Pace
from everturn.store.plan import plan_of, update_of
from everturn.store.quarantine import Quarantines
from everturn.store.surplus import landed
from everturn.store.tree import Trees
from everturn.store.watching import Watching, to_watch, watch_key
from everturn.store.writer import Writer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoSessionStore:
    """`SessionStore`; safe among threads as far as its clients are."""

    def __init__(
        self, table: str, client: DynamoDBClient, blobs: ErasableBlobs, pace: Pace | None = None
    ) -> None:
        self._table = table
        self._client = client
        self._blobs = blobs
        self._pace = pace or Pace()
        self._heads = Heads(table, client, self._pace)
        self._logs = Logs(table, client, blobs, self._pace)
        self._writer = Writer(table, client, self._heads, self._pace)
        self._watching = Watching(table, client, self._pace)
        self._quarantines = Quarantines(table, client, self._pace)
        self._lists = Lists(table, client, self._heads, self._pace)
        self._trees = Trees(table, client, self._pace)
        self._deletions = Deletions(table, client, blobs, self._pace)

    def head(self, key: SessionKey) -> Head | None:
        """One GetItem; one Query more while the head has sections."""
        return self._heads.read(key)

    def head_and_turn(self, key: SessionKey, turn_id: str) -> tuple[Head | None, TurnRecord | None]:
        """One TransactGetItems; one Query more while the head has sections."""
        turn_key = to_item({"pk": keys.session_pk(key), "sk": keys.turn_sk(turn_id)})
        wanted: Any = [
            {"Get": {"TableName": self._table, "Key": one}} for one in (head_key(key), turn_key)
        ]
        with dynamo_errors():
            answer = when_free(
                self._pace, lambda: self._client.transact_get_items(TransactItems=wanted)
            )
        head, turn = (one.get("Item") for one in answer["Responses"])
        return self._heads.complete(key, head), to_turn(turn_id, turn)

    def head_and_watch(self, key: SessionKey) -> tuple[Head | None, Watch]:
        """One BatchGetItem; one Query more while the head has sections."""
        wanted = (head_key(key), watch_key(key))
        found = {
            item["sk"]["S"]: item
            for item in batch_get(self._client, self._table, wanted, self._pace)
        }
        head = self._heads.complete(key, found.get(keys.HEAD))
        return head, to_watch(found.get(keys.WATCH))

    def nodes(self, key: SessionKey, ids: Sequence[str]) -> dict[str, NodePlace]:
        """One BatchGetItem for each 100 ids; one more where some were surplus of their commit."""
        pk = keys.session_pk(key)
        wanted = [to_item({"pk": pk, "sk": keys.node_sk(one)}) for one in dict.fromkeys(ids)]
        items = batch_get(self._client, self._table, wanted, self._pace)
        places = [
            NodePlace(keys.id_of(one["sk"]), one["seq"], one["branch"], one["depth"])
            for one in landed(self._client, self._table, items, self._pace)
        ]
        return {place.id: place for place in places}

    def branches(self, key: SessionKey, numbers: Collection[int]) -> dict[int, int]:
        """One BatchGetItem for each 100."""
        return self._trees.branches(key, numbers)

    def version(
        self, key: SessionKey, kind: VersionKind, stretches: Sequence[Stretch]
    ) -> int | None:
        """One Query for each stretch from the end on, see `Trees.version`."""
        return self._trees.version(key, kind, stretches)

    def log(self, key: SessionKey, from_seq: int, to_seq: int | None = None) -> tuple[Logged, ...]:
        """One Query for each MB; one more where `to_seq` is not the end of a commit."""
        return self._logs.between(key, from_seq, to_seq)

    def page(self, key: SessionKey, after_seq: int, limit: int) -> tuple[Logged, ...]:
        """One Query for each MB."""
        return self._logs.between(key, after_seq + 1, None, limit)

    def materialise(self, key: SessionKey, logged: Sequence[Logged]) -> tuple[Logged, ...]:
        """No request where nothing is referred to; see `Logs.materialise`."""
        return self._logs.materialise(key, logged)

    def append(self, commit: NewCommit) -> Head:
        """One TransactWriteItems, one PUT for each large body before it; see `Writer.write`."""
        return self._writer.write(plan_of(self._table, commit, self._blobs))

    def claim(self, key: SessionKey, head: Head, owner: Owner) -> Head:
        """One UpdateItem; after a lost answer one GetItem tells whether it held."""
        held = {"epoch": owner.epoch, "request_id": owner.request_id}
        values = {"version": head.version + 1, "owner": held}
        try:
            update = update_of(self._table, key, values, head)
            when_free(self._pace, lambda: self._client.update_item(**update))
        except AwsError as error:
            return self._claimed(key, head, owner, error)
        return replace(head, version=head.version + 1, owner=owner)

    def _claimed(
        self, key: SessionKey, head: Head, owner: Owner, error: ClientError | BotoCoreError
    ) -> Head:
        """Return the claimed head if the claim held in spite of `error`."""
        match fault_of(error):
            case Fault.CONDITION:
                now = self._heads.complete(key, item_in(error))
            case Fault.UNCLEAR:
                now = self._heads.read(key)
            case Fault.CONTENDED | Fault.THROTTLED | Fault.REFUSED:
                raise translated(error) from error
        if now == head:
            raise translated(error) from error
        if now == replace(head, version=head.version + 1, owner=owner):
            return now
        message = f"{key.session} moved past version {head.version}"
        raise VersionConflict(message, head=now) from error

    def quarantine(self, key: SessionKey, head: Head | None, why: Quarantine) -> bool:
        """One UpdateItem."""
        return self._quarantines.put(key, head, why)

    def lift(self, key: SessionKey, due_epoch_s: int | None) -> tuple[str, int] | None:
        """One UpdateItem."""
        return self._quarantines.lift(key, due_epoch_s)

    def quarantined(self) -> Iterator[SessionKey]:
        """One Query of the `due` index for each MB of keys."""
        return self._quarantines.all()

    def watch(self, key: SessionKey) -> Watch:
        """One GetItem."""
        return self._watching.watch(key)

    def add_watcher(self, key: SessionKey, watcher: Watcher, created: str = "") -> None:
        """One UpdateItem; one PutItem more where an earlier incarnation left readers behind."""
        self._watching.add(key, watcher, created)

    def remove_watcher(self, key: SessionKey, connection_id: str, subscription: str = "") -> None:
        """One UpdateItem; one GetItem before it where all of a connection go."""
        self._watching.remove(key, connection_id, subscription)

    def extend_watchers(
        self, key: SessionKey, connection_id: str, until_epoch_s: int | None
    ) -> None:
        """One GetItem, and one UpdateItem for each subscription."""
        self._watching.extend(key, connection_id, until_epoch_s)

    def reader_until(self, key: SessionKey, until_ms: int, created: str = "") -> None:
        """One UpdateItem; one PutItem more where an earlier incarnation left readers behind."""
        self._watching.reader_until(key, until_ms, created)

    def put_delta(self, key: SessionKey, delta: Delta, expires_epoch_s: int) -> None:
        """One PutItem."""
        self._watching.put_delta(key, delta, expires_epoch_s)

    def deltas(
        self, key: SessionKey, dispatch_seq: int, after_n: int, limit: int
    ) -> tuple[Delta, ...]:
        """One Query for each MB."""
        return self._watching.deltas(key, dispatch_seq, after_n, limit)

    def due(self, now_epoch_s: int, limit: int) -> tuple[SessionKey, ...]:
        """One Query for each of 16 shards, fewer once `limit` is reached."""
        return self._watching.due(now_epoch_s, limit)

    def listed(self, tenant: str, after: str, limit: int) -> ListPage:
        """One Query; one BatchGetItem for each 100; one Query for each head with sections."""
        return self._lists.listed(tenant, after, limit)

    def owned(self, tenant: str, owner: str, after: str, limit: int) -> ListPage:
        """The same requests as `listed`."""
        return self._lists.owned(tenant, owner, after, limit)

    def incarnation(self, key: SessionKey) -> Incarnation | None:
        """One GetItem."""
        return self._deletions.incarnation(key)

    def mark_deleted(self, key: SessionKey, created: str, mark: str, due_epoch_s: int) -> bool:
        """One PutItem."""
        return self._deletions.mark_deleted(key, created, mark, due_epoch_s)

    def erase(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """One Query for each MB, one TransactWriteItems for each 99 items; see `Blobs.remove`."""
        return self._deletions.erase(key, created, is_over)

    def release_id(self, key: SessionKey, created: str, due_epoch_s: int) -> None:
        """One PutItem, one DeleteItem."""
        self._deletions.release_id(key, created, due_epoch_s)

    def erase_late(self, key: SessionKey, created: str, is_over: Callable[[], bool]) -> bool:
        """One GetItem, one or two Queries, one LIST, one DeleteItem and one for each late item."""
        return self._deletions.erase_late(key, created, is_over)

    def deletions(self, now_epoch_s: int, limit: int) -> tuple[Deletion, ...]:
        """One Query for each of 4 shards; one BatchGetItem where there are tombstones."""
        return self._deletions.deletions(now_epoch_s, limit)


def to_turn(turn_id: str, item: Item | None) -> TurnRecord | None:
    """Return what an item says about a turn. Raises `NewerFormat`."""
    if item is None:
        return None
    values = opened(item)
    return TurnRecord(
        turn_id=turn_id,
        number=values.get("number", 0),
        first_seq=values.get("first_seq", 0),
        last_seq=values.get("last_seq", 0),
        outcome=values.get("outcome", ""),
        alias_of=values.get("alias_of", ""),
        is_run="run" in values,
    )
