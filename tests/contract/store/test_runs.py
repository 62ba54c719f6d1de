"""Where a run is found, and what is said of it: the fake and the table alike."""

from __future__ import annotations

from typing import Any

import pytest

from contract.store.conftest import Aws
from contract.store.deleting import NEW, OLD, deleted
from everturn.ports.runs import Described, Feedback, RunIndex, RunPlace
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey, TurnRecord
from everturn.session.events.mail import EnqueuedPrivate, InboxDiscarded, InboxEnqueued
from everturn.session.events.runs import RunRequested, SessionDescribed
from everturn.session.events.sessions import StartedPrivate, TurnCompleted, TurnStarted
from everturn.session.events.stored import Event
from everturn.store.memory import InMemorySessionStore
from everturn.store.memory_runs import InMemoryRuns
from everturn.store.runs import DynamoRuns
from sample_events import CREATED, NOON_MS, commit, created, id_of, message

RUN, WAITS = id_of("run"), id_of("run that waits")
UP = Feedback("f1", "UP", "Well done.", "The answer.", NOON_MS)


@pytest.fixture
def runs(store: SessionStore, request: pytest.FixtureRequest) -> RunIndex:
    """Return the index of the store's runs."""
    if isinstance(store, InMemorySessionStore):
        return InMemoryRuns(store)
    aws: Aws = request.getfixturevalue("aws")
    return on_table(aws)


def on_table(aws: Aws) -> DynamoRuns:
    client: Any = aws.dynamodb
    return DynamoRuns(aws.table, client, aws.time.pace())


def asked(run_id: str = RUN) -> RunRequested:
    return RunRequested(turn_id=run_id, run={"spec": {}}, config={"model": "demo:echo"})


def waits(run_id: str, run_seq: int) -> InboxEnqueued:
    private = EnqueuedPrivate(run_seq=run_seq, is_users=True)
    body = {"id": id_of("m"), "role": "user", "content": "Hello."}
    return InboxEnqueued(turn_id=run_id, item_id="i1", message=body, private=private)


def letter(turn_id: str) -> InboxEnqueued:
    body = {"id": turn_id, "role": "user", "content": "Hello."}
    return InboxEnqueued(turn_id=turn_id, item_id=turn_id, message=body)


def begun(
    store: SessionStore, key: SessionKey, run_id: str = RUN, incarnation: str = CREATED
) -> Head:
    """Write a session with an open run."""
    private = StartedPrivate(run_seq=2)
    started = TurnStarted(turn_id=run_id, private=private)
    events: list[Event] = [created(key.session), asked(run_id), started]
    return store.append(commit(key, None, events, incarnation, created=incarnation))


def described(
    store: SessionStore, key: SessionKey, incarnation: str = CREATED, **description: Any
) -> Head:
    """Write a session that waits for its first run."""
    about = SessionDescribed(description={"spec": {}, **description})
    events: list[Event] = [created(key.session), about]
    return store.append(commit(key, None, events, incarnation, created=incarnation))


# ---- where a run is


def test_a_run_is_found_by_its_id_in_its_tenant(
    store: SessionStore, runs: RunIndex, key: SessionKey
) -> None:
    begun(store, key)

    assert runs.place("acme", RUN) == RunPlace(RUN, key.session, 2, CREATED)
    assert runs.place("rival", RUN) is None
    assert runs.place("acme", WAITS) is None


def test_a_run_that_waits_is_found_with_the_commit_that_asks_for_it(
    store: SessionStore, runs: RunIndex, key: SessionKey
) -> None:
    head = begun(store, key)

    store.append(commit(key, head, [asked(WAITS), waits(WAITS, 4)]))

    assert runs.place("acme", WAITS) == RunPlace(WAITS, key.session, 4, CREATED)
    assert runs.place("acme", RUN) == RunPlace(RUN, key.session, 2, CREATED)


def test_a_place_names_the_incarnation_of_its_session(
    store: SessionStore, runs: RunIndex, key: SessionKey
) -> None:
    begun(store, key, RUN, OLD)
    deleted(store, key)
    begun(store, key, WAITS, NEW)

    found = runs.place("acme", WAITS)
    assert found is not None
    assert found.created == NEW
    left = runs.place("acme", RUN)
    assert left is None or left.created == OLD


def test_a_run_that_is_over_says_so_in_the_record_of_its_turn(
    store: SessionStore, key: SessionKey
) -> None:
    head = begun(store, key)

    store.append(commit(key, head, [TurnCompleted(turn_id=RUN, outcome="done")]))

    record = store.head_and_turn(key, RUN)[1]
    assert record == TurnRecord(RUN, 1, 3, 4, "done", is_run=True)


@pytest.mark.parametrize("run_seq", [4, 0])
def test_what_was_discarded_has_a_record_that_consists_of_its_end(
    store: SessionStore, key: SessionKey, run_seq: int
) -> None:
    head = begun(store, key)
    head = store.append(commit(key, head, [asked(WAITS), waits(WAITS, run_seq)]))

    gone = InboxDiscarded(turn_id=WAITS, item_id="i1", reason="turn_cancelled")
    store.append(commit(key, head, [gone]))

    record = store.head_and_turn(key, WAITS)[1]
    assert record == TurnRecord(WAITS, 0, 6, 6, "cancelled", is_run=run_seq > 0)


def test_mail_of_other_sessions_that_never_opened_is_no_turn(
    store: SessionStore, key: SessionKey
) -> None:
    """A session with a hundred of them could not be cancelled: a commit takes a hundred items."""
    head = begun(store, key)
    mail = [id_of(f"mail {n}") for n in range(120)]
    for at in range(0, len(mail), 20):
        head = store.append(commit(key, head, [letter(one) for one in mail[at : at + 20]]))

    gone = [InboxDiscarded(turn_id=one, item_id=one, reason="session_cancelled") for one in mail]
    head = store.append(commit(key, head, gone))

    assert head.session.inbox == ()
    assert store.head_and_turn(key, mail[0])[1] is None


# ---- what is said of it


def test_nothing_was_said_of_a_run_at_first(
    store: SessionStore, runs: RunIndex, key: SessionKey
) -> None:
    begun(store, key)

    assert runs.feedback("acme", RunPlace(RUN, key.session, 2, CREATED)) is None


def test_what_is_said_first_is_kept(store: SessionStore, runs: RunIndex, key: SessionKey) -> None:
    begun(store, key)
    place = RunPlace(RUN, key.session, 2, CREATED)

    before = runs.put_feedback("acme", place, UP)

    assert before is None
    assert runs.feedback("acme", place) == UP


def test_what_is_said_again_takes_its_place_and_keeps_its_id(
    store: SessionStore, runs: RunIndex, key: SessionKey
) -> None:
    begun(store, key)
    place = RunPlace(RUN, key.session, 2, CREATED)
    runs.put_feedback("acme", place, UP)

    before = runs.put_feedback("acme", place, Feedback("f2", "DOWN", at_ms=NOON_MS + 1))

    assert before == UP
    assert runs.feedback("acme", place) == Feedback("f1", "DOWN", None, None, NOON_MS + 1)


def test_each_run_has_its_own_feedback(
    store: SessionStore, runs: RunIndex, key: SessionKey
) -> None:
    begun(store, key)
    place = RunPlace(RUN, key.session, 2, CREATED)
    runs.put_feedback("acme", place, UP)

    assert runs.feedback("acme", RunPlace(WAITS, key.session, 4, CREATED)) is None
    assert runs.feedback("rival", place) is None


# ---- what sessions were made as


def test_sessions_say_what_they_were_made_as(
    store: SessionStore, runs: RunIndex, key: SessionKey
) -> None:
    other, plain = SessionKey("acme", "s-other"), SessionKey("acme", "s-plain")
    described(store, key, name="desk", metadata={"team": "blue", "tier": ""})
    described(store, other)
    begun(store, plain)

    found = runs.described([key, other, plain, SessionKey("acme", "never")])

    assert found == {
        key: Described("desk", {"team": "blue", "tier": ""}, CREATED),
        other: Described("", {}, CREATED),
    }
    assert runs.described([]) == {}


def test_more_sessions_than_one_request_takes_are_looked_up(
    store: SessionStore, runs: RunIndex
) -> None:
    wanted = [SessionKey("acme", f"s{n}") for n in range(101)]
    for one in wanted:
        described(store, one, name=one.session)

    found = runs.described(wanted)

    assert {one: about.name for one, about in found.items()} == {one: one.session for one in wanted}


# ---- on the table


def test_a_run_costs_one_more_item_and_each_question_one_request(aws: Aws, key: SessionKey) -> None:
    begun(aws.store(), key)
    asking, taken = on_table(aws), {"append": aws.dynamodb.taken()}
    place = RunPlace(RUN, key.session, 2, CREATED)

    asking.place("acme", RUN)
    taken["place"] = aws.dynamodb.taken()
    asking.put_feedback("acme", place, UP)
    taken["put_feedback"] = aws.dynamodb.taken()
    asking.feedback("acme", place)
    taken["feedback"] = aws.dynamodb.taken()
    asking.described([])
    taken["described of none"] = aws.dynamodb.taken()
    asking.described([SessionKey("acme", f"s{n}") for n in range(101)])
    taken["described"] = aws.dynamodb.taken()

    assert taken == {
        "append": ["transact_write_items"],
        "place": ["get_item"],
        "put_feedback": ["update_item"],
        "feedback": ["get_item"],
        "described of none": [],
        "described": ["batch_get_item"] * 2,
    }


def test_items_of_runs_hold_these_attributes_and_no_content(aws: Aws, key: SessionKey) -> None:
    head = described(aws.store(), key, name="desk", metadata={"team": "blue"})
    events: list[Event] = [asked(), TurnStarted(turn_id=RUN, private=StartedPrivate(run_seq=3))]
    events += [message("m"), TurnCompleted(turn_id=RUN, outcome="done")]
    aws.store().append(commit(key, head, events))

    (pointer,) = (one for one in aws.items() if one["pk"]["S"] == f"RUN#acme#{RUN}")
    assert pointer == {
        "pk": {"S": f"RUN#acme#{RUN}"},
        "sk": {"S": "META"},
        "format": {"N": "1"},
        "session": {"S": key.session},
        "seq": {"N": "3"},
        "created": {"S": CREATED},
    }
    assert aws.item("ABOUT") == {
        "pk": {"S": f"SESSION#acme#{key.session}"},
        "sk": {"S": "ABOUT"},
        "format": {"N": "1"},
        "name": {"S": "desk"},
        "metadata": {"M": {"team": {"S": "blue"}}},
        "created": {"S": CREATED},
    }
    assert aws.item(f"TURN#{RUN}")["run"] == {"N": "1"}


def test_what_is_said_after_a_deletion_is_erased_with_the_late_writes(
    aws: Aws, key: SessionKey
) -> None:
    store = aws.store()
    begun(store, key, RUN, OLD)
    deleted(store, key)

    on_table(aws).put_feedback("acme", RunPlace(RUN, key.session, 2, OLD), UP)
    store.erase_late(key, OLD, lambda: False)

    assert [one for one in aws.items() if one["pk"]["S"].startswith("SESSION#")] == []
