"""Who sees which sessions, in which order, and how much work a page is."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.commands import list_sessions
from everturn.commands.list_sessions import BATCH, LOOKED_AT, ListSessions, Wanted
from everturn.ports.callers import Caller, Who
from everturn.ports.lists import Listed, ListPage
from everturn.ports.sessions import Quarantine, SessionKey
from everturn.rejections import InvalidId
from everturn.session.events.sessions import Owner
from everturn.session.state import Session
from everturn.store.memory import InMemorySessionStore
from unit.drive.doubles import NOON_MS, FrozenClock, SteppingClock
from unit.drive.world import TENANT, World
from unit.surfaces.asking import Surfaces

KEY_OF_ACME = Caller(TENANT)
ADA = Caller(TENANT, Who.FRONTEND, owner=Owner(id="ada"))


def world_with(*sessions: tuple[str, str], clock: FrozenClock | None = None) -> World:
    """Return a world with sessions of owners, one a minute from noon on."""
    world = World(clock=clock or FrozenClock())
    world.agent("other")
    for session, owner in sessions:
        submit(world, session, owner)
        world.clock.move(60_000)
    return world


def submit(world: World, session: str, owner: str, agent: str = "helper") -> None:
    surfaces = Surfaces(world)
    input_ = {
        "type": "client.message",
        "agent_id": agent,
        "message": {"role": "user", "content": "Hi"},
    }
    body = {"session_id": session, "identity": {"id": owner}, "input": input_}
    status, told, _ = surfaces.http("POST", "/v1/sessions/input", body)
    assert status == 202, told


def listed(world: World, caller: Caller = KEY_OF_ACME, **wanted: Any) -> dict[str, Any]:
    return ListSessions(world.store)(caller, Wanted(**wanted))


def names(page: dict[str, Any]) -> list[str]:
    return [row["session_id"] for row in page["sessions"]]


def test_a_row_says_what_there_is_to_know_without_reading_the_log() -> None:
    world = world_with(("s1", "ada"))

    page = listed(world)

    turn = world.head().session.turn
    assert turn is not None
    assert page == {
        "sessions": [
            {
                "session_id": "s1",
                "agent_id": "helper",
                "owner": "ada",
                "status": "active",
                "turns": 1,
                "turn_id": turn.id,
                "created_at": "2026-01-01T12:00:00.000Z",
                "last_turn_at": "2026-01-01T12:00:00.000Z",
            }
        ]
    }


def test_pages_follow_one_another_to_the_end() -> None:
    world = world_with(*((f"s{n}", "ada") for n in range(5)))

    first = listed(world, limit=2)
    second = listed(world, limit=2, cursor=first["cursor"])
    third = listed(world, limit=2, cursor=second["cursor"])

    assert [names(one) for one in (first, second, third)] == [["s4", "s3"], ["s2", "s1"], ["s0"]]
    assert "cursor" not in third


def test_a_page_that_ends_the_list_says_so() -> None:
    world = world_with(("s1", "ada"), ("s2", "ada"))

    assert "cursor" not in listed(world, limit=2)
    assert "cursor" not in listed(world, limit=2, agent_id="helper")


def test_filters_choose_and_go_together() -> None:
    world = world_with(("s1", "ada"), ("s2", "bob"), ("s3", "ada"), clock=SteppingClock())
    submit(world, "s4", "ada", agent="other")
    world.clock.move(60_000)
    world.advance(request_id="r1")

    assert names(listed(world, owner="ada")) == ["s4", "s3", "s1"]
    assert names(listed(world, agent_id="other")) == ["s4"]
    assert names(listed(world, owner="ada", agent_id="helper")) == ["s3", "s1"]
    assert names(listed(world, status="done")) == ["s4"]
    assert names(listed(world, status="active", owner="bob")) == ["s2"]
    assert names(listed(world, status="cancelled")) == []


def test_a_client_token_sees_its_owners_sessions_alone_whatever_it_asks_for() -> None:
    world = world_with(("s1", "ada"), ("s2", "bob"))
    of_key = listed(world, limit=1)

    assert names(listed(world, ADA)) == ["s1"]
    assert names(listed(world, ADA, owner="ada")) == ["s1"]
    assert listed(world, ADA, owner="bob") == {"sessions": []}
    with pytest.raises(InvalidId):
        listed(world, ADA, cursor=of_key["cursor"])


def test_a_cursor_of_another_tenant_shows_nothing_of_theirs() -> None:
    world = world_with(("s1", "ada"), ("s2", "ada"))
    cursor = listed(world, limit=1)["cursor"]

    theirs = ListSessions(world.store)(Caller("rival"), Wanted(cursor=cursor))

    assert theirs == {"sessions": []}


def test_a_session_that_is_put_aside_says_so() -> None:
    world = world_with(("s1", "ada"))
    world.store.quarantine(SessionKey(TENANT, "s1"), None, Quarantine("defect", NOON_MS))

    [row] = listed(world)["sessions"]

    assert row["quarantined"] == {"reason": "defect", "at": "2026-01-01T12:00:00.000Z"}
    assert row["status"] == "active"


class Long(InMemorySessionStore):
    """A store with a list of so many sessions, of which every so manieth can be read."""

    def __init__(self, count: int, readable: int) -> None:
        super().__init__()
        self._rows = [self._row(n, n % readable == 0) for n in range(count)]
        self.asked: list[int] = []

    def _row(self, n: int, readable: bool) -> Listed:
        session = Session(agent_id="helper") if readable else None
        place = f"2026-01-01T12:00:00.000Z#{n:06d}"
        return Listed(SessionKey(TENANT, f"s{n}"), place, "", 0, session)

    def listed(self, tenant: str, after: str, limit: int) -> ListPage:
        del tenant
        self.asked.append(limit)
        left = [row for row in self._rows if row.place > after]
        more = len(left) > limit
        return ListPage(tuple(left[:limit]), left[limit - 1].place if more else "")


def test_a_page_looks_at_so_many_sessions_and_is_short_with_a_cursor() -> None:
    store = Long(5_000, readable=1_000_000)

    page = ListSessions(store)(KEY_OF_ACME, Wanted(agent_id="helper"))
    second = ListSessions(store)(KEY_OF_ACME, Wanted(agent_id="helper", cursor=page["cursor"]))

    assert names(page) == ["s0"]
    assert sum(store.asked[:5]) == LOOKED_AT
    assert (names(second), "cursor" in second) == ([], True)


def test_a_page_without_filters_looks_at_what_it_shows() -> None:
    store = Long(5_000, readable=1)

    page = ListSessions(store)(KEY_OF_ACME, Wanted(limit=120))

    assert len(page["sessions"]) == 120
    assert store.asked == [BATCH, 20]


def test_the_last_row_of_a_full_page_is_where_the_next_one_begins() -> None:
    store = Long(300, readable=3)

    first = ListSessions(store)(KEY_OF_ACME, Wanted(agent_id="helper", limit=40))
    rest = ListSessions(store)(
        KEY_OF_ACME, Wanted(agent_id="helper", limit=200, cursor=first["cursor"])
    )

    assert names(first) + names(rest) == [f"s{n}" for n in range(0, 300, 3)]


def test_what_cannot_be_read_has_its_name_and_matches_no_wish() -> None:
    store = Long(2, readable=2)

    page = ListSessions(store)(KEY_OF_ACME, Wanted())

    assert page["sessions"][1] == {"session_id": "s1"}
    assert names(ListSessions(store)(KEY_OF_ACME, Wanted(status="idle"))) == ["s0"]
    assert list_sessions.PAGE_SESSIONS == 200
