"""`Revocations` on the table: an item for each id, which the table forgets by itself.

It must not know a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from everturn.session.formats import FORMAT
from everturn.store import keys
from everturn.store.attributes import to_item
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.lookups import values_at
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoRevocations:
    """`Revocations`; reads are consistent: what is revoked is so at once."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace | None = None) -> None:
        self._table = table
        self._client = client
        self._pace = pace or Pace()

    def revoke(self, token_id: str, until_epoch_s: int) -> None:
        """One PutItem."""
        item = to_item(
            {
                "pk": keys.revoked_pk(token_id),
                "sk": keys.META,
                "format": FORMAT,
                "expires_epoch_s": until_epoch_s,
            }
        )
        with dynamo_errors():
            when_free(self._pace, lambda: self._client.put_item(TableName=self._table, Item=item))

    def is_revoked(self, token_id: str) -> bool:
        """One GetItem."""
        pk = keys.revoked_pk(token_id)
        return values_at(self._client, self._table, self._pace, pk, keys.META) is not None
