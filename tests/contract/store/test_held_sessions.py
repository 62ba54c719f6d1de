"""What a commit says of budgets: what it spent, and that a budget pauses its session. ADR 0035."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contract.store.conftest import Aws
from everturn.ports.budgets import Held, Spending
from everturn.ports.sessions import Head, NewCommit, Owner, SessionKey
from everturn.session.state import Spent
from everturn.store.budgets import DynamoBudgets
from everturn.store.stream import announced
from unit.session.building import Story
from unit.session.spending import USED, ask_tool, limited, set_budgets

AT_MS = 1_767_268_800_000


def commit(
    key: SessionKey, before: Head | None, story: Story, events: Any, commit_id: str
) -> NewCommit:
    """Return a commit of what just happened in a story."""
    return NewCommit(
        key=key,
        before=before,
        after=story.session,
        events=tuple(events),
        commit_id=commit_id,
        at_ms=AT_MS,
        by="http_api",
        owner=Owner(0, ""),
        created="incarnation",
    )


def spending_of(item: dict[str, Any]) -> Spending | None:
    """Return what the stream tells of a log item."""
    return announced({"dynamodb": {"NewImage": item}}).spending


def test_a_session_that_a_budget_pauses_is_noted_in_the_commit_and_forgotten_in_another(
    aws: Aws, key: SessionKey
) -> None:
    store = aws.store()
    budgets = DynamoBudgets(aws.table, aws.dynamodb, aws.time.pace())  # type: ignore[arg-type]  # it counts
    story = limited(turn={"tokens": 100})
    story.submit()
    asking = ask_tool(story, usage=USED, cost="0.02")
    head = store.append(commit(key, None, story, story.log, "c1"))
    held = budgets.held("acme", 10)
    aws.dynamodb.taken()

    raised = set_budgets(story, None)
    store.append(commit(key, head, story, raised, "c2"))

    assert asking[-1].type == "session.interrupted"
    assert held == (Held(key.session, "incarnation"),)
    assert budgets.held("acme", 10) == ()
    assert budgets.held("rival", 10) == ()


def test_a_session_that_is_gone_is_forgotten_and_one_with_its_id_is_not(
    aws: Aws, key: SessionKey
) -> None:
    budgets = DynamoBudgets(aws.table, aws.dynamodb, aws.time.pace())  # type: ignore[arg-type]  # it counts
    story = limited(turn={"tokens": 0})
    story.submit()
    aws.store().append(commit(key, None, story, story.log, "c1"))
    (noted,) = budgets.held("acme", 10)

    budgets.forget_held("acme", Held(key.session, "an earlier one"))
    kept = budgets.held("acme", 10)
    budgets.forget_held("acme", noted)

    assert (kept, budgets.held("acme", 10)) == ((noted,), ())


@pytest.mark.parametrize("counts", [True, False])
def test_a_commit_says_what_its_model_calls_used_where_that_counts(
    aws: Aws, key: SessionKey, counts: bool
) -> None:
    store = aws.store()
    story = Story()
    story.submit()
    opened = replace(commit(key, None, story, story.log, "c1"), counts=counts)
    head = store.append(opened)
    answered = story.answer("Hi.", usage=USED, cost="0.02")
    after = store.append(replace(commit(key, head, story, answered, "c2"), counts=counts))

    places = [f"LOG#{one.session.seq:012d}" for one in (head, after)]
    told = [spending_of(aws.item(place)) for place in places]

    spending = Spending("acme", "default", "c2", AT_MS, Spent("0.02", 100))
    assert told == [None, spending if counts else None]
