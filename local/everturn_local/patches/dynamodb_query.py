"""Queries that look at the rows they can return. What they return is left to moto.

Upstream gap (moto 5.2.5): every Query collects and sorts all items of the table first.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

from everturn_local.patches.replacing import replaced

Rows = dict[Any, Any]


def _partition_rows(
    table: Table, hash_key: DynamoType, comparison: str | None, bounds: list[DynamoType]
) -> Rows:
    """The partition's rows that meet the range condition, in key order."""
    if hash_key not in table.items:
        return {}
    partition = table.items[hash_key]
    if not table.range_key_attr:
        return {hash_key: partition}
    rows = [
        (range_key, item)
        for range_key, item in partition.items()
        if not comparison or range_key.compare(comparison, bounds)
    ]
    rows.sort(key=lambda row: row[0].cast_value)
    return {hash_key: dict(rows)}


def _index_rows(table: Table, conditions: list[tuple[str, DynamoType]]) -> Rows:
    """Rows whose index hash attributes have the asked values."""
    rows: Rows = {}
    for hash_key, partition in table.items.items():
        items: list[Any] = list(partition.values()) if table.range_key_attr else [partition]
        for item in items:
            if all(item.attrs.get(name) == value for name, value in conditions):
                if table.range_key_attr:
                    rows.setdefault(hash_key, {})[item.range_key] = item
                else:
                    rows[hash_key] = item
    return rows


@contextmanager
def dynamodb_query() -> Iterator[None]:
    """Let moto's Query see a view of the table that holds only the candidates."""
    query = Table.query
    signature = inspect.signature(query)

    @functools.wraps(query)
    def query_candidates(*args: Any, **named: Any) -> Any:
        asked = signature.bind(*args, **named)
        table: Table = asked.arguments["self"]
        index_name = asked.arguments.get("index_name")
        conditions = asked.arguments.get("hash_key_conditions")
        hash_key = asked.arguments["hash_key"]
        view = copy.copy(table)
        rows: Any = table.items
        if index_name and conditions:
            rows = _index_rows(table, conditions)
        elif not index_name and hash_key is not None:
            comparison = asked.arguments["range_comparison"]
            rows = _partition_rows(table, hash_key, comparison, asked.arguments["range_objs"])
        view.items = rows
        asked.arguments["self"] = view
        return query(*asked.args, **asked.kwargs)

    with replaced(Table, "query", query_candidates):
        yield
