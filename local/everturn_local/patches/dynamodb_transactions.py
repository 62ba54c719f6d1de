"""DynamoDB transactions that undo per item and honour their token. Conditions stay moto's.

Upstream gaps (moto 5.2.5): every transaction deep-copies the whole table as its backup and swaps it
in on failure (slow, and stream iterators of the old table die); ClientRequestToken is ignored; the
4 MB limit is not enforced; an UpdateItem that fails half way leaves a new item's keys behind.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import moto.dynamodb.models as moto_models
from moto.core.responses import ActionResult
from moto.dynamodb.exceptions import DynamodbException, MockValidationException
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

from everturn_local.capacity import item_size_bytes
from everturn_local.patches.replacing import replaced

TRANSACTION_MAX_BYTES = 4 * 1024 * 1024
"""Source: Amazon DynamoDB API, TransactWriteItems."""
BATCH_MAX_ITEMS = 25
"""Source: Amazon DynamoDB API, BatchWriteItem."""
TOKEN_LIFETIME_S = 600.0
"""Source: Amazon DynamoDB API, TransactWriteItems, ClientRequestToken."""


class IdempotentParameterMismatch(DynamodbException):
    """A token came back with another request."""

    def __init__(self) -> None:
        super().__init__(
            "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException",
            "The transaction token was used before with other parameters",
        )


class _Before:
    """One item as it was, and how to put it back."""

    def __init__(self, table: Table, key: Mapping[str, Any]) -> None:
        self._items = table.items
        self._hash = DynamoType(key[table.hash_key_attr])
        self._range = DynamoType(key[table.range_key_attr]) if table.range_key_attr else None
        self._item = copy.deepcopy(table.get_item(self._hash, self._range))

    def restore(self) -> None:
        """Undo whatever happened to the item since."""
        where: dict[Any, Any] = self._items if self._range is None else self._items[self._hash]
        key = self._hash if self._range is None else self._range
        if self._item is None:
            where.pop(key, None)
        else:
            where[key] = self._item


@contextmanager
def _undone_on_error(
    backend: DynamoDBBackend, writes: Iterable[Mapping[str, Any]]
) -> Iterator[None]:
    """Restore the items of `writes` (Put, Update, Delete bodies) when the block raises."""
    before: list[_Before] = []
    for write in writes:
        table = backend.tables.get(write.get("TableName", ""))
        key = write.get("Key") or write.get("Item") or {}
        if table is not None and set(table.table_key_attrs) <= key.keys():
            before.append(_Before(table, key))
    try:
        yield
    except BaseException:
        for item in before:
            item.restore()
        raise


def _copy_all_but_tables(value: Any, memo: dict[int, Any] | None = None) -> Any:
    return value if isinstance(value, Table) else copy.deepcopy(value, memo)


@contextmanager
def dynamodb_undo() -> Iterator[None]:
    """Undo a failed transaction or update item by item instead of by a copy of the table."""
    transact, update = DynamoDBBackend.transact_write_items, DynamoDBBackend.update_item

    def transact_write_items(self: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
        writes = [body for action in transact_items for body in action.values()]
        with _undone_on_error(self, writes):
            transact(self, transact_items)

    def update_item(
        self: DynamoDBBackend, table_name: str, key: dict[str, Any], *rest: Any, **named: Any
    ) -> Any:
        with _undone_on_error(self, [{"TableName": table_name, "Key": key}]):
            return update(self, table_name, key, *rest, **named)

    copying = SimpleNamespace(deepcopy=_copy_all_but_tables, copy=copy.copy)
    with (
        replaced(moto_models, "copy", copying),
        replaced(DynamoDBBackend, "transact_write_items", transact_write_items),
        replaced(DynamoDBBackend, "update_item", update_item),
    ):
        yield


def _refuse_over_4_mb(transact_items: list[dict[str, Any]]) -> None:
    size_bytes = sum(
        item_size_bytes(body.get("Item") or body.get("Key") or {})
        + item_size_bytes(body.get("ExpressionAttributeValues") or {})
        for action in transact_items
        for body in action.values()
    )
    if size_bytes > TRANSACTION_MAX_BYTES:
        raise MockValidationException(
            "The aggregate size of the items in the transaction cannot exceed 4 MB"
        )


@contextmanager
def dynamodb_transaction_limits() -> Iterator[None]:
    """Refuse transactions over 4 MB and batch writes over 25 items."""
    transact, batch = DynamoHandler.transact_write_items, DynamoHandler.batch_write_item

    def transact_write_items(self: DynamoHandler) -> ActionResult:
        _refuse_over_4_mb(self.body["TransactItems"])
        return transact(self)

    def batch_write_item(self: DynamoHandler) -> ActionResult:
        if sum(len(requests) for requests in self.body["RequestItems"].values()) > BATCH_MAX_ITEMS:
            raise MockValidationException("Too many items requested for the BatchWriteItem call")
        return batch(self)

    with (
        replaced(DynamoHandler, "transact_write_items", transact_write_items),
        replaced(DynamoHandler, "batch_write_item", batch_write_item),
    ):
        yield


@contextmanager
def dynamodb_tokens() -> Iterator[None]:
    """Answer a repeated ClientRequestToken as the first time, for ten minutes."""
    transact = DynamoHandler.transact_write_items
    done: dict[tuple[str, str, str], tuple[float, str, ActionResult]] = {}

    def transact_write_items(self: DynamoHandler) -> ActionResult:
        token = self.body.get("ClientRequestToken")
        if not token:
            return transact(self)
        request = json.dumps(self.body["TransactItems"], sort_keys=True, default=str)
        digest = hashlib.sha256(request.encode()).hexdigest()
        key, now = (self.current_account, self.region, token), time.monotonic()
        for old in [each for each, (at, _, _) in done.items() if now - at > TOKEN_LIFETIME_S]:
            del done[old]
        if key in done:
            _, first_digest, result = done[key]
            if first_digest != digest:
                raise IdempotentParameterMismatch
            return result
        result = transact(self)
        done[key] = (now, digest, result)
        return result

    with replaced(DynamoHandler, "transact_write_items", transact_write_items):
        yield


@contextmanager
def dynamodb_transactions() -> Iterator[None]:
    """All of the above, tokens outermost: a repeated token is answered before it is checked."""
    with ExitStack() as stack:
        stack.enter_context(dynamodb_undo())
        stack.enter_context(dynamodb_transaction_limits())
        stack.enter_context(dynamodb_tokens())
        yield
