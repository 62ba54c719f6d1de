"""Budgets over HTTP: what a session and its turns may spend, who may say so. Y-4, I-10."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.limits import (
    MAX_BUDGET_REQUEST_BYTES,
    MAX_BUDGET_TOKENS,
    MAX_BUDGET_USD,
)
from unit.drive.doubles import result
from unit.surfaces.asking import RIVAL_KEY, Surfaces

PATH = "/v1/sessions/s1/budgets"
TWO_CALLS = "[[usage:in=60,out=40]][[call:look {}]][[usage:in=5,out=5]][[say:{{result}}]]"


def after_one_call(budgets: dict[str, Any] | None) -> Surfaces:
    """Return surfaces with a session whose first model call used 100 tokens."""
    surfaces = Surfaces()
    world = surfaces.world
    world.agent("helper", budgets=budgets)
    world.decider.answer = lambda _request: result("seen")
    world.submit(TWO_CALLS)
    world.advance()
    return surfaces


def paused() -> Surfaces:
    """Return surfaces with a session whose turn has used up its budget."""
    return after_one_call({"turn": {"tokens": 100}})


def test_a_turn_that_used_up_its_budget_shows_the_pause_and_the_figures() -> None:
    surfaces = paused()

    _, session, _ = surfaces.http("GET", "/v1/sessions/s1")
    status, told, _ = surfaces.http("GET", PATH)

    state = {"limit": {"tokens": 100}, "spent": {"cost": "0", "tokens": 100}}
    assert (status, told) == (200, {"session_id": "s1", "mode": "pause", "turn": state})
    assert session["status"] == "interrupted"
    (interrupt,) = session["interrupts"]
    assert (interrupt["origin"], interrupt["reason"]) == ("system", "budget_exceeded")
    assert interrupt["payload"] == {"scope": "turn", **state}


def test_neither_a_key_nor_a_token_resumes_it() -> None:
    """I-10."""
    surfaces = paused()
    _, session, _ = surfaces.http("GET", "/v1/sessions/s1")
    body = {"interrupt_id": session["interrupts"][0]["interrupt_id"]}

    refusals = [
        surfaces.http("POST", "/v1/sessions/s1/resume", body),
        surfaces.http("POST", "/v1/sessions/s1/resume", body, key=surfaces.token("default")),
    ]

    assert [(status, told["code"]) for status, told, _ in refusals] == [
        (403, "insufficient_privilege")
    ] * 2


@pytest.mark.parametrize(("method", "body"), [("PUT", {"turn": {"tokens": 101}}), ("DELETE", None)])
def test_a_budget_with_room_again_lets_the_call_go_on_once(method: str, body: Any) -> None:
    """Conformance 37: Y-4."""
    surfaces = paused()
    world = surfaces.world

    status, told, _ = surfaces.http(method, PATH, body)
    surfaces.http(method, PATH, body)
    world.advance()

    assert status == 200
    assert told.get("turn", {}).get("limit") == (body or {}).get("turn")
    assert world.kinds().count("llm.call.dispatched") == 2
    assert world.head().session.last_outcome == "done"
    assert world.texts()[-1] == ("assistant", "seen")


def test_between_turns_a_turns_budget_is_untouched_and_a_sessions_is_not() -> None:
    limits = {"turn": {"tokens": 1000}, "session": {"cost": "1", "tokens": 1000}}
    surfaces = after_one_call(limits)

    _, told, _ = surfaces.http("GET", PATH)

    assert told["turn"]["spent"] == {"cost": "0", "tokens": 0}
    assert told["session"] == {
        "limit": {"cost": "1", "tokens": 1000},
        "spent": {"cost": "0", "tokens": 110},
    }


def test_a_turn_over_its_budget_in_mode_fail_says_so() -> None:
    """Conformance 37: Y-4."""
    surfaces = after_one_call({"turn": {"tokens": 100}, "mode": "fail"})

    ended = [
        event
        for commit in surfaces.world.log()
        for event in commit.events
        if event.type == "turn.completed"
    ]

    assert [(one.outcome, one.error.code) for one in ended if one.error] == [
        ("failed", "budget_exceeded")
    ]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_others_and_clients_do_not_reach_it(method: str) -> None:
    """O-13, A-1."""
    surfaces = paused()
    body = {"turn": {"tokens": 1}} if method == "PUT" else None

    rival, _, _ = surfaces.http(method, PATH, body, key=RIVAL_KEY)
    client, told, _ = surfaces.http(method, PATH, body, key=surfaces.token("default"))

    assert (rival, client, told["code"]) == (404, 403, "insufficient_privilege")


@pytest.mark.parametrize(
    "budgets",
    [
        {},
        {"mode": "fail"},
        {"turn": {}},
        {"turn": {"tokens": -1}},
        {"turn": {"tokens": 1.5}},
        {"turn": {"tokens": MAX_BUDGET_TOKENS + 1}},
        {"turn": {"cost": 1}},
        {"turn": {"cost": "-1"}},
        {"turn": {"cost": "1e3"}},
        {"turn": {"cost": "1.1234567890123"}},
        {"turn": {"cost": f"{MAX_BUDGET_USD}.1"}},
        {"session": {"cost": "1"}, "mode": "stop"},
        {"owner": {"cost": "1"}},
    ],
)
def test_what_is_no_budget_is_refused(budgets: dict[str, Any]) -> None:
    surfaces = paused()

    status, told, _ = surfaces.http("PUT", PATH, budgets)

    assert (status, told["code"]) == (400, "schema_violation")


@pytest.mark.parametrize(
    "limit",
    [{"tokens": 0}, {"tokens": MAX_BUDGET_TOKENS}, {"cost": "0"}, {"cost": f"{MAX_BUDGET_USD}.0"}],
)
def test_limits_may_be_as_small_and_as_large_as_said(limit: dict[str, Any]) -> None:
    surfaces = paused()

    status, told, _ = surfaces.http("PUT", PATH, {"session": limit})

    assert (status, told["session"]["limit"]) == (200, limit)


@pytest.mark.parametrize(("more", "status"), [(-1, 200), (0, 200), (1, 413)])
def test_a_body_is_read_up_to_its_limit(more: int, status: int) -> None:
    surfaces = paused()
    text = '{"turn": {"tokens": 1}}'
    padded = text + " " * (MAX_BUDGET_REQUEST_BYTES + more - len(text))

    answered, _, _ = surfaces.http("PUT", PATH, padded)

    assert answered == status


def test_a_session_without_a_config_yet_takes_no_budgets() -> None:
    surfaces = Surfaces()
    surfaces.world.agent("asked", decides="worker")
    surfaces.world.submit("Hello", agent="asked")

    status, told, _ = surfaces.http("PUT", PATH, {"turn": {"tokens": 1}})

    assert (status, told["code"]) == (400, "model_required")
