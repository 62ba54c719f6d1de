"""`Registry` on the table: a tenant or a key and its place in the list are written at once.

It must not make a key, nor see one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from everturn.ports.registry import KeyEntry
from everturn.protocol.json_text import compact
from everturn.session.formats import FORMAT
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import query_all
from everturn.store.codec import opened, readable
from everturn.store.dynamo_errors import dynamo_errors, if_holds, when_free
from everturn.store.lookups import tenant_record, values_at
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_NEW = "attribute_not_exists(pk)"


class DynamoRegistry:
    """`Registry`; reads are consistent."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace | None = None) -> None:
        self._table = table
        self._client = client
        self._pace = pace or Pace()

    def create_tenant(self, tenant: str, record: Mapping[str, Any]) -> bool:
        """One TransactWriteItems; one PutItem more for a record that is in no list."""
        listed = _item(keys.TENANTS, keys.tenant_pk(tenant))
        made = _item(keys.tenant_pk(tenant), keys.META, record=compact(dict(record)))
        if self._written(self._put(made, _NEW), self._put(listed)):
            return True
        with dynamo_errors():
            when_free(self._pace, lambda: self._client.put_item(TableName=self._table, Item=listed))
        return False

    def tenants(self) -> Iterator[str]:
        """One Query for each MB."""
        for values in self._partition(keys.TENANTS, keys.tenant_pk("")):
            yield values["sk"].removeprefix(keys.tenant_pk(""))

    def tenant(self, tenant: str) -> Mapping[str, Any] | None:
        """One GetItem."""
        return tenant_record(self._client, self._table, self._pace, tenant)

    def replace_tenant(
        self, tenant: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> bool:
        """One PutItem."""
        known: dict[str, Any] = {"ConditionExpression": _NEW}
        if before is not None:
            known = {
                "ConditionExpression": "#record = :before",
                "ExpressionAttributeNames": {"#record": "record"},
                "ExpressionAttributeValues": to_item({":before": compact(dict(before))}),
            }
        made = _item(keys.tenant_pk(tenant), keys.META, record=compact(dict(after)))
        stands = if_holds(
            self._pace,
            lambda: self._client.put_item(TableName=self._table, Item=made, **known),
        )
        return stands is None

    def add_key(self, entry: KeyEntry) -> bool:
        """One TransactWriteItems."""
        tenant_pk = keys.tenant_pk(entry.tenant)
        about = {
            "name": entry.name,
            "created_ms": entry.created_ms,
            "expires_ms": entry.expires_ms,
        }
        key = _item(
            keys.api_key_pk(entry.sha256),
            keys.META,
            tenant=entry.tenant,
            key_id=entry.key_id,
            **about,
        )
        listed = _item(
            tenant_pk, keys.key_sk(entry.key_id), sha256=entry.sha256, last4=entry.last4, **about
        )
        exists = {
            "TableName": self._table,
            "Key": to_item({"pk": tenant_pk, "sk": keys.META}),
            "ConditionExpression": "attribute_exists(pk)",
        }
        return self._written(
            {"ConditionCheck": exists}, self._put(key, _NEW), self._put(listed, _NEW)
        )

    def keys_of(self, tenant: str) -> Iterator[KeyEntry]:
        """One Query for each MB, all of them before the first key."""
        found = [
            _entry(tenant, values)
            for values in self._partition(keys.tenant_pk(tenant), keys.key_sk(""))
        ]
        yield from sorted(found, key=lambda entry: (entry.created_ms, entry.key_id))

    def remove_key(self, tenant: str, key_id: str) -> bool:
        """One GetItem, one TransactWriteItems."""
        values = values_at(
            self._client, self._table, self._pace, keys.tenant_pk(tenant), keys.key_sk(key_id)
        )
        if values is None:
            return False
        listed = to_item({"pk": keys.tenant_pk(tenant), "sk": keys.key_sk(key_id)})
        key = to_item({"pk": keys.api_key_pk(values["sha256"]), "sk": keys.META})
        return self._written(
            *({"Delete": {"TableName": self._table, "Key": one}} for one in (key, listed))
        )

    def _put(self, item: Item, condition: str = "") -> dict[str, Any]:
        checked = {"ConditionExpression": condition} if condition else {}
        return {"Put": {"TableName": self._table, "Item": item, **checked}}

    def _written(self, *actions: Any) -> bool:
        """Write all of `actions` or none; returns whether their conditions held."""
        stands = if_holds(
            self._pace, lambda: self._client.transact_write_items(TransactItems=list(actions))
        )
        return stands is None

    def _partition(self, pk: str, prefix: str) -> Iterator[dict[str, Any]]:
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
            "ExpressionAttributeValues": to_item({":pk": pk, ":prefix": prefix}),
            "ConsistentRead": True,
        }
        return map(opened, query_all(self._client, request, self._pace))


def _item(pk: str, sk: str, **values: Any) -> Item:
    return to_item({"pk": pk, "sk": sk, "format": FORMAT, **values})


def _entry(tenant: str, values: Mapping[str, Any]) -> KeyEntry:
    with readable(values):
        return KeyEntry(
            tenant=tenant,
            key_id=values["sk"].removeprefix(keys.key_sk("")),
            name=values["name"],
            sha256=values["sha256"],
            last4=values["last4"],
            created_ms=values["created_ms"],
            expires_ms=values.get("expires_ms"),
        )
