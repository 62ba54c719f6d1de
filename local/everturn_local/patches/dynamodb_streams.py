"""DynamoDB stream records as AWS writes them, and a bell for their readers. No polling here.

Upstream gaps (moto 5.2.5): a write that changes nothing still yields a record; an UpdateItem that
creates an item yields two INSERT records; a cancelled transaction leaves its records in the stream.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import StreamShard

from everturn_local.bell import Bell
from everturn_local.patches.replacing import replaced

Change = tuple[StreamShard, Item | None, Item | None]


class _Held(threading.local):
    """Changes of the running request of this thread, not yet in the stream; None outside one."""

    changes: list[Change] | None = None


def _merged(changes: list[Change]) -> list[Change]:
    """One change an item: its first old image and its last new one, in order of first touch."""
    by_item: dict[Any, Change] = {}
    for shard, old, new in changes:
        item = old if old is not None else new
        if item is None:
            continue
        key = (id(shard), item.hash_key, item.range_key)
        first = by_item.get(key)
        by_item[key] = (shard, old if first is None else first[1], new)
    return list(by_item.values())


class _Emitter:
    """Adds changes to the stream: at once, or merged at the end of a request."""

    def __init__(self, bell: Bell) -> None:
        self._add = StreamShard.add
        self._bell = bell
        self._held = _Held()

    def add(self, shard: StreamShard, old: Item | None, new: Item | None) -> None:
        """Take one change of the running request."""
        if self._held.changes is None:
            self._emit(shard, old, new)
        else:
            self._held.changes.append((shard, old, new))

    @contextmanager
    def one_request(self) -> Iterator[None]:
        """Hold changes back; a block that raises leaves no record."""
        if self._held.changes is not None:
            yield
            return
        changes: list[Change] = []
        self._held.changes = changes
        try:
            yield
        finally:
            self._held.changes = None
        for change in _merged(changes):
            self._emit(*change)

    def _emit(self, shard: StreamShard, old: Item | None, new: Item | None) -> None:
        nothing = old is None and new is None
        same = old is not None and new is not None and old.to_json() == new.to_json()
        if not nothing and not same:
            self._add(shard, old, new)
            self._bell.ring()


@contextmanager
def dynamodb_streams(bell: Bell) -> Iterator[None]:
    """Write one record for each item that really changed, and ring `bell` for it."""
    emitter = _Emitter(bell)
    transact, update = DynamoDBBackend.transact_write_items, DynamoDBBackend.update_item

    def add(self: StreamShard, old: Item | None, new: Item | None) -> None:
        emitter.add(self, old, new)

    def transact_write_items(self: DynamoDBBackend, *args: Any, **named: Any) -> None:
        with emitter.one_request():
            transact(self, *args, **named)

    def update_item(self: DynamoDBBackend, *args: Any, **named: Any) -> Item:
        with emitter.one_request():
            return update(self, *args, **named)

    with (
        replaced(StreamShard, "add", add),
        replaced(DynamoDBBackend, "transact_write_items", transact_write_items),
        replaced(DynamoDBBackend, "update_item", update_item),
    ):
        yield
