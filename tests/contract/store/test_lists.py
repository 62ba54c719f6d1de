"""Lists of sessions: every `SessionStore`, the fake and the table alike."""

from __future__ import annotations

from typing import Any

import pytest

from contract.store.conftest import Aws
from contract.store.failing import Failing, first
from everturn.ports.lists import Listed, ListPage
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, Quarantine, SessionKey
from everturn.protocol.ids import uuid7, uuid7_ms
from everturn.session.events.sessions import Owner, Parent, SessionCreated, TurnStarted
from everturn.session.events.stored import Event
from sample_events import NOON_MS, commit

MINUTE_MS = 60_000


def begin(
    store: SessionStore, session: str, minute: int, owner: str = "ada", tenant: str = "acme"
) -> Head:
    """Create a session at a minute after noon."""
    key, at_ms = SessionKey(tenant, session), NOON_MS + minute * MINUTE_MS
    events: list[Event] = [
        SessionCreated(session_id=session, agent_id="helper", owner=Owner(id=owner)),
        TurnStarted(turn_id=f"{session}-t"),
    ]
    made = uuid7(at_ms, session.encode().ljust(10, b"0"))
    return store.append(commit(key, None, events, at_ms=at_ms, created=made))


def go_on(store: SessionStore, session: str, minute: int) -> Head:
    """Open another turn of a session."""
    key = SessionKey("acme", session)
    events = [TurnStarted(turn_id=f"{session}-{minute}")]
    at_ms = NOON_MS + minute * MINUTE_MS
    return store.append(commit(key, store.head(key), events, at_ms=at_ms))


def names(page: ListPage) -> list[str]:
    return [one.key.session for one in page.sessions]


def walked(store: SessionStore, limit: int, owner: str | None = None) -> list[list[str]]:
    """Return the names on each page of a list."""
    pages, after = [], ""
    while True:
        page = (
            store.listed("acme", after, limit)
            if owner is None
            else store.owned("acme", owner, after, limit)
        )
        pages.append(names(page))
        after = page.after
        if not after:
            return pages


def test_sessions_are_listed_by_their_last_turn_the_newest_first(store: SessionStore) -> None:
    heads = [begin(store, name, minute) for minute, name in enumerate(("a", "b", "c"))]
    latest = go_on(store, "a", 9)

    page = store.listed("acme", "", 10)

    assert names(page) == ["a", "c", "b"]
    assert page.after == ""
    assert page.sessions[0] == Listed(
        key=SessionKey("acme", "a"),
        place="2026-01-01T12:09:00.000Z#a",
        created=heads[0].created,
        last_turn_ms=NOON_MS + 9 * MINUTE_MS,
        session=latest.session,
    )


def test_children_are_in_no_list_also_when_another_turn_of_theirs_begins(
    store: SessionStore,
) -> None:
    begin(store, "a", 0)
    key, parent = SessionKey("acme", "child"), Parent(session_id="a", tool_call_id="c1")
    created = SessionCreated(
        session_id="child",
        agent_id="poet",
        owner=Owner(id="ada"),
        ancestry=("a",),
        parent=parent,
    )
    store.append(commit(key, None, [created], created=uuid7(NOON_MS, b"0123456789")))

    go_on(store, "child", 9)

    assert (walked(store, 10), walked(store, 10, "ada")) == ([["a"]], [["a"]])


def test_a_list_goes_on_behind_a_place(store: SessionStore) -> None:
    for minute, name in enumerate("abcde"):
        begin(store, name, minute)

    pages = walked(store, 2)

    assert [name for page in pages for name in page] == ["e", "d", "c", "b", "a"]
    assert [len(page) for page in pages][:2] == [2, 2]


def test_a_place_whose_session_moved_is_still_a_place(store: SessionStore) -> None:
    for minute, name in enumerate("abcd"):
        begin(store, name, minute)
    first = store.listed("acme", "", 2)

    go_on(store, "c", 9)

    assert names(store.listed("acme", first.after, 2)) == ["b", "a"]


def test_what_an_owner_has_is_listed_by_creation_whatever_happens_later(
    store: SessionStore,
) -> None:
    for minute, (name, owner) in enumerate((("a", "ada"), ("b", "bob"), ("c", "ada"))):
        begin(store, name, minute, owner)
    go_on(store, "a", 9)

    page = store.owned("acme", "ada", "", 10)

    assert names(page) == ["c", "a"]
    assert [one.last_turn_ms - NOON_MS for one in page.sessions] == [120_000, 540_000]
    assert [uuid7_ms(one.place) for one in page.sessions] == [NOON_MS + 120_000, NOON_MS]
    assert walked(store, 1, "ada")[:2] == [["c"], ["a"]]


def test_tenants_and_owners_of_the_same_name_do_not_meet(store: SessionStore) -> None:
    begin(store, "mine", 1)
    begin(store, "theirs", 2, tenant="rival")
    begin(store, "other", 3, owner="ada#acme", tenant="rival")

    lists = (
        names(store.listed("acme", "", 10)),
        names(store.owned("acme", "ada", "", 10)),
        names(store.owned("rival", "ada", "", 10)),
        names(store.owned("acme", "nobody", "", 10)),
    )

    assert lists == (["mine"], ["mine"], ["theirs"], [])


def test_what_is_put_aside_is_listed_with_its_reason(store: SessionStore) -> None:
    begin(store, "a", 1)
    why = Quarantine("contradiction", NOON_MS, "{}")
    store.quarantine(SessionKey("acme", "a"), None, why)

    [row] = store.listed("acme", "", 10).sessions

    assert (row.quarantined, row.session is not None) == (why, True)


# ---- the table alone


def spoil(aws: Aws, session: str, name: str, value: dict[str, Any]) -> None:
    aws.dynamodb.client.update_item(
        TableName=aws.table,
        Key={"pk": {"S": f"SESSION#acme#{session}"}, "sk": {"S": "HEAD"}},
        UpdateExpression="SET #name = :value",
        ExpressionAttributeNames={"#name": name},
        ExpressionAttributeValues={":value": value},
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("state", {"S": "{"}), ("commit_id", {"L": []}), ("format", {"N": "99"})],
)
def test_a_head_that_this_code_cannot_read_hides_no_other(
    aws: Aws, name: str, value: dict[str, Any]
) -> None:
    store = aws.store()
    head = begin(store, "a", 1)
    begin(store, "b", 2)
    spoil(aws, "a", name, value)

    [whole, broken] = store.listed("acme", "", 10).sessions

    assert whole.session is not None
    assert broken == Listed(
        SessionKey("acme", "a"), broken.place, head.created, NOON_MS + MINUTE_MS, None
    )


def test_a_head_that_cannot_be_read_and_is_put_aside_says_so(aws: Aws) -> None:
    store = aws.store()
    begin(store, "a", 1)
    spoil(aws, "a", "state", {"S": "{"})
    store.quarantine(SessionKey("acme", "a"), None, Quarantine("unreadable", NOON_MS))

    [row] = store.listed("acme", "", 10).sessions

    assert (row.session, row.quarantined) == (None, Quarantine("unreadable", NOON_MS))


def test_a_list_costs_a_query_and_a_batch_for_each_hundred(aws: Aws) -> None:
    store = aws.store()
    for minute in range(3):
        begin(store, f"s{minute}", minute)
    aws.dynamodb.taken()

    store.listed("acme", "", 2)
    some = aws.dynamodb.taken()
    store.owned("acme", "nobody", "", 2)

    assert (some, aws.dynamodb.taken()) == (["query", "batch_get_item"], ["query"])


def test_a_turn_leaves_the_keys_of_the_owned_index_alone(aws: Aws) -> None:
    store = aws.store()
    begin(store, "a", 1)
    before = aws.item("HEAD")

    go_on(store, "a", 2)

    after = aws.item("HEAD")
    unchanged = ("owned_pk", "created")
    assert [after[name] for name in unchanged] == [before[name] for name in unchanged]
    assert after["owned_pk"] == {"S": "OWNED#acme#ada"}


def test_a_session_of_before_the_owned_index_joins_it_with_its_next_turn(aws: Aws) -> None:
    store = aws.store()
    begin(store, "a", 1)
    aws.dynamodb.client.update_item(
        TableName=aws.table,
        Key={"pk": {"S": "SESSION#acme#a"}, "sk": {"S": "HEAD"}},
        UpdateExpression="REMOVE owned_pk",
    )
    missing = names(store.owned("acme", "ada", "", 10))

    go_on(store, "a", 2)

    assert (missing, names(store.owned("acme", "ada", "", 10))) == ([], ["a"])


def test_what_the_index_still_has_and_the_table_does_not_is_left_out(aws: Aws) -> None:
    store = aws.store()
    for minute, name in enumerate("abc"):
        begin(store, name, minute)
    spoil(aws, "b", "deleted", {"S": "m1"})
    gone = {"pk": {"S": "SESSION#acme#c"}, "sk": {"S": "HEAD"}}

    def deleted_meanwhile() -> None:
        aws.dynamodb.client.delete_item(TableName=aws.table, Key=gone)

    client = Failing(aws.dynamodb.client, {"batch_get_item": [first(deleted_meanwhile)]})

    assert names(aws.store(client).listed("acme", "", 10)) == ["a"]


def test_a_time_that_cannot_be_read_is_left_out(aws: Aws) -> None:
    store = aws.store()
    begin(store, "a", 1)
    spoil(aws, "a", "listing_sk", {"S": "yesterday#a"})

    [row] = store.listed("acme", "", 10).sessions

    assert (row.last_turn_ms, row.session is not None) == (0, True)
