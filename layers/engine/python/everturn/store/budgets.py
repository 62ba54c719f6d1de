"""`BudgetStore` on the table: a budget's limits and its figures are one item.

It must not know a session's items. Source: docs/storage.md, "Budgets".
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from everturn.errors import StoreUnavailable
from everturn.ports.budgets import Held, SharedBudget, Spending, Wanted, window_of
from everturn.session.formats import FORMAT
from everturn.session.state import Spent
from everturn.store import keys
from everturn.store.attributes import Item, to_item
from everturn.store.batches import batch_get
from everturn.store.dynamo_errors import (
    AwsError,
    Fault,
    cancellation_reasons,
    dynamo_errors,
    fault_of,
    if_holds,
    translated,
    when_free,
)
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

COUNTED_S: Final = 7 * 24 * 3600
"""How long a commit is known to be counted; the table's stream keeps a record for one day."""

COUNT_TRIES: Final = 5
"""How often figures may change under one count before the record has to come again."""

_LIMITS: Final = ("cost", "tokens")


class DynamoBudgets:
    """`BudgetStore`; all reads are consistent."""

    def __init__(self, table: str, client: DynamoDBClient, pace: Pace | None = None) -> None:
        self._table = table
        self._client = client
        self._pace = pace or Pace()

    def has_any(self, tenant: str) -> bool:
        """One Query of one key."""
        values = {":pk": keys.budgets_pk(tenant), ":prefix": keys.BUDGET_PREFIX}
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
                    ExpressionAttributeValues=to_item(values),
                    ProjectionExpression="pk",
                    ConsistentRead=True,
                    Limit=1,
                ),
            )
        return bool(answer["Items"])

    def of(self, tenant: str, owner_id: str) -> tuple[SharedBudget, ...]:
        """One BatchGetItem."""
        wanted = [_key(tenant, owner_id), _key(tenant, None)]
        found = batch_get(self._client, self._table, wanted, self._pace)
        return tuple(sorted(map(_budget, found), key=lambda one: one.owner_id is None))

    def one(self, tenant: str, owner_id: str | None) -> SharedBudget | None:
        """One GetItem."""
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.get_item(
                    TableName=self._table, Key=_key(tenant, owner_id), ConsistentRead=True
                ),
            )
        item = answer.get("Item")
        return _budget(item) if item else None

    def put(self, tenant: str, wanted: Wanted, now_ms: int) -> SharedBudget:
        """One UpdateItem where a budget of that period stands, else a second one that begins it."""
        fresh = {
            "#since": {"N": str(now_ms)},
            "#window": {"S": window_of(wanted.period, now_ms)},
            "#spent_cost": {"N": "0"},
            "#spent_tokens": {"N": "0"},
        }
        same = self._update(tenant, wanted, {}, "#period = :period")
        if same is None:
            same = self._update(
                tenant, wanted, fresh, "attribute_not_exists(pk) OR #period <> :period"
            )
        if same is None:
            raise StoreUnavailable("a budget changed under us", retry_after_s=1.0)
        return same

    def _update(
        self, tenant: str, wanted: Wanted, fresh: Mapping[str, Any], condition: str
    ) -> SharedBudget | None:
        """Return the budget as it was written, `None` where the condition does not hold."""
        limits = {"cost": wanted.cost, "tokens": wanted.tokens}
        removed = [f"#{name}" for name in _LIMITS if limits[name] is None]
        values = {
            "#format": {"N": str(FORMAT)},
            "#period": {"S": wanted.period},
            "#mode": {"S": wanted.mode},
            **{f"#{name}": {"S": str(one)} for name, one in limits.items() if one is not None},
            **fresh,
        }
        sets = ", ".join(f"{name} = :{name[1:]}" for name in values)
        expression = f"SET {sets}" + (f" REMOVE {', '.join(removed)}" if removed else "")
        names = {name: name[1:] for name in (*values, *removed)}
        try:
            answer = when_free(
                self._pace,
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=_key(tenant, wanted.owner_id),
                    UpdateExpression=expression,
                    ConditionExpression=condition,
                    ExpressionAttributeNames=names,
                    ExpressionAttributeValues={f":{n[1:]}": one for n, one in values.items()},
                    ReturnValues="ALL_NEW",
                ),
            )
        except AwsError as error:
            if fault_of(error) is Fault.CONDITION:
                return None
            raise translated(error) from error
        return _budget(answer["Attributes"])

    def delete(self, tenant: str, owner_id: str | None) -> bool:
        """One DeleteItem."""
        refused = if_holds(
            self._pace,
            lambda: self._client.delete_item(
                TableName=self._table,
                Key=_key(tenant, owner_id),
                ConditionExpression="attribute_exists(pk)",
            ),
        )
        return refused is None

    def held(self, tenant: str, limit: int) -> tuple[Held, ...]:
        """One Query: what it finds is no more than names."""
        values = {":pk": keys.budgets_pk(tenant), ":prefix": keys.HELD_PREFIX}
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
                    ExpressionAttributeValues=to_item(values),
                    ProjectionExpression="sk, created",
                    ConsistentRead=True,
                    Limit=limit,
                ),
            )
        return tuple(
            Held(keys.held_of(item["sk"]["S"]), item["created"]["S"]) for item in answer["Items"]
        )

    def forget_held(self, tenant: str, held: Held) -> None:
        """One DeleteItem."""
        place = {"pk": keys.budgets_pk(tenant), "sk": keys.held_sk(held.session)}
        if_holds(
            self._pace,
            lambda: self._client.delete_item(
                TableName=self._table,
                Key=to_item(place),
                ConditionExpression="created = :created",
                ExpressionAttributeValues=to_item({":created": held.created}),
            ),
        )

    def count(self, spending: Spending) -> None:
        """One BatchGetItem and, where there is a budget, one TransactWriteItems.

        The transaction brings an item that knows the commit: the second one to try changes nothing.
        """
        for _ in range(COUNT_TRIES):
            updates = [
                update
                for one in self.of(spending.tenant, spending.owner_id)
                if (update := self._addition(spending, one))
            ]
            if not updates or self._add(spending, updates):
                return
        raise StoreUnavailable("the figures of a budget keep changing", retry_after_s=1.0)

    def _addition(self, spending: Spending, budget: SharedBudget) -> dict[str, Any] | None:
        """Return what adds to a budget, nothing where the spending is not of its time."""
        window = window_of(budget.period, spending.at_ms)
        if spending.at_ms < budget.since_ms or window < budget.window:
            return None
        change = (
            "ADD #spent_cost :cost, #spent_tokens :tokens"
            if window == budget.window
            else "SET #spent_cost = :cost, #spent_tokens = :tokens, #window = :now"
        )
        names = {name: name[1:] for name in ("#spent_cost", "#spent_tokens", "#window", "#since")}
        values: dict[str, Any] = {
            ":cost": {"N": spending.spent.cost},
            ":tokens": {"N": str(spending.spent.tokens)},
            ":window": {"S": budget.window},
            ":since": {"N": str(budget.since_ms)},
        }
        if window != budget.window:
            values[":now"] = {"S": window}
        return {
            "Update": {
                "TableName": self._table,
                "Key": _key(spending.tenant, budget.owner_id),
                "UpdateExpression": change,
                "ConditionExpression": "#window = :window AND #since = :since",
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": values,
            }
        }

    def _add(self, spending: Spending, updates: list[dict[str, Any]]) -> bool:
        """Return whether the spending is counted, now or before; else the figures moved on."""
        marker = {
            "pk": keys.counted_pk(spending.commit_id),
            "sk": keys.META,
            "format": FORMAT,
            "expires_epoch_s": spending.at_ms // 1000 + COUNTED_S,
        }
        put = {
            "TableName": self._table,
            "Item": to_item(marker),
            "ConditionExpression": "attribute_not_exists(pk)",
        }
        actions: Any = [{"Put": put}, *updates]
        try:
            when_free(self._pace, lambda: self._client.transact_write_items(TransactItems=actions))
        except ClientError as error:
            if fault_of(error) is not Fault.CONDITION:
                raise translated(error) from error
            first = cancellation_reasons(error)[0]
            return first.get("Code") == "ConditionalCheckFailed"
        except AwsError as error:
            raise translated(error) from error
        return True


def _key(tenant: str, owner_id: str | None) -> Item:
    return to_item({"pk": keys.budgets_pk(tenant), "sk": keys.budget_sk(owner_id)})


def _budget(item: Mapping[str, Any]) -> SharedBudget:
    """Return the budget of an item; amounts of money stand there as exact decimals."""
    return SharedBudget(
        owner_id=keys.budget_owner(item["sk"]["S"]),
        cost=item["cost"]["S"] if "cost" in item else None,
        tokens=int(item["tokens"]["S"]) if "tokens" in item else None,
        mode=item["mode"]["S"],
        period=item["period"]["S"],
        since_ms=int(item["since"]["N"]),
        window=item["window"]["S"],
        spent=Spent(format(Decimal(item["spent_cost"]["N"]), "f"), int(item["spent_tokens"]["N"])),
    )
