"""Reading the log: ranges of commits, oldest first, and the bodies that they leave elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from everturn.ports.sessions import Logged, SessionKey
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.blobs import Blobs
from everturn.store.bodies import materialise
from everturn.store.codec import from_log_item, readable
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Logs:
    """The log items of a table. A commit's key is the number of its last event."""

    def __init__(self, table: str, client: DynamoDBClient, blobs: Blobs, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._blobs = blobs
        self._pace = pace

    def between(
        self, key: SessionKey, from_seq: int, to_seq: int | None, limit: int | None = None
    ) -> tuple[Logged, ...]:
        """Return the commits that hold any of the events, at most `limit`.

        One Query for each MB; one more where `to_seq` is not the end of a commit.
        """
        end = keys.LAST_SEQ if to_seq is None else to_seq
        if end < from_seq:
            return ()
        single = end == from_seq  # whatever the commit's number is, it is the first one from here
        last = keys.LAST_SEQ if single else end
        found = [*self._query(key, from_seq, last, 1 if single else limit)]
        reached = found[-1].last_seq if found else from_seq - 1
        cut = limit is not None and len(found) >= limit
        if reached < end and to_seq is not None and not single and not cut:
            found += self._query(key, end + 1, keys.LAST_SEQ, 1)
        return tuple(one for one in found if one.first_seq <= end)

    def materialise(self, key: SessionKey, logged: Sequence[Logged]) -> tuple[Logged, ...]:
        """Return `logged` with all bodies: one Query for each cluster of events that it refers to,
        one GET for each object that this process has not seen.
        """
        with readable({"sk": "a body"}):
            return materialise(
                logged, lambda low, high: self.between(key, low, high), self._blobs.get
            )

    def _query(self, key: SessionKey, low: int, high: int, limit: int | None) -> Iterator[Logged]:
        left = limit
        start: dict[str, Any] = {}
        while True:
            answer = self._page(key, low, high, start | ({} if left is None else {"Limit": left}))
            for item in answer["Items"]:
                yield from_log_item(item, self._blobs.get)
            left = None if left is None else left - len(answer["Items"])
            if "LastEvaluatedKey" not in answer or left == 0:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _page(self, key: SessionKey, low: int, high: int, more: dict[str, Any]) -> dict[str, Any]:
        values: Item = to_item(
            {":pk": keys.session_pk(key), ":low": keys.log_sk(low), ":high": keys.log_sk(high)}
        )
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pk AND sk BETWEEN :low AND :high",
                    ExpressionAttributeValues=values,
                    ConsistentRead=True,
                    **more,
                ),
            )
        return dict(answer)
