"""Queries that look at the rows they can return. What they return is left to moto.

Upstream gap (moto 5.2.5): every Query collects and sorts all items of the table first.
"""

from __future__ import annotations

import copy
import functools
import inspect
import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from moto.dynamodb.comparisons import get_comparison_func
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

from everturn_local.patches.replacing import replaced

Rows = dict[Any, Any]


def _partition_rows(table: Table, asked: Mapping[str, Any]) -> Rows:
    """The partition's rows that the page may show, and one more: it tells that there are more."""
    hash_key = asked["hash_key"]
    if hash_key not in table.items:
        return {}
    if not table.range_key_attr:
        return {hash_key: table.items[hash_key]}
    rows = [(range_key.cast_value, range_key) for range_key in table.items[hash_key]]
    comparison = asked["range_comparison"]
    if comparison:
        meets = get_comparison_func(comparison)
        bounds = [bound.cast_value for bound in asked["range_objs"]]
        rows = [row for row in rows if meets(row[0], *bounds)]
    backwards = asked["scan_index_forward"] is False
    rows.sort(key=operator.itemgetter(0), reverse=backwards)
    if asked["exclusive_start_key"]:
        start = DynamoType(asked["exclusive_start_key"][table.range_key_attr]).cast_value
        rows = [row for row in rows if (row[0] < start if backwards else row[0] > start)]
    if asked["limit"]:
        rows = rows[: asked["limit"] + 1]
    partition = table.items[hash_key]
    return {hash_key: {range_key: partition[range_key] for _, range_key in rows}}


def _index_rows(table: Table, conditions: list[tuple[str, DynamoType]]) -> Rows:
    """Rows whose index hash attributes have the asked values."""
    rows: Rows = {}
    for hash_key, partition in table.items.items():
        items: list[Any] = list(partition.values()) if table.range_key_attr else [partition]
        for item in items:
            if all(name in item.attrs and item.attrs[name] == value for name, value in conditions):
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
        view = copy.copy(table)
        rows: Any = table.items
        if index_name and conditions:
            rows = _index_rows(table, conditions)
        elif not index_name and asked.arguments["hash_key"] is not None:
            rows = _partition_rows(table, asked.arguments)
        view.items = rows
        asked.arguments["self"] = view
        return query(*asked.args, **asked.kwargs)

    with replaced(Table, "query", query_candidates):
        yield
