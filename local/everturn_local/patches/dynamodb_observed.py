"""Sizes of what each DynamoDB request wrote and read, for the meter. It changes no behaviour.

Upstream gap (moto 5.2.5): consumed capacity is always 1.0.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table

from everturn_local.capacity import index_write_units, item_size_bytes
from everturn_local.patches.dynamodb_lock import DYNAMODB_LOCK
from everturn_local.patches.replacing import replaced

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ItemWrite:
    """One item change; None is an absent item."""

    old_bytes: int | None
    new_bytes: int | None
    index_units: float


class _Observed(threading.local):
    """What the running request of this thread did."""

    def __init__(self) -> None:
        self.writes: list[ItemWrite] = []
        self.read_bytes = 0
        self.updating = False


_OBSERVED = _Observed()


def take_observed() -> tuple[list[ItemWrite], int]:
    """This thread's writes and the bytes its queries read since the last call."""
    writes, read_bytes = _OBSERVED.writes, _OBSERVED.read_bytes
    _OBSERVED.writes, _OBSERVED.read_bytes = [], 0
    return writes, read_bytes


def existing_bytes(table_name: str, key: Attributes, account: str, region: str) -> int | None:
    """Size of the stored item with `key`, None without one."""
    with DYNAMODB_LOCK:
        table = dynamodb_backends[account][region].get_table(table_name)
        range_name = table.range_key_attr
        item = table.get_item(
            DynamoType(key[table.hash_key_attr]),
            DynamoType(key[range_name]) if range_name else None,
        )
        return None if item is None else item_size_bytes(_attributes(item) or {})


def _attributes(item: Item | None) -> Attributes | None:
    return None if item is None else dict(item.to_json()["Attributes"])


def _note(table: Table, old: Attributes | None, new: Attributes | None) -> None:
    _OBSERVED.writes.append(
        ItemWrite(
            old_bytes=None if old is None else item_size_bytes(old),
            new_bytes=None if new is None else item_size_bytes(new),
            index_units=sum(_index_units(table, index, old, new) for index in table.global_indexes),
        )
    )


def _index_units(table: Table, index: Any, old: Attributes | None, new: Attributes | None) -> float:
    keys = {*index.schema_key_attrs, *table.table_key_attrs}
    old_entry, new_entry = _entry(index, keys, old), _entry(index, keys, new)
    moved = (
        old_entry is not None
        and new_entry is not None
        and any(old_entry[name] != new_entry[name] for name in index.schema_key_attrs)
    )
    return index_write_units(old_entry, new_entry, moved=moved)


def _entry(index: Any, keys: set[str], attributes: Attributes | None) -> Attributes | None:
    """The item's entry in the index, None when it lacks an index key."""
    if attributes is None or not set(index.schema_key_attrs) <= attributes.keys():
        return None
    match (index.projection or {}).get("ProjectionType", "ALL"):
        case "KEYS_ONLY":
            return {name: attributes[name] for name in keys}
        case "INCLUDE":
            names = keys | set(index.projection.get("NonKeyAttributes", []))
            return {name: attributes[name] for name in names if name in attributes}
        case _:
            return attributes


def _noting_whole_pages(query: Callable[..., Any]) -> Callable[..., Any]:
    """Query that notes the page before filter and projection, as AWS bills it."""
    signature = inspect.signature(query)

    @functools.wraps(query)
    def query_whole(*args: Any, **named: Any) -> Any:
        asked = signature.bind(*args, **named)
        filters = asked.arguments.get("filter_expression")
        projection = asked.arguments["projection_expressions"]
        asked.arguments |= {"filter_expression": None, "projection_expressions": None}
        page, scanned, last_key = query(*asked.args, **asked.kwargs)
        _OBSERVED.read_bytes += sum(item_size_bytes(_attributes(item) or {}) for item in page)
        if filters is not None:
            page = [item for item in page if filters.expr(item)]
        if projection:
            page = [item.project(projection) for item in page]
        return page, scanned, last_key

    return query_whole


@contextmanager
def dynamodb_observed() -> Iterator[None]:
    """Note every item change and every queried page, for `take_observed`."""
    put, delete = Table.put_item, Table.delete_item
    update = DynamoDBBackend.update_item

    def put_item(self: Table, item_attrs: dict[str, Any], *args: Any, **named: Any) -> Item:
        if _OBSERVED.updating:
            return put(self, item_attrs, *args, **named)
        hash_key = DynamoType(item_attrs[self.hash_key_attr])
        range_key = DynamoType(item_attrs[self.range_key_attr]) if self.range_key_attr else None
        old = _attributes(self.get_item(hash_key, range_key))
        item = put(self, item_attrs, *args, **named)
        _note(self, old, _attributes(item))
        return item

    def delete_item(self: Table, hash_key: DynamoType, range_key: DynamoType | None) -> Item | None:
        item = delete(self, hash_key, range_key)
        _note(self, _attributes(item), None)
        return item

    def update_item(
        self: DynamoDBBackend, table_name: str, key: dict[str, Any], *args: Any, **named: Any
    ) -> Item:
        table = self.get_table(table_name)
        old = _attributes(self.get_item(table_name, key))
        _OBSERVED.updating = True
        try:
            item = update(self, table_name, key, *args, **named)
        finally:
            _OBSERVED.updating = False
        _note(table, old, _attributes(item))
        return item

    with (
        replaced(Table, "put_item", put_item),
        replaced(Table, "delete_item", delete_item),
        replaced(Table, "query", _noting_whole_pages(Table.query)),
        replaced(DynamoDBBackend, "update_item", update_item),
    ):
        yield
