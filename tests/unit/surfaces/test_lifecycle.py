"""`GET /v1/sessions`, `DELETE /v1/sessions/{id}` and `GET /v1/agents` as their callers see them."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands.list_sessions import PAGE_SESSIONS
from everturn.observability import metrics
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import FrozenClock
from unit.drive.world import World, body
from unit.surfaces.asking import RIVAL_KEY, Surfaces

INPUT = "/v1/sessions/input"


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


def with_sessions(*owners: str) -> Surfaces:
    """Return surfaces with a session for each owner, named after it and its place."""
    surfaces = Surfaces()
    for n, owner in enumerate(owners):
        made = {**body("Hi", session=f"{owner}-{n}"), "identity": {"id": owner}}
        assert surfaces.http("POST", INPUT, made)[0] == 202
        surfaces.world.clock.move(1000)
    return surfaces


def listed(surfaces: Surfaces, **how: Any) -> tuple[int, list[str], str | None]:
    status, told, _ = surfaces.http("GET", "/v1/sessions", **how)
    return status, [one["session_id"] for one in told["sessions"]], told.get("cursor")


def test_a_key_lists_its_tenant_and_a_token_its_owner() -> None:
    surfaces = with_sessions("ada", "bob", "ada")
    token = surfaces.token("ada")

    answers = [listed(surfaces), listed(surfaces, key=token), listed(surfaces, key=RIVAL_KEY)]

    assert answers == [
        (200, ["ada-2", "bob-1", "ada-0"], None),
        (200, ["ada-2", "ada-0"], None),
        (200, [], None),
    ]


def test_a_list_goes_on_at_its_cursor_with_the_same_wishes() -> None:
    surfaces = with_sessions("ada", "bob", "ada", "ada")
    wish = {"owner": "ada", "limit": "2"}

    status, first, cursor = listed(surfaces, query=wish)
    assert cursor is not None
    rest = listed(surfaces, query={**wish, "cursor": cursor})

    assert (status, first, rest) == (200, ["ada-3", "ada-2"], (200, ["ada-0"], None))


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "0"}, "schema_violation"),
        ({"limit": str(PAGE_SESSIONS + 1)}, "schema_violation"),
        ({"limit": "ten"}, "schema_violation"),
        ({"status": "running"}, "schema_violation"),
        ({"cursor": "AAAA"}, "invalid_id"),
        ({"cursor": ""}, "invalid_id"),
        ({"agent_id": "a/b"}, "invalid_id"),
        ({"owner": "a#b"}, "invalid_id"),
    ],
)
def test_a_wish_that_cannot_be_read_is_refused(query: dict[str, str], code: str) -> None:
    status, told, _ = with_sessions("ada").http("GET", "/v1/sessions", query=query)

    assert (status, told["code"]) == (400, code)


def test_a_cursor_moves_nobody_into_another_tenants_list() -> None:
    surfaces = with_sessions("ada", "ada")
    _, _, cursor = listed(surfaces, query={"limit": "1"})
    assert cursor is not None

    assert listed(surfaces, key=RIVAL_KEY, query={"cursor": cursor}) == (200, [], None)


def test_a_deleted_session_is_gone_for_reads_events_and_lists() -> None:
    surfaces = with_sessions("ada")

    deleted = surfaces.http("DELETE", "/v1/sessions/ada-0")
    read = surfaces.http("GET", "/v1/sessions/ada-0")
    events = surfaces.events("ada-0")
    again = surfaces.http("DELETE", "/v1/sessions/ada-0")

    assert deleted[:2] == (200, {"ok": True})
    assert (read[0], again[0], events["statusCode"]) == (404, 404, 404)
    assert read[1] == again[1]
    assert listed(surfaces) == (200, [], None)


@pytest.mark.parametrize("session", ["bob-0", "none", "a b"])
def test_a_token_deletes_its_owners_sessions_alone(session: str) -> None:
    surfaces = with_sessions("bob", "ada")
    token = surfaces.token("ada")

    refused = surfaces.http("DELETE", f"/v1/sessions/{session}", key=token)
    own = surfaces.http("DELETE", "/v1/sessions/ada-1", key=token)

    assert (refused[0], refused[1]["code"]) == (404, "unknown_session")
    assert own[:2] == (200, {"ok": True})
    assert listed(surfaces)[1] == ["bob-0"]


def test_scopes_hold_for_lists_and_deletions() -> None:
    surfaces = with_sessions("ada")
    reads = surfaces.token("ada", scopes=["sessions:read"])
    writes = surfaces.token("ada", scopes=["sessions:write"])

    deleted = surfaces.http("DELETE", "/v1/sessions/ada-0", key=reads)
    seen = surfaces.http("GET", "/v1/sessions", key=writes)

    assert (deleted[0], seen[0]) == (403, 403)


class Slow(InMemorySessionStore):
    """A store that never gets done in the time of a request."""

    def erase(self, *_args: Any) -> bool:
        return False


def test_what_takes_longer_is_accepted_and_meanwhile_its_id_is_taken() -> None:
    surfaces = Surfaces(World(clock=FrozenClock(), store=Slow()))
    surfaces.http("POST", INPUT, body("Hi"))

    deleted = surfaces.http("DELETE", "/v1/sessions/s1")
    read = surfaces.http("GET", "/v1/sessions/s1")
    posted = surfaces.http("POST", INPUT, body("Hi", turn="t2"))

    assert deleted[:2] == (202, {"ok": True, "deleting": True})
    assert (read[0], posted[0], posted[1]["code"]) == (404, 409, "session_deleting")


def test_a_subscriber_of_a_deleted_session_hears_no_more_and_is_told_when_it_asks() -> None:
    surfaces = with_sessions("ada")
    surfaces.world.directory.put_connection(
        "c1", surfaces.callers.by_credential("key-of-acme"), 10**10
    )
    subscribe = {"action": "subscribe", "id": "a", "session_id": "ada-0"}
    surfaces.say(subscribe)

    surfaces.http("DELETE", "/v1/sessions/ada-0")
    frames = surfaces.say({**subscribe, "id": "b"})

    assert [(one["type"], one["code"]) for one in frames] == [("error", "unknown_session")]


def test_agents_are_listed_by_name_page_by_page() -> None:
    surfaces = Surfaces()
    for name in ("zoe", "amy", "max"):
        surfaces.world.agent(name)

    _, first, _ = surfaces.http("GET", "/v1/agents", query={"limit": "3"})
    _, rest, _ = surfaces.http("GET", "/v1/agents", query={"cursor": first["cursor"]})
    _, theirs, _ = surfaces.http("GET", "/v1/agents", key=RIVAL_KEY)

    assert first["agents"][0] == {
        "agent_id": "amy",
        "model": "demo:demo",
        "updated_at": first["agents"][0]["updated_at"],
    }
    assert [one["agent_id"] for one in first["agents"]] == ["amy", "helper", "max"]
    assert [one["agent_id"] for one in rest["agents"]] == ["zoe"]
    assert ("cursor" in rest, theirs) == (False, {"agents": []})


@pytest.mark.parametrize("query", [{"limit": "201"}, {"cursor": "x"}])
def test_a_page_of_agents_that_cannot_be_read_is_refused(query: dict[str, str]) -> None:
    status, told, _ = Surfaces().http("GET", "/v1/agents", query=query)

    assert (status, told["code"] in {"schema_violation", "invalid_id"}) == (400, True)


def test_agents_are_for_keys_alone() -> None:
    surfaces = Surfaces()

    assert surfaces.http("GET", "/v1/agents", key=surfaces.token())[0] == 403
