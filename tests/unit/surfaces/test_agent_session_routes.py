"""The routes of sessions made for runs, and of the inbox, as callers see them."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.observability import metrics
from unit.drive.world import body
from unit.surfaces.asking import Surfaces

SESSIONS = "/api/v1/workspaces/acme/agent-sessions"


@pytest.fixture(autouse=True)
def _no_metrics_left() -> Any:
    yield
    metrics.clear_metrics()


def made(surfaces: Surfaces, **body_: Any) -> str:
    """Return a session that was made."""
    status, told, _ = surfaces.http("POST", SESSIONS, body_)
    assert status == 201, told
    session_id: str = told["sessionId"]
    return session_id


def send(surfaces: Surfaces, session: str, prompt: str, **more: Any) -> dict[str, Any]:
    """Return the answer of a message that was sent."""
    path = f"{SESSIONS}/{session}/messages"
    status, told, _ = surfaces.http("POST", path, {"prompt": prompt, **more})
    assert status == 202, told
    return told


def system_of(surfaces: Surfaces, session: str) -> list[Any]:
    """Return the instructions of each model request of a session."""
    events = [event for commit in surfaces.world.log(session) for event in commit.events]
    return [(one.header or {}).get("system") for one in events if one.type == "request.header"]


# ---- one session


def test_a_session_is_made_spoken_to_and_read_again() -> None:
    surfaces = Surfaces()
    session = made(surfaces, name="desk", systemPrompt="Be kind.", metadata={"team": "blue"})

    told = send(surfaces, session, "[[say:Hi]]")
    surfaces.world.advance()
    status, read, _ = surfaces.http("GET", f"{SESSIONS}/{session}")

    assert told["sessionId"] == session
    assert status == 200
    assert (read["id"], read["name"], read["status"]) == (session, "desk", "active")
    assert read["metadata"] == {"team": "blue"}
    assert read["agentSpec"]["systemPrompt"] == "Be kind."
    assert read["messages"] == [
        {"role": "user", "content": "[[say:Hi]]"},
        {"role": "assistant", "content": "Hi"},
    ]
    assert read["endedAt"] is None


def test_what_a_message_says_otherwise_holds_for_its_own_run() -> None:
    surfaces = Surfaces()
    session = made(surfaces, systemPrompt="Be kind.")

    send(surfaces, session, "[[say:a]]", systemPrompt="Be stern.")
    send(surfaces, session, "[[say:b]]")
    surfaces.world.advance()

    assert system_of(surfaces, session) == ["Be stern.", "Be kind."]


def test_a_session_ends_for_good_and_takes_no_more_messages() -> None:
    surfaces = Surfaces()
    session = made(surfaces)
    told = send(surfaces, session, "Hello")

    ends = [surfaces.http("DELETE", f"{SESSIONS}/{session}")[:2] for _ in range(2)]
    late = surfaces.http("POST", f"{SESSIONS}/{session}/messages", {"prompt": "x"})

    read = surfaces.http("GET", f"{SESSIONS}/{session}")[1]
    run = surfaces.http("GET", f"/api/v1/workspaces/acme/agent-runs/{told['runId']}")[1]
    assert ends == [(200, {"ok": True})] * 2
    assert (late[0], late[1]["code"]) == (409, "session_cancelled")
    assert (read["status"], run["status"]) == ("ended", "cancelled")
    assert read["endedAt"] is not None


@pytest.mark.parametrize("session", ["nothing", "s1"])
def test_what_is_no_session_of_runs_is_not_there(session: str) -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("Hello"))

    answers = [
        surfaces.http("GET", f"{SESSIONS}/{session}"),
        surfaces.http("DELETE", f"{SESSIONS}/{session}"),
        surfaces.http("POST", f"{SESSIONS}/{session}/messages", {"prompt": "x"}),
    ]

    assert {(status, told["code"]) for status, told, _ in answers} == {(404, "unknown_session")}


def test_a_session_is_replayed_page_by_page() -> None:
    surfaces = Surfaces()
    session = made(surfaces)
    for n in range(2):
        send(surfaces, session, f"[[say:{n}]]")
    surfaces.world.advance()
    path = f"{SESSIONS}/{session}/events"

    whole = surfaces.http("GET", path, query={"full": "1", "lastMessages": "1"})[1]
    newest = surfaces.http("GET", path, query={"lastMessages": "1"})[1]
    before = str(newest["nextBeforeSeq"])
    older = surfaces.http("GET", path, query={"lastMessages": "3", "beforeSeq": before})[1]

    texts = [one["text"] for one in whole["events"]]
    assert texts == ["[[say:0]]", "0", "[[say:1]]", "1"]
    assert (whole["total"], whole["truncated"], whole["nextBeforeSeq"]) == (4, False, None)
    assert [one["text"] for one in (*older["events"], *newest["events"])] == texts
    assert (newest["truncated"], older["truncated"]) == (True, False)


@pytest.mark.parametrize("query", [{"lastMessages": "0"}, {"beforeSeq": "0"}, {"beforeSeq": "x"}])
def test_a_page_that_cannot_be_is_refused(query: dict[str, str]) -> None:
    surfaces = Surfaces()
    session = made(surfaces)

    status, _, _ = surfaces.http("GET", f"{SESSIONS}/{session}/events", query=query)

    assert status == 400


# ---- lists


def test_a_list_pages_by_cursor_and_counts_all() -> None:
    surfaces = Surfaces()
    for name in "abc":
        made(surfaces, name=name)
        surfaces.world.clock.move(1_000)

    first = surfaces.http("GET", SESSIONS, query={"limit": "2"})[1]
    rest = surfaces.http("GET", SESSIONS, query={"limit": "2", "cursor": first["nextCursor"]})[1]
    skipped = surfaces.http("GET", SESSIONS, query={"offset": "2"})[1]

    assert [one["summary"] for one in first["sessions"]] == ["c", "b"]
    assert [one["summary"] for one in rest["sessions"]] == ["a"]
    assert (first["total"], first["limit"], first["offset"]) == (3, 2, 0)
    assert (rest["nextCursor"], skipped["limit"], skipped["offset"]) == (None, 50, 2)
    assert [one["summary"] for one in skipped["sessions"]] == ["a"]


def test_filters_of_metadata_may_be_repeated_and_hold_colons() -> None:
    surfaces = Surfaces()
    made(surfaces, name="a", metadata={"team": "blue", "at": "12:30"})
    made(surfaces, name="b", metadata={"team": "blue"})

    def names(raw_query: str) -> list[str]:
        told = surfaces.http("GET", SESSIONS, raw_query=raw_query)[1]
        return [one["summary"] for one in told["sessions"]]

    assert names("metadata=team%3Ablue&metadata=at%3A12%3A30") == ["a"]
    assert sorted(names("metadata=team:blue")) == ["a", "b"]
    assert names("metadata=team:red") == []


def test_a_list_of_ended_sessions_has_those_alone() -> None:
    surfaces = Surfaces()
    ended, active = made(surfaces, name="a"), made(surfaces, name="b")
    surfaces.http("DELETE", f"{SESSIONS}/{ended}")

    found = {
        status: [
            one["sessionId"]
            for one in surfaces.http("GET", SESSIONS, query={"status": status})[1]["sessions"]
        ]
        for status in ("active", "ended")
    }

    assert found == {"active": [active], "ended": [ended]}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=1", 200),
        ("limit=200", 200),
        ("offset=10000", 200),
        ("limit=0", 400),
        ("limit=201", 400),
        ("limit=" + "0" * 14 + "50", 200),
        ("limit=" + "0" * 15 + "50", 400),
        ("offset=10001", 400),
        ("offset=-1", 400),
        ("status=gone", 400),
        ("metadata=team", 400),
        ("metadata=:blue", 400),
        ("cursor=x", 400),
    ],
)
def test_a_list_has_limits(query: str, status: int) -> None:
    named = dict([query.split("=", 1)])

    assert Surfaces().http("GET", SESSIONS, query=named)[0] == status


# ---- the inbox


def test_an_item_of_the_inbox_is_taken_changed_and_removed() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("[[say:Hi]]"))
    path, asked = "/v1/sessions/s1/inbox", {"message": {"role": "user", "content": "More."}}

    status, told, _ = surfaces.http("POST", path, {**asked, "turn_id": "t2"})
    again = surfaces.http("POST", path, {**asked, "turn_id": "t2"})
    item = f"{path}/{told['item_id']}"
    edited = surfaces.http("PATCH", item, {"content": "Else."})
    dropped = surfaces.http("DELETE", item)
    gone = surfaces.http("DELETE", item)

    assert (status, told["turn_id"], told["placement"]) == (202, "t2", "queued")
    assert (again[0], again[1]["duplicate"], again[1]["turn_status"]) == (202, True, "queued")
    assert [edited[:2], dropped[:2]] == [(200, {"ok": True})] * 2
    assert (gone[0], gone[1]["code"]) == (404, "unknown_item")


def test_the_turn_of_an_item_that_is_running_has_no_item_any_more() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("[[say:Hi]]"))
    asked = {"message": {"role": "user", "content": "More."}, "turn_id": "t1"}

    status, told, _ = surfaces.http("POST", "/v1/sessions/s1/inbox", asked)

    assert (status, told) == (
        202,
        {"turn_id": "t1", "duplicate": True, "turn_status": "running"},
    )


def test_a_full_inbox_says_so() -> None:
    surfaces = Surfaces()
    surfaces.http("POST", "/v1/sessions/input", body("[[say:Hi]]"))
    asked = {"message": {"role": "user", "content": "More."}}
    for _ in range(100):
        surfaces.http("POST", "/v1/sessions/s1/inbox", asked)

    status, told, _ = surfaces.http("POST", "/v1/sessions/s1/inbox", asked)

    assert (status, told["code"]) == (409, "inbox_full")
