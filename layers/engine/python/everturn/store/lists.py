"""Lists of sessions: places from an index, what stands there from the heads; nobody is left out.

It must not decide who may see a session.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from everturn.errors import NewerFormat, StoreUnreadable
from everturn.ports.lists import Listed, ListPage
from everturn.ports.sessions import Quarantine, SessionKey
from everturn.protocol.events import from_rfc3339
from everturn.rejections import SessionQuarantined
from everturn.session.state import Session
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import batch_get
from everturn.store.codec import opened, readable, to_quarantine
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.heads import Heads, head_key
from everturn.store.pace import Pace
from everturn.store.tombstones import is_tombstone, text_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Lists:
    """The session lists of a table."""

    def __init__(self, table: str, client: DynamoDBClient, heads: Heads, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._heads = heads
        self._pace = pace

    def listed(self, tenant: str, after: str, limit: int) -> ListPage:
        """Return sessions by their last turn: one Query, one BatchGetItem for each 100."""
        pk = keys.listing_pk(tenant)
        return self._page(keys.LISTING_INDEX, ("listing_pk", pk), "listing_sk", after, limit)

    def owned(self, tenant: str, owner: str, after: str, limit: int) -> ListPage:
        """Return an owner's sessions by their creation: the same requests."""
        pk = keys.owned_pk(tenant, owner)
        return self._page(keys.OWNED_INDEX, ("owned_pk", pk), "created", after, limit)

    def _page(
        self, index: str, partition: tuple[str, str], order: str, after: str, limit: int
    ) -> ListPage:
        """Return the sessions of an index behind a place; no two have the same one."""
        condition, values = f"{partition[0]} = :pk", {":pk": partition[1]}
        if after:
            condition, values = f"{condition} AND {order} < :after", {**values, ":after": after}
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.query(
                    TableName=self._table,
                    IndexName=index,
                    KeyConditionExpression=condition,
                    ExpressionAttributeValues=to_item(values),
                    ScanIndexForward=False,
                    Limit=limit,
                ),
            )
        entries: list[Item] = [dict(entry) for entry in answer["Items"]]
        more = "LastEvaluatedKey" in answer and bool(entries)
        return ListPage(self._rows(entries, order), after=entries[-1][order]["S"] if more else "")

    def _rows(self, entries: list[Item], order: str) -> tuple[Listed, ...]:
        named = [(keys.session_of(entry["pk"]["S"]), entry[order]["S"]) for entry in entries]
        wanted = [head_key(key) for key, _ in named]
        found = {
            item["pk"]["S"]: item
            for item in batch_get(self._client, self._table, wanted, self._pace)
        }
        rows = [self._row(key, place, found.get(keys.session_pk(key))) for key, place in named]
        return tuple(row for row in rows if row is not None)

    def _row(self, key: SessionKey, place: str, item: Item | None) -> Listed | None:
        """Return a session's row, `None` where it is deleted: the index learns of that later."""
        if item is None or is_tombstone(item):
            return None
        created, at = (text_in(item, name) for name in ("created", "listing_sk"))
        last_turn_ms = 0
        with suppress(ValueError):
            last_turn_ms = from_rfc3339(at.partition("#")[0])
        session: Session | None = None
        quarantined: Quarantine | None = None
        try:
            head = self._heads.complete(key, item)
        except (NewerFormat, SessionQuarantined, StoreUnreadable):
            quarantined = _aside(item)
        else:
            if head is None:
                return None
            session, quarantined = head.session, head.quarantined
        return Listed(key, place, created, last_turn_ms, session, quarantined)


def _aside(item: Item) -> Quarantine | None:
    """Return what even a head that cannot be read says about being put aside."""
    with suppress(StoreUnreadable), readable(item):
        said: Item = {name: item[name] for name in item if name == "quarantined"}
        return to_quarantine(opened(said))
    return None
