"""Budgets of owners and tenants over HTTP: set, counted, heeded, raised. Y-4."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.wake_held import HELD_WOKEN
from everturn.ports.budgets import Held, Spending
from everturn.session.state import Spent
from everturn.store.memory_budgets import InMemoryBudgets
from unit.drive.doubles import FrozenClock, result
from unit.drive.world import MACHINE, TENANT, World, body
from unit.surfaces.asking import RIVAL_KEY, Surfaces

TENANTS = "/v1/budgets/tenant"
OWNERS = "/v1/budgets/owners/ada"
INPUT = "/v1/sessions/input"
BOTH = pytest.mark.parametrize("path", [TENANTS, OWNERS])


def spend(surfaces: Surfaces, tokens: int, owner: str = "ada", commit: str = "c1") -> None:
    """Have the table's stream tell that a commit spent something."""
    budgets, now_ms = surfaces.world.budgets, surfaces.world.clock.now_ms()
    budgets.count(Spending(TENANT, owner, commit, now_ms, Spent("0.5", tokens)))


def send(surfaces: Surfaces, session: str, owner: str = "ada") -> int:
    """Send an input for an owner; return the status."""
    made = {**body("Hi", None, session), "identity": {"id": owner}}
    return surfaces.http("POST", INPUT, made)[0]


def status_of(surfaces: Surfaces, session: str) -> Any:
    """Return a session's status and the scope of the budget that holds it up."""
    _, told, _ = surfaces.http("GET", f"/v1/sessions/{session}")
    return told["status"], [one["payload"]["scope"] for one in told["interrupts"]]


@BOTH
def test_a_budget_is_set_read_and_taken_away(path: str) -> None:
    surfaces = Surfaces(World(clock=FrozenClock()))
    wanted = {"cost": "2.5", "tokens": 100, "mode": "fail", "period": "month"}

    before, _, _ = surfaces.http("GET", path)
    status, put, _ = surfaces.http("PUT", path, wanted)
    spend(surfaces, 40)
    _, told, _ = surfaces.http("GET", path)
    gone = surfaces.http("DELETE", path)
    again, refused, _ = surfaces.http("DELETE", path)

    scope = {"scope": "tenant"} if path == TENANTS else {"scope": "owner", "owner_id": "ada"}
    assert (before, status, again, refused["code"]) == (404, 200, 404, "unknown_budget")
    assert put["spent"] == {"cost": "0", "tokens": 0}
    assert told == {
        **scope,
        "limit": {"cost": "2.5", "tokens": 100},
        "spent": {"cost": "0.5", "tokens": 40},
        "mode": "fail",
        "period": "month",
        "since": put["since"],
    }
    assert gone[:2] == (200, {"ok": True, "woken": 0})


@BOTH
def test_setting_it_again_keeps_what_was_spent(path: str) -> None:
    surfaces = Surfaces()
    surfaces.http("PUT", path, {"tokens": 100})
    spend(surfaces, 40)
    spend(surfaces, 40)

    _, told, _ = surfaces.http("PUT", path, {"cost": "9"})

    assert (told["limit"], told["spent"]["tokens"]) == ({"cost": "9"}, 40)


def test_another_owners_spending_is_the_tenants_alone() -> None:
    surfaces = Surfaces()
    for path in (TENANTS, OWNERS):
        surfaces.http("PUT", path, {"tokens": 100})

    spend(surfaces, 40, owner="bob")

    told = [surfaces.http("GET", path)[1]["spent"]["tokens"] for path in (TENANTS, OWNERS)]
    assert told == [40, 0]


@BOTH
def test_in_mode_fail_the_next_call_fails(path: str) -> None:
    """Conformance 37: Y-4."""
    surfaces = Surfaces()
    surfaces.http("PUT", path, {"tokens": 100, "mode": "fail"})
    spend(surfaces, 100)

    accepted = send(surfaces, "s1")

    kinds = surfaces.world.kinds()
    assert accepted == 202
    assert kinds[-2:] == ["llm.call.errored", "turn.completed"]
    assert surfaces.world.head().session.last_outcome == "failed"


@BOTH
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_in_mode_pause_the_call_goes_on_when_there_is_room(path: str, method: str) -> None:
    """Conformance 37: Y-4."""
    surfaces = Surfaces()
    world = surfaces.world
    surfaces.http("PUT", path, {"tokens": 100})
    spend(surfaces, 100)
    send(surfaces, "s1")
    world.advance()
    held = status_of(surfaces, "s1")

    _, told, _ = surfaces.http(method, path, {"tokens": 101} if method == "PUT" else None)
    world.advance()

    assert held == ("interrupted", ["tenant" if path == TENANTS else "owner"])
    assert told["woken"] == 1
    assert world.kinds().count("llm.call.dispatched") == 1
    assert world.head().session.last_outcome == "done"


def test_another_owner_is_not_held_up() -> None:
    surfaces = Surfaces()
    surfaces.http("PUT", OWNERS, {"tokens": 100})
    spend(surfaces, 100)

    send(surfaces, "s1", "bob")
    surfaces.world.advance()

    assert surfaces.world.head().session.last_outcome == "done"


def test_a_budget_raised_while_the_pause_is_written_is_noticed_by_the_driver() -> None:
    """The pause wakes a driver, which looks once more: nobody else would."""
    surfaces = Surfaces()
    world = surfaces.world
    surfaces.http("PUT", TENANTS, {"tokens": 100})
    spend(surfaces, 100)
    send(surfaces, "s1")
    woken = [message.message["step"] for message in world.wake.sent]
    world.budgets.delete(TENANT, None)

    world.advance()

    assert woken == ["llm"]
    assert world.head().session.last_outcome == "done"


def test_a_pause_of_the_drivers_own_is_looked_at_again_at_once() -> None:
    surfaces = Surfaces()
    world = surfaces.world
    surfaces.http("PUT", TENANTS, {"tokens": 100})
    look_up = world.budgets.of
    spend(surfaces, 100)
    asked: list[str] = []

    def raised_meanwhile(tenant: str, owner_id: str) -> Any:
        asked.append(owner_id)
        found = look_up(tenant, owner_id)
        if len(asked) == PAUSING:
            world.budgets.delete(TENANT, None)
        return found if len(asked) >= PAUSING else ()

    world.budgets.of = raised_meanwhile  # type: ignore[method-assign]  # a look that comes too early
    world.submit("[[call:look {}]][[say:seen]]", agent="helper")
    world.decider.answer = lambda _request: result("seen")
    world.advance()

    kinds = world.kinds()
    assert kinds.count("session.interrupted") == kinds.count("session.interrupt_resumed") == 1
    assert world.head().session.last_outcome == "done"


PAUSING = 3
"""The look before the second model call."""


def test_so_many_sessions_are_woken_at_once_and_no_more() -> None:
    surfaces = Surfaces()
    world = surfaces.world
    surfaces.http("PUT", TENANTS, {"tokens": 0})
    send(surfaces, "s1")
    created = world.head().created
    others = [Held("s1", "an earlier one"), Held("gone", "x")]
    budgets = InMemoryBudgets(lambda _tenant: [*others, *[Held("s1", created)] * HELD_WOKEN])
    world.budgets = budgets
    shared = world.shared_budgets()

    told = shared.put(MACHINE, None, {"tokens": 0})

    assert (told["woken"], told["more"]) == (HELD_WOKEN - 2, True)
    assert len(budgets.held(TENANT, 2 * HELD_WOKEN)) == HELD_WOKEN


@pytest.mark.parametrize("period", ["day", "month"])
def test_a_pause_does_not_end_with_its_period_yet(period: str) -> None:
    surfaces = Surfaces()

    status, told, _ = surfaces.http("PUT", TENANTS, {"tokens": 1, "period": period})

    assert (status, told["code"]) == (400, "unsupported")


@pytest.mark.parametrize(
    ("method", "path", "wanted", "answer"),
    [
        ("PUT", TENANTS, {}, (400, "schema_violation")),
        ("PUT", TENANTS, {"tokens": 1, "period": "week"}, (400, "schema_violation")),
        ("PUT", "/v1/budgets/owners/no%20id", {"tokens": 1}, (400, "invalid_id")),
        ("GET", "/v1/budgets/owners/nobody", None, (404, "unknown_budget")),
    ],
)
def test_what_is_no_budget_is_refused(
    method: str, path: str, wanted: Any, answer: tuple[int, str]
) -> None:
    surfaces = Surfaces()

    status, told, _ = surfaces.http(method, path, wanted)

    assert (status, told["code"]) == answer


@BOTH
def test_tenants_do_not_meet_and_clients_have_no_say(path: str) -> None:
    """O-13, A-1."""
    surfaces = Surfaces()
    surfaces.http("PUT", path, {"tokens": 1})

    rival, _, _ = surfaces.http("GET", path, key=RIVAL_KEY)
    client, told, _ = surfaces.http("GET", path, key=surfaces.token("ada"))

    assert (rival, client, told["code"]) == (404, 403, "insufficient_privilege")
