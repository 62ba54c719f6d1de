"""`RunIndex` in the table: a pointer for each run, beside sessions; what people say, inside them.

Pointers are written with the commit that asks for the run. They hold no content: one that outlives
its session leads nowhere. Source: storage-and-commits, "Items".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from everturn.ports.runs import Described, Feedback, RunPlace
from everturn.ports.sessions import SessionKey
from everturn.session.formats import FORMAT
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import batch_get
from everturn.store.codec import opened
from everturn.store.dynamo_errors import dynamo_errors, when_free
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoRuns:
    """The runs of a table."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace | None = None) -> None:
        self._table = table
        self._client = client
        self._pace = pace or Pace()

    def place(self, tenant: str, run_id: str) -> RunPlace | None:
        """Return where a run is: one GetItem."""
        item = self._get(keys.run_pk(tenant, run_id), keys.META)
        if item is None:
            return None
        values = opened(item)
        return RunPlace(run_id, values["session"], values["seq"], values["created"])

    def put_feedback(self, tenant: str, place: RunPlace, feedback: Feedback) -> Feedback | None:
        """Keep what somebody thinks: one UpdateItem."""
        given = {
            "verdict": feedback.verdict,
            "explanation": feedback.explanation,
            "content_snapshot": feedback.content_snapshot,
            "at": feedback.at_ms,
            "created": place.created,  # what comes after a deletion is found by it
            "format": FORMAT,
        }
        sets = {name: value for name, value in given.items() if value is not None}
        gone = [f"#{name}" for name, value in given.items() if value is None]
        parts = [f"#{name} = :{name}" for name in sets]
        update = "SET #id = if_not_exists(#id, :id), " + ", ".join(parts)
        update += " REMOVE " + ", ".join(gone) if gone else ""
        pk = keys.session_pk(SessionKey(tenant, place.session))
        request: dict[str, Any] = {
            "TableName": self._table,
            "Key": to_item({"pk": pk, "sk": keys.feedback_sk(place.run_id)}),
            "UpdateExpression": update,
            "ExpressionAttributeNames": {f"#{name}": name for name in ("id", *given)},
            "ExpressionAttributeValues": to_item(
                {":id": feedback.id, **{f":{name}": value for name, value in sets.items()}}
            ),
            "ReturnValues": "ALL_OLD",
        }
        with dynamo_errors():
            answer = when_free(self._pace, lambda: self._client.update_item(**request))
        before = answer.get("Attributes")
        return _feedback(before) if before else None

    def feedback(self, tenant: str, place: RunPlace) -> Feedback | None:
        """Return what was said: one GetItem."""
        pk = keys.session_pk(SessionKey(tenant, place.session))
        item = self._get(pk, keys.feedback_sk(place.run_id))
        return _feedback(item) if item else None

    def described(self, sessions: Sequence[SessionKey]) -> dict[SessionKey, Described]:
        """Return what sessions were made as: one BatchGetItem for each 100."""
        wanted = [to_item({"pk": keys.session_pk(key), "sk": keys.ABOUT}) for key in sessions]
        found = {}
        for item in batch_get(self._client, self._table, wanted, self._pace):
            values = opened(item)
            found[keys.session_of(values["pk"])] = Described(
                values.get("name", ""), dict(values.get("metadata", {})), values["created"]
            )
        return found

    def _get(self, pk: str, sk: str) -> Item | None:
        named = to_item({"pk": pk, "sk": sk})
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.get_item(
                    TableName=self._table, Key=named, ConsistentRead=True
                ),
            )
        found = answer.get("Item")
        return dict(found) if found else None


def _feedback(item: Any) -> Feedback:
    values = opened(item)
    return Feedback(
        values["id"],
        values["verdict"],
        values.get("explanation"),
        values.get("content_snapshot"),
        values.get("at", 0),
    )
