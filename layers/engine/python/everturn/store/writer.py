"""Bringing a planned commit into the table: all of it or nothing, once, whatever answers get lost.

It must not change the decision: whoever loses a race is told so, with the head that won.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from everturn.errors import IdsTaken, StoreRefused, StoreUnavailable, VersionConflict
from everturn.ports.sessions import Head
from everturn.protocol.limits import DYNAMODB_TRANSACTION_ITEMS
from everturn.store import keys
from everturn.store.attributes import Item
from everturn.store.batches import chunks
from everturn.store.dynamo_errors import (
    RETRY_AFTER_S,
    AwsError,
    Fault,
    cancellation_reasons,
    fault_of,
    translated,
)
from everturn.store.heads import Heads
from everturn.store.pace import Pace
from everturn.store.plan import Action, Plan
from everturn.store.surplus import Split, announced, landed, put_id, split, still_announced
from everturn.store.tombstones import deleting, is_tombstone

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Refused = Mapping[str, Item | None]
"""Sort keys whose condition did not hold, and what stands there."""


@dataclass(slots=True)
class _Try:
    """One commit on its way, and what its earlier tries have taught."""

    plan: Plan
    split: Split
    stale: dict[str, str] = field(default_factory=dict)
    """Ids left over by commits that never landed, and which those are."""

    prepared: bool = False
    throttled: int = 0
    """Tries that were throttled."""

    def token(self) -> str:
        """Return the request's token: another one when the request is another one."""
        commit_id = self.plan.commit.commit_id
        if not self.stale:
            return commit_id
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{commit_id} {self.stale}"))


class Writer:
    """Writes commits. Source: storage-and-commits, "Commits"."""

    def __init__(self, table: str, client: DynamoDBClient, heads: Heads, pace: Pace) -> None:
        self._table = table
        self._client = client
        self._heads = heads
        self._heads_now = Heads(table, client, replace(pace, budget_s=0.0))
        self._pace = pace

    def write(self, plan: Plan) -> Head:
        """Write `plan`; return the head that it leaves, even if others have followed since.

        One TransactWriteItems. Surplus ids: one PutItem and a transaction for each 99 before it.
        Raises `VersionConflict`, `IdsTaken`, `SessionDeleting`, and `StoreUnavailable` once it is
        known that nothing is written, or once the budget is over and not even that is answered.
        """
        deadline = self._pace.deadline()
        attempt = _Try(plan, split(plan))
        while True:
            throttled = attempt.throttled
            settled = self._once(attempt)
            if settled:
                return settled
            if self._pace.is_over(deadline):
                return self._given_up(plan)
            self._pace.pause(throttled)

    def _once(self, attempt: _Try) -> Head | None:
        """Return the head if the commit stands, `None` if it has to be tried again."""
        try:
            refused = self._send(attempt)
        except AwsError as error:
            attempt.throttled += fault_of(error) is Fault.THROTTLED
            return self._after(error, attempt.plan)
        return self._judged(attempt, refused) if refused else attempt.plan.after

    def _send(self, attempt: _Try) -> Refused:
        plan = attempt.plan
        actions: dict[str, Action] = dict(plan.actions)
        if attempt.split.surplus:
            refused = self._prepare(attempt)
            if refused:
                return refused
            actions[keys.PREPARED] = still_announced(self._table, plan)
        for sk, item in attempt.split.inside.items():
            actions[sk] = put_id(self._table, plan, item, attempt.stale)
        return self._transact(actions, attempt.token())

    def _prepare(self, attempt: _Try) -> Refused:
        if attempt.prepared:
            return {}
        plan = attempt.plan
        self._client.put_item(**announced(self._table, plan))
        check = {keys.PREPARED: still_announced(self._table, plan)}
        for batch in chunks(attempt.split.surplus.items(), DYNAMODB_TRANSACTION_ITEMS - 1):
            puts = {sk: put_id(self._table, plan, item, attempt.stale) for sk, item in batch}
            refused = self._transact(check | puts)
            if refused:
                return refused
        attempt.prepared = True
        return {}

    def _transact(self, actions: Mapping[str, Action], token: str | None = None) -> Refused:
        """Return which conditions did not hold; none means written. Any other error is raised."""
        if len(actions) > DYNAMODB_TRANSACTION_ITEMS:
            raise StoreRefused(f"a commit of {len(actions)} items")
        request: dict[str, Any] = {"TransactItems": list(actions.values())}
        if token:
            request["ClientRequestToken"] = token
        try:
            self._client.transact_write_items(**request)
        except ClientError as error:
            if fault_of(error) is not Fault.CONDITION:
                raise
            return {
                sk: dict(reason["Item"]) if reason.get("Item") else None
                for sk, reason in zip(actions, cancellation_reasons(error), strict=True)
                if reason.get("Code") == "ConditionalCheckFailed"
            }
        return {}

    def _judged(self, attempt: _Try, refused: Refused) -> Head | None:
        """Return the head if the commit stands, `None` if what was in the way may be overwritten.

        Raises what the caller has to know: `VersionConflict`, `IdsTaken`, `SessionDeleting`.
        """
        plan = attempt.plan
        if keys.HEAD in refused:
            item = refused[keys.HEAD]
            if plan.commit.before is None and item and is_tombstone(item):
                raise deleting(plan.commit.key)
            return self._own(plan, self._heads.complete(plan.commit.key, item))
        if keys.PREPARED in refused:
            attempt.prepared = False
        settled = self._looked(plan, self._heads)
        if settled:
            return settled
        if keys.log_sk(plan.last_seq) in refused:
            raise StoreRefused(f"{keys.log_sk(plan.last_seq)} stands after the head")
        present = {sk: item for sk, item in refused.items() if item}
        counting = landed(self._client, self._table, present.values(), self._pace)
        taken = frozenset(keys.id_of(one["sk"]) for one in counting)
        if taken:
            raise IdsTaken(f"{len(taken)} ids of {plan.commit.key.session} are taken", ids=taken)
        attempt.stale |= {sk: item["commit_id"]["S"] for sk, item in present.items()}
        return None

    def _after(self, error: ClientError | BotoCoreError, plan: Plan) -> Head | None:
        match fault_of(error):
            case Fault.CONTENDED | Fault.THROTTLED:
                return None
            case Fault.UNCLEAR:
                try:
                    return self._looked(plan, self._heads_now)
                except StoreUnavailable:
                    return None
            case Fault.CONDITION | Fault.REFUSED:
                raise translated(error) from error

    def _looked(self, plan: Plan, heads: Heads) -> Head | None:
        """Return the head if our commit is in the log, `None` if nothing has happened at all."""
        head = heads.read(plan.commit.key)
        return None if _same(head, plan.commit.before) else self._own(plan, head)

    def _own(self, plan: Plan, head: Head | None) -> Head:
        """Return our own head if our commit is in the log of `head`. Raises `VersionConflict`.

        A caller whose commit others followed learns of them with its next one.
        """
        commit = plan.commit
        if head and head.commit_id == commit.commit_id:
            return plan.after
        if (
            head
            and head.created == plan.after.created
            and head.session.seq >= plan.last_seq
            and self._heads.has_commit(commit.key, plan.last_seq, commit.commit_id)
        ):
            return plan.after
        raise VersionConflict(f"{commit.key.session} moved on before {plan.last_seq}", head=head)

    def _given_up(self, plan: Plan) -> Head:
        settled = self._looked(plan, self._heads_now)
        if settled:
            return settled
        message = f"{plan.commit.key.session} was busy; nothing is written"
        raise StoreUnavailable(message, retry_after_s=RETRY_AFTER_S)


def _same(head: Head | None, before: Head | None) -> bool:
    """Return whether `head` is still the one that was read."""
    if head is None or before is None:
        return head is before
    return (head.version, head.created) == (before.version, before.created)
