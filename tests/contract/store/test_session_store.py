"""What every `SessionStore` does, the fake and the table alike."""

from __future__ import annotations

import dataclasses

import pytest

from everturn.errors import IdsTaken, StoreRefused, VersionConflict
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, NodePlace, Owner, SessionKey, TurnRecord
from everturn.ports.streams import Watch
from everturn.session.events.messages import StateUpdated
from everturn.session.events.sessions import TurnStarted
from everturn.session.events.stored import Event
from everturn.session.evolve import fold
from everturn.session.refs import same_as
from everturn.session.state import Session
from sample_events import (
    CREATED,
    commit,
    created,
    id_of,
    message,
    plain_turn,
    tool_call,
)


def test_what_was_never_written_is_not_there(store: SessionStore, key: SessionKey) -> None:
    found = (
        store.head(key),
        store.head_and_turn(key, "t"),
        store.head_and_watch(key),
        store.nodes(key, ["n"]),
        store.log(key, 1),
        store.page(key, 0, 10),
        store.deltas(key, 1, 0, 10),
    )

    assert found == (None, (None, None), (None, Watch()), {}, (), (), ())


def test_a_session_is_created_with_its_first_commit(store: SessionStore, key: SessionKey) -> None:
    events: list[Event] = [created(key.session), TurnStarted(turn_id="t")]

    head = store.append(commit(key, None, events, due_epoch_s=5_000))

    assert head == Head(1, id_of(f"{key} 0 "), CREATED, fold(events), None, 5_000)
    assert store.head(key) == head


def test_a_turn_comes_back_as_it_was_written(store: SessionStore, key: SessionKey) -> None:
    asked, answered = plain_turn(key.session)
    owner = Owner(1, "request-1")

    first = store.append(commit(key, None, asked, wake="llm"))
    second = store.append(commit(key, first, answered, owner=owner, by="driver:1"))

    assert store.head(key) == second
    assert (second.version, second.owner, second.session) == (2, owner, fold([*asked, *answered]))
    logged = store.log(key, 1)
    assert [event for one in logged for event in one.events] == [*asked, *answered]
    assert [(one.first_seq, one.last_seq, one.wake, one.by) for one in logged] == [
        (1, 14, "llm", "http_api"),
        (15, 21, None, "driver:1"),
    ]
    assert [(one.version, one.created) for one in logged] == [(1, CREATED), (2, CREATED)]


def test_references_are_resolved_within_and_across_commits(
    store: SessionStore, key: SessionKey
) -> None:
    asked, answered = plain_turn(key.session)
    first = store.append(commit(key, None, asked))
    store.append(commit(key, first, answered))
    again = [message("x", refs={"message": same_as(18, "message")})]
    head = store.head(key)
    store.append(commit(key, head, again))

    logged = store.materialise(key, store.log(key, 22))

    assert logged[0].events[0].model_dump()["message"] == {
        "id": id_of("a"),
        "role": "assistant",
        "content": "The capital of France is Paris.",
    }
    assert logged[0].events[0].refs == {}


def test_a_reference_into_a_message_fills_only_its_part(
    store: SessionStore, key: SessionKey
) -> None:
    partial = message("m2").model_copy(
        update={
            "message": {"id": "m2", "role": "user"},
            "refs": {"message.content": same_as(2, "message.content")},
        }
    )
    store.append(commit(key, None, [created(key.session), message("m1"), partial]))

    (logged,) = store.materialise(key, store.log(key, 1))

    assert logged.events[2].model_dump()["message"] == {
        "id": "m2",
        "role": "user",
        "content": "Hello.",
    }


@pytest.mark.parametrize(("seq", "field"), [(9, "message"), (1, "nothing"), (3, "message")])
def test_a_reference_that_leads_nowhere_is_a_defect(
    store: SessionStore, key: SessionKey, seq: int, field: str
) -> None:
    lost = message("m1", refs={"message": same_as(seq, field)})
    store.append(commit(key, None, [created(key.session), lost, message("m2")]))

    with pytest.raises(StoreRefused):
        store.materialise(key, store.log(key, 1))


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        (1, None, [2, 4, 6]),
        (3, None, [4, 6]),
        (4, 4, [4]),
        (3, 3, [4]),
        (1, 3, [2, 4]),
        (2, 4, [2, 4]),
        (3, 5, [4, 6]),
        (6, 9, [6]),
        (7, None, []),
        (7, 7, []),
        (3, 2, []),
    ],
)
def test_a_range_of_events_gives_the_commits_that_hold_them(
    store: SessionStore, key: SessionKey, first: int, last: int | None, found: list[int]
) -> None:
    head = store.append(commit(key, None, [created(key.session), message("1")]))
    head = store.append(commit(key, head, [message("2"), message("3")]))
    store.append(commit(key, head, [message("4"), message("5")]))

    logged = store.log(key, first, last)

    assert [one.last_seq for one in logged] == found


def test_pages_follow_each_other(store: SessionStore, key: SessionKey) -> None:
    head = store.append(commit(key, None, [created(key.session)]))
    for n in range(4):
        head = store.append(commit(key, head, [message(str(n))]))

    pages = [store.page(key, after, 2) for after in (0, 2, 4, 5)]

    assert [[one.last_seq for one in page] for page in pages] == [[1, 2], [3, 4], [5], []]


def test_the_second_of_two_writers_learns_the_new_head(
    store: SessionStore, key: SessionKey
) -> None:
    """N-3."""
    before = store.append(commit(key, None, [created(key.session)]))
    won = store.append(commit(key, before, [message("a")], "winner"))

    with pytest.raises(VersionConflict) as caught:
        store.append(commit(key, before, [message("b")], "loser"))

    assert caught.value.head == won
    assert [one.last_seq for one in store.log(key, 1)] == [1, 2]


def test_a_session_is_created_once(store: SessionStore, key: SessionKey) -> None:
    won = store.append(commit(key, None, [created(key.session)], "winner"))

    with pytest.raises(VersionConflict) as caught:
        store.append(commit(key, None, [created(key.session)], "loser"))

    assert caught.value.head == won


def test_a_commit_on_a_session_that_is_gone_is_a_conflict(
    store: SessionStore, key: SessionKey
) -> None:
    gone = Head(3, id_of("c"), CREATED, Session(seq=7))

    with pytest.raises(VersionConflict) as caught:
        store.append(commit(key, gone, [message("a")]))

    assert caught.value.head is None


def test_the_same_commit_twice_is_one(store: SessionStore, key: SessionKey) -> None:
    first = store.append(commit(key, None, [created(key.session)]))
    written = commit(key, first, [message("a")])
    second = store.append(written)
    third = store.append(commit(key, second, [message("b")]))

    again = store.append(written)

    assert again == second
    assert store.head(key) == third
    assert [one.last_seq for one in store.log(key, 1)] == [1, 2, 3]


def test_a_commit_that_does_not_add_up_is_refused(store: SessionStore, key: SessionKey) -> None:
    one = commit(key, None, [created(key.session)])

    for wrong in (
        dataclasses.replace(one, after=Session(seq=2)),
        dataclasses.replace(one, events=(), after=Session()),
    ):
        with pytest.raises(StoreRefused):
            store.append(wrong)
    assert store.head(key) is None


def test_ids_are_used_once(store: SessionStore, key: SessionKey) -> None:
    events: list[Event] = [created(key.session), message("m"), tool_call("c")]
    head = store.append(commit(key, None, events))

    with pytest.raises(IdsTaken) as caught:
        store.append(commit(key, head, [message("m"), message("other"), tool_call("c")]))

    assert caught.value.ids == {id_of("m"), id_of("c")}
    assert store.head(key) == head


def test_one_commit_cannot_use_an_id_twice(store: SessionStore, key: SessionKey) -> None:
    with pytest.raises(IdsTaken) as caught:
        store.append(commit(key, None, [created(key.session), message("m"), message("m")]))

    assert caught.value.ids == {id_of("m")}


def test_a_lost_race_is_told_before_taken_ids(store: SessionStore, key: SessionKey) -> None:
    before = store.append(commit(key, None, [created(key.session)]))
    won = store.append(commit(key, before, [message("m")], "winner"))

    with pytest.raises(VersionConflict) as caught:
        store.append(commit(key, before, [message("m")], "loser"))

    assert caught.value.head == won


def test_messages_are_found_by_id(store: SessionStore, key: SessionKey) -> None:
    store.append(commit(key, None, [created(key.session), message("a", 1), message("b", 2)]))

    places = store.nodes(key, [id_of("b"), id_of("a"), id_of("b"), "unknown"])

    assert places == {
        id_of("a"): NodePlace(id_of("a"), 2, 0, 1),
        id_of("b"): NodePlace(id_of("b"), 3, 0, 2),
    }


def test_more_ids_than_a_transaction_holds_are_written_and_guarded(
    store: SessionStore, key: SessionKey
) -> None:
    messages = [message(f"m{n}", n + 1) for n in range(250)]
    head = store.append(commit(key, None, [created(key.session), *messages]))

    places = store.nodes(key, [one.id for one in messages])

    assert places[id_of("m249")] == NodePlace(id_of("m249"), 251, 0, 250)
    assert len(places) == 250
    with pytest.raises(IdsTaken) as caught:
        store.append(commit(key, head, [message("m0"), message("new"), message("m249")]))
    assert caught.value.ids == {id_of("m0"), id_of("m249")}
    with pytest.raises(IdsTaken):
        store.append(commit(key, head, [message(f"n{n}") for n in range(120)] + [message("m200")]))
    assert store.head(key) == head


def test_256_open_calls_fit(store: SessionStore, key: SessionKey) -> None:
    calls = [tool_call(f"c{n}") for n in range(256)]
    first = store.append(commit(key, None, [created(key.session), *calls]))
    second = store.append(commit(key, first, [message("m")]))

    head = store.head(key)

    assert head == second
    assert head is not None
    assert len(head.session.calls) == 256
    assert store.head_and_turn(key, "t") == (second, None)
    assert store.head_and_watch(key) == (second, Watch())
    with pytest.raises(VersionConflict) as caught:
        store.append(commit(key, first, [message("n")], "late"))
    assert caught.value.head == second


def test_a_large_input_comes_back_whole(store: SessionStore, key: SessionKey) -> None:
    text = "é" * (2 * 1024 * 1024)
    large = message("large", content=text)
    copy = message("copy", refs={"message": same_as(2, "message")})
    store.append(commit(key, None, [created(key.session), large, copy]))

    (logged,) = store.materialise(key, store.log(key, 1))

    bodies = [event.model_dump()["message"] for event in logged.events[1:]]
    assert bodies == [{"id": id_of("large"), "role": "user", "content": text}] * 2


def test_many_middling_bodies_come_back_whole(store: SessionStore, key: SessionKey) -> None:
    noise = "".join(id_of(str(n)) for n in range(200))  # 7,200 bytes that hardly compress
    calls = [tool_call(f"c{n}", noise[n:] + noise[:n]) for n in range(90)]
    events: list[Event] = [created(key.session), *calls]
    store.append(commit(key, None, events))

    logged = store.materialise(key, store.log(key, 1))

    assert [event for one in logged for event in one.events] == events


def test_a_turn_is_known_once_it_has_ended(store: SessionStore, key: SessionKey) -> None:
    asked, answered = plain_turn(key.session)
    first = store.append(commit(key, None, asked))
    open_turn = store.head_and_turn(key, id_of("turn"))

    second = store.append(commit(key, first, answered))

    assert open_turn == (first, None)
    record = TurnRecord(id_of("turn"), 1, 2, 21, "done")
    assert store.head_and_turn(key, id_of("turn")) == (second, record)


def test_versions_of_one_place_in_one_commit_are_no_obstacle(
    store: SessionStore, key: SessionKey
) -> None:
    head = store.append(
        commit(key, None, [created(key.session), StateUpdated(state=1), StateUpdated(state=2)])
    )

    assert head.session.state_seq == 3


def test_sessions_of_two_tenants_never_meet(store: SessionStore, key: SessionKey) -> None:
    other = SessionKey("zenith", key.session)
    head = store.append(commit(key, None, [created(key.session), message("m")]))

    found = (store.head(other), store.log(other, 1), store.nodes(other, [id_of("m")]))

    assert found == (None, (), {})
    assert store.append(commit(other, None, [created(key.session), message("m")])) is not None
    assert store.head(key) == head
