"""`everturn budgets` against an API, as a person or a script uses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.client import new_id
from e2e.command import everturn_dev
from e2e.test_cli_remote import done, failed, told
from e2e.waiting import until


@pytest.fixture(scope="module")
def about() -> Iterator[dict[str, Any]]:
    """A local runtime of its own."""
    with everturn_dev("--cloud") as (_, said):
        yield said


@pytest.fixture(autouse=True)
def _environment(about: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person has exported."""
    monkeypatch.setenv("EVERTURN_URL", about["http_url"])
    monkeypatch.setenv("EVERTURN_API_KEY", about["api_key"])


def test_a_tenants_and_an_owners_budget_are_set_shown_and_cleared() -> None:
    before = failed("budgets", "show")
    done("budgets", "set", "--cost", "2.5", "--tokens", "1000", "--mode", "fail")
    done("budgets", "set", "--owner", "ada", "--tokens", "9", "--mode", "fail", "--period", "day")
    done("send", "demo", "[[usage:in=60,out=40]][[say:spent]]", "--session", new_id("session"))

    until(lambda: "$0, 100 tokens of" in done("budgets", "show")[0])
    shown = [done("budgets", "show"), done("budgets", "show", "--owner", "ada")]
    whole = told("budgets", "show", "--owner", "ada")
    cleared = told("budgets", "clear")

    assert before[0] == 1
    assert shown == [
        ["tenant: $0, 100 tokens of $2.5, 1000 tokens"],
        ["owner: $0, 0 tokens of 9 tokens"],
    ]
    assert (whole["owner_id"], whole["period"]) == ("ada", "day")
    assert cleared == {"ok": True, "woken": 0}
    assert failed("budgets", "clear")[0] == 1


def test_a_sessions_budgets_are_set_shown_and_cleared() -> None:
    session = new_id("session")
    done("send", "demo", "hello", "--session", session)
    limits = ("--turn-cost", "0.50", "--tokens", "7000")

    made = done("budgets", "set", "--session", session, *limits)
    cleared = done("budgets", "clear", "--session", session)

    assert made == ["turn: $0, 0 tokens of $0.50", "session: $0, 0 tokens of 7000 tokens"]
    assert cleared == ["no budget"]


@pytest.mark.parametrize(
    "options",
    [
        ("--turn-cost", "1"),
        ("--session", "s", "--tokens", "1", "--period", "day"),
        ("--session", "s", "--owner", "ada", "--tokens", "1"),
        ("--tokens", "-1"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(options: tuple[str, ...]) -> None:
    assert failed("budgets", "set", *options)[0] == 2
