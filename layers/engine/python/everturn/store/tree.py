"""Reading the message tree's index: how branches begin, and which version holds on a path.

It must not read a message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from everturn.ports.sessions import SessionKey, VersionKind
from everturn.session.events.tree import Stretch
from everturn.session.facts import Begun
from everturn.session.state import is_on
from everturn.store import keys
from everturn.store.attributes import to_item
from everturn.store.batches import batch_get, query_all
from everturn.store.codec import opened
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WALKED: Final = 16
"""Stretches of a path that are asked one by one for a version; over that all versions are read."""


def branch_values(number: int, begun: Begun) -> dict[str, Any]:
    """Return what the item of a branch holds. Source: storage-and-commits, "Items".

    The path before it stands in the event with which it begins.
    """
    fork = begun.stretches[-1] if begun.stretches else None
    return {
        "sk": keys.branch_sk(number),
        "from_seq": begun.from_seq,
        "parent": fork.branch if fork else None,
        "fork_seq": fork.upto_seq if fork else None,
        "fork_depth": fork.upto_depth if fork else 0,
    }


class Trees:
    """The branches and versions of a table's sessions."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._pace = pace

    def branches(self, key: SessionKey, numbers: Collection[int]) -> dict[int, int]:
        """Return the events that branches begin with: one BatchGetItem for each 100."""
        pk = keys.session_pk(key)
        wanted = [to_item({"pk": pk, "sk": keys.branch_sk(one)}) for one in sorted(numbers)]
        items = batch_get(self._client, self._table, wanted, self._pace)
        values = [opened(item) for item in items]
        return {keys.number_of_branch(one["sk"]): one["from_seq"] for one in values}

    def version(
        self, key: SessionKey, kind: VersionKind, stretches: Sequence[Stretch]
    ) -> int | None:
        """Return the event of the version nearest to the end of a path.

        One Query for each stretch until it is found; one Query for each MB of versions where the
        path has more than 16.
        """
        if len(stretches) > WALKED:
            return nearest(self._all(key, kind), stretches)
        for one in reversed(stretches):
            found = self._last(key, kind, one.branch, one.upto_depth)
            if found is not None:
                return found
        return self._last(key, kind, 0, 0)

    def _last(self, key: SessionKey, kind: VersionKind, branch: int, upto: int) -> int | None:
        between = {
            ":pk": keys.session_pk(key),
            ":low": keys.version_sk(kind, branch, 0),
            ":high": keys.version_sk(kind, branch, upto),
        }
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pk AND sk BETWEEN :low AND :high",
                    ExpressionAttributeValues=to_item(between),
                    ConsistentRead=True,
                    ScanIndexForward=False,
                    Limit=1,
                ),
            )
        seqs = [opened(item)["seq"] for item in answer["Items"]]
        return seqs[0] if seqs else None

    def _all(self, key: SessionKey, kind: VersionKind) -> Iterable[tuple[int, int, int]]:
        begins = {":pk": keys.session_pk(key), ":kind": keys.versions_prefix(kind)}
        request = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :kind)",
            "ExpressionAttributeValues": to_item(begins),
            "ConsistentRead": True,
        }
        for item in query_all(self._client, request, self._pace):
            values = opened(item)
            branch, depth = keys.place_of_version(values["sk"])
            yield branch, depth, values["seq"]


def nearest(versions: Iterable[tuple[int, int, int]], stretches: Sequence[Stretch]) -> int | None:
    """Return the version nearest to a path's end, of `(branch, depth, seq)`; depth 0 is on each."""
    path = tuple(stretches)
    on_it = [
        (depth, seq)
        for branch, depth, seq in versions
        if (branch, depth) == (0, 0) or is_on(path, branch, depth)
    ]
    return max(on_it)[1] if on_it else None
