"""Reading one item that is no session's: by its key, consistently, whatever it stands for.

It must not write.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from typing import TYPE_CHECKING, Any

from everturn.store import keys
from everturn.store.attributes import to_item
from everturn.store.codec import opened
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def values_at(
    client: DynamoDBClient, table: str, pace: Pace, pk: str, sk: str
) -> dict[str, Any] | None:
    """Return an item's values, `None` where there is none: one GetItem. Raises `NewerFormat`."""
    with dynamo_errors():
        answer = when_free(
            pace,
            lambda: client.get_item(
                TableName=table, Key=to_item({"pk": pk, "sk": sk}), ConsistentRead=True
            ),
        )
    item = answer.get("Item")
    return opened(item) if item else None


def tenant_record(
    client: DynamoDBClient, table: str, pace: Pace, tenant: str
) -> Mapping[str, Any] | None:
    """Return what is kept of a tenant: one GetItem."""
    values = values_at(client, table, pace, keys.tenant_pk(tenant), keys.META)
    record: dict[str, Any] | None = loads(values["record"]) if values else None
    return record
