"""Budgets of owners and tenants, on the fake and on the table: set, counted once. Y-4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError

from contract.store.conftest import Aws
from everturn.errors import StoreUnavailable
from everturn.ports.budgets import BudgetStore, SharedBudget, Spending, Wanted, window_of
from everturn.session.state import Spent
from everturn.store.budgets import COUNT_TRIES, COUNTED_S, DynamoBudgets
from everturn.store.memory_budgets import InMemoryBudgets

NOON_MS = 1_767_268_800_000
"""2026-01-01T12:00:00Z."""

DAY_MS = 24 * 3600 * 1000
TENANT = Wanted(None, "2.50", 100, "fail", "lifetime")
OWNER = Wanted("ada", None, 50, "pause", "lifetime")
SPENDING = Spending("acme", "ada", "commit-1", NOON_MS + 1, Spent("0.0125", 40))


@pytest.fixture(params=["memory", "dynamo"])
def budgets(request: pytest.FixtureRequest) -> BudgetStore:
    if request.param == "memory":
        return InMemoryBudgets()
    return on_table(request.getfixturevalue("aws"))


def on_table(aws: Aws, client: Any = None) -> DynamoBudgets:
    """Return the budgets of a fresh table."""
    used: Any = client or aws.dynamodb
    return DynamoBudgets(aws.table, used, aws.time.pace())


def spent(budgets: BudgetStore, owner: str | None = None) -> Spent:
    """Return what counts for a budget that is there."""
    found = budgets.one("acme", owner)
    assert found is not None
    return found.spent


def test_a_budget_is_kept_as_it_was_set(budgets: BudgetStore) -> None:
    before = (budgets.has_any("acme"), budgets.one("acme", None), budgets.of("acme", "ada"))
    tenants = budgets.put("acme", TENANT, NOON_MS)
    owners = budgets.put("acme", OWNER, NOON_MS + 5)

    assert before == (False, None, ())
    assert tenants == SharedBudget(
        None, "2.50", 100, "fail", "lifetime", NOON_MS, "", Spent("0", 0)
    )
    assert owners == SharedBudget(
        "ada", None, 50, "pause", "lifetime", NOON_MS + 5, "", Spent("0", 0)
    )
    assert budgets.of("acme", "ada") == (owners, tenants)
    assert budgets.of("acme", "bob") == (tenants,)
    assert (budgets.has_any("acme"), budgets.has_any("rival")) == (True, False)


def test_a_commit_counts_once_for_owner_and_tenant(budgets: BudgetStore) -> None:
    for wanted in (TENANT, OWNER):
        budgets.put("acme", wanted, NOON_MS)

    for _ in range(3):
        budgets.count(SPENDING)
    budgets.count(replace(SPENDING, commit_id="commit-2", owner_id="bob"))

    assert (Decimal(spent(budgets).cost), spent(budgets).tokens) == (Decimal("0.025"), 80)
    assert spent(budgets, "ada") == Spent("0.0125", 40)


def test_setting_a_budget_again_keeps_the_figures_and_its_beginning(budgets: BudgetStore) -> None:
    budgets.put("acme", TENANT, NOON_MS)
    budgets.count(SPENDING)

    after = budgets.put("acme", replace(TENANT, cost=None, mode="pause"), NOON_MS + 9)

    assert after == SharedBudget(
        None, None, 100, "pause", "lifetime", NOON_MS, "", Spent("0.0125", 40)
    )


def test_another_period_begins_anew(budgets: BudgetStore) -> None:
    budgets.put("acme", TENANT, NOON_MS)
    budgets.count(SPENDING)

    after = budgets.put("acme", replace(TENANT, period="month"), NOON_MS + 9)

    assert (after.window, after.spent, after.since_ms) == ("2026-01", Spent("0", 0), NOON_MS + 9)


def test_what_was_spent_before_a_budget_or_without_one_does_not_count(budgets: BudgetStore) -> None:
    budgets.count(SPENDING)
    budgets.put("acme", TENANT, NOON_MS + 2)

    budgets.count(SPENDING)

    assert spent(budgets) == Spent("0", 0)


def test_a_day_begins_with_nothing_and_late_spending_of_the_last_one_is_left_out(
    budgets: BudgetStore,
) -> None:
    budgets.put("acme", replace(TENANT, period="day"), NOON_MS)
    budgets.count(SPENDING)
    yesterday = budgets.one("acme", None)

    next_day = replace(SPENDING, commit_id="commit-2", at_ms=NOON_MS + DAY_MS)
    budgets.count(next_day)
    budgets.count(next_day)
    budgets.count(replace(SPENDING, commit_id="commit-3"))
    today = budgets.one("acme", None)

    assert yesterday is not None
    assert today is not None
    assert (yesterday.window, today.window) == ("2026-01-01", "2026-01-02")
    assert today.spent == Spent("0.0125", 40)
    assert yesterday.as_of(NOON_MS + DAY_MS).spent == Spent()
    assert yesterday.as_of(NOON_MS).spent == Spent("0.0125", 40)


def test_a_budget_that_is_taken_away_takes_its_figures_along(budgets: BudgetStore) -> None:
    budgets.put("acme", TENANT, NOON_MS)
    budgets.count(SPENDING)

    gone = (budgets.delete("acme", None), budgets.delete("acme", None))
    budgets.count(replace(SPENDING, commit_id="commit-2"))
    anew = budgets.put("acme", TENANT, NOON_MS + 5)

    assert gone == (True, False)
    assert anew.spent == Spent("0", 0)


@pytest.mark.parametrize(
    ("period", "window"), [("lifetime", ""), ("day", "2026-01-01"), ("month", "2026-01")]
)
def test_a_moment_counts_for_its_period(period: Any, window: str) -> None:
    assert window_of(period, NOON_MS) == window


def test_no_session_is_held_where_none_is(budgets: BudgetStore) -> None:
    assert budgets.held("acme", 10) == ()


# ---- the table alone


def test_a_look_is_one_request_and_a_count_two(aws: Aws) -> None:
    budgets = on_table(aws)
    asked = []
    for step in (
        lambda: budgets.put("acme", TENANT, NOON_MS),
        lambda: budgets.put("acme", TENANT, NOON_MS),
        lambda: budgets.has_any("acme"),
        lambda: budgets.of("acme", "ada"),
        lambda: budgets.count(SPENDING),
    ):
        aws.dynamodb.taken()
        step()
        asked.append(aws.dynamodb.taken())

    assert asked == [
        ["update_item", "update_item"],
        ["update_item"],
        ["query"],
        ["batch_get_item"],
        ["batch_get_item", "transact_write_items"],
    ]


def test_a_counted_commit_is_known_for_a_week(aws: Aws) -> None:
    budgets = on_table(aws)
    budgets.put("acme", TENANT, NOON_MS)

    budgets.count(SPENDING)

    (known,) = (item for item in aws.items() if item["pk"]["S"] == "COUNTED#commit-1")
    assert known["expires_epoch_s"] == {"N": str((NOON_MS + 1) // 1000 + COUNTED_S)}


class Meddling:
    """A client under which something happens right before each transaction."""

    def __init__(self, client: Any, meddle: Callable[[int], object]) -> None:
        self._client = client
        self._meddle = meddle
        self.tries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **request: Any) -> Any:
        self.tries += 1
        self._meddle(self.tries)
        return self._client.transact_write_items(**request)


def test_a_day_that_begins_while_it_is_counted_is_counted_once(aws: Aws) -> None:
    plain = on_table(aws)
    plain.put("acme", replace(TENANT, period="day"), NOON_MS)
    later = replace(SPENDING, at_ms=NOON_MS + DAY_MS)

    def first(tries: int) -> None:
        if tries == 1:
            plain.count(replace(later, commit_id="commit-0"))

    on_table(aws, Meddling(aws.dynamodb, first)).count(later)

    assert spent(plain).tokens == 80


def test_a_budget_that_is_gone_when_it_is_to_be_counted_stays_gone(aws: Aws) -> None:
    plain = on_table(aws)
    plain.put("acme", TENANT, NOON_MS)
    meddling = Meddling(aws.dynamodb, lambda _tries: plain.delete("acme", None))

    on_table(aws, meddling).count(SPENDING)

    assert plain.one("acme", None) is None


def test_figures_that_keep_changing_are_counted_later(aws: Aws) -> None:
    plain = on_table(aws)
    plain.put("acme", TENANT, NOON_MS)

    def anew(tries: int) -> None:
        plain.delete("acme", None)
        plain.put("acme", TENANT, NOON_MS - tries)

    meddling = Meddling(aws.dynamodb, anew)

    with pytest.raises(StoreUnavailable):
        on_table(aws, meddling).count(SPENDING)

    assert (meddling.tries, spent(plain).tokens) == (COUNT_TRIES, 0)


def test_transactions_in_the_way_are_waited_for(aws: Aws) -> None:
    plain = on_table(aws)
    plain.put("acme", TENANT, NOON_MS)

    def busy(tries: int) -> None:
        if tries < 3:
            reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}]
            response: Any = {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": reasons,
            }
            raise ClientError(response, "TransactWriteItems")

    meddling = Meddling(aws.dynamodb, busy)

    on_table(aws, meddling).count(SPENDING)

    assert (meddling.tries, spent(plain).tokens) == (3, 40)
