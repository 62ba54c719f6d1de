"""Ids that a commit's transaction has no room for: written before it, and void unless it lands.

Such an item carries the commit's id and the number of its last event. It counts only if the log
item with that number is of that commit; else its commit never landed and it may be overwritten.
Two writers of surplus could overwrite each other's items just before one of them lands. So each
first writes its commit id into `PREPARED`, and its transactions hold only while that says so.
Source: storage-and-commits, "Items".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from everturn.protocol.limits import DYNAMODB_TRANSACTION_BYTES, DYNAMODB_TRANSACTION_ITEMS
from everturn.session.formats import FORMAT
from everturn.store import keys
from everturn.store.attributes import Item, from_item, size_bytes, to_item
from everturn.store.batches import batch_get
from everturn.store.codec import opened
from everturn.store.pace import Pace
from everturn.store.plan import Action, Plan

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ROOM_BYTES: Final = DYNAMODB_TRANSACTION_BYTES - 64 * 1024
"""What a transaction's items may weigh together; the rest is for what is not an item."""


@dataclass(frozen=True, slots=True)
class Split:
    """The ids of a plan, by where they are written."""

    inside: Mapping[str, Item]
    surplus: Mapping[str, Item]


def split(plan: Plan) -> Split:
    """Return which ids fit into the transaction of `plan`."""
    room = DYNAMODB_TRANSACTION_ITEMS - len(plan.actions)
    room_bytes = ROOM_BYTES - sum(map(_action_bytes, plan.actions.values()))
    if len(plan.ids) <= room and sum(map(size_bytes, plan.ids.values())) <= room_bytes:
        return Split(plan.ids, {})
    room -= 1  # the check of PREPARED
    inside: dict[str, Item] = {}
    surplus: dict[str, Item] = {}
    for sk, item in plan.ids.items():
        room_bytes -= size_bytes(item)
        if len(inside) < room and room_bytes >= 0:
            inside[sk] = item
        else:
            surplus[sk] = item | to_item(
                {"commit_id": plan.commit.commit_id, "log_seq": plan.last_seq}
            )
    return Split(inside, surplus)


def _action_bytes(action: Action) -> int:
    match action:
        case {"Update": update}:
            return size_bytes(update["ExpressionAttributeValues"])
        case {"Put": put}:
            return size_bytes(put["Item"])
        case _:
            return 0


def announced(table: str, plan: Plan) -> dict[str, Any]:
    """Return the Put that makes `plan` the one whose surplus counts."""
    item = {"pk": plan.pk, "sk": keys.PREPARED, "format": FORMAT}
    return {"TableName": table, "Item": to_item({**item, "commit_id": plan.commit.commit_id})}


def still_announced(table: str, plan: Plan) -> Action:
    """Return the check that nobody else has announced surplus since."""
    return {
        "ConditionCheck": {
            "TableName": table,
            "Key": to_item({"pk": plan.pk, "sk": keys.PREPARED}),
            "ConditionExpression": "commit_id = :mine",
            "ExpressionAttributeValues": to_item({":mine": plan.commit.commit_id}),
        }
    }


def put_id(table: str, plan: Plan, item: Item, stale: Mapping[str, str]) -> Action:
    """Return the Put of an id that must be new, or left over from the commit in `stale`."""
    put: dict[str, Any] = {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(pk) OR commit_id = :mine",
        "ExpressionAttributeValues": to_item({":mine": plan.commit.commit_id}),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if left_by := stale.get(item["sk"]["S"]):
        put["ConditionExpression"] += " OR commit_id = :stale"
        put["ExpressionAttributeValues"] |= to_item({":stale": left_by})
    return {"Put": put}


def landed(
    client: DynamoDBClient, table: str, items: Iterable[Item], pace: Pace
) -> Iterator[dict[str, Any]]:
    """Yield the values of those `items` of ids that count: one BatchGetItem if any is surplus."""
    opened_items = [opened(item) for item in items]
    logs = {(one["pk"], one["log_seq"]) for one in opened_items if "commit_id" in one}
    wanted = [to_item({"pk": pk, "sk": keys.log_sk(seq)}) for pk, seq in sorted(logs)]
    found = (from_item(item) for item in batch_get(client, table, wanted, pace))
    commits = {one["sk"]: one["commit_id"] for one in found}
    for one in opened_items:
        if "commit_id" not in one or commits.get(keys.log_sk(one["log_seq"])) == one["commit_id"]:
            yield one
