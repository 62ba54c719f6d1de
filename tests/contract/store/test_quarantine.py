"""Sessions that are put aside: every `SessionStore`, the fake and the table alike."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from contract.store.conftest import Aws
from contract.store.failing import failing, loses_the_answer, never_arrives, refuses
from everturn.errors import (
    NewerFormat,
    StoreRefused,
    StoreUnavailable,
    StoreUnreadable,
    VersionConflict,
)
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, Quarantine, SessionKey
from everturn.rejections import SessionQuarantined
from everturn.session.formats import NEWEST_FORMAT
from sample_events import CREATED, NOON_MS, commit, created, message

WHY = Quarantine("contradiction", NOON_MS, '{"step":"llm"}')


def test_a_quarantine_changes_the_head_alone(store: SessionStore, key: SessionKey) -> None:
    head = store.append(commit(key, None, [created(key.session)], due_epoch_s=9))

    first = store.quarantine(key, head, WHY)
    again = store.quarantine(key, store.head(key), WHY)

    assert (first, again) == (True, False)
    aside = dataclasses.replace(head, version=2, due_epoch_s=None, quarantined=WHY)
    assert store.head(key) == aside
    assert len(store.log(key, 1)) == 1
    assert store.due(100, 10) == ()


def test_a_session_that_moved_on_is_not_put_aside(store: SessionStore, key: SessionKey) -> None:
    old = store.append(commit(key, None, [created(key.session)]))
    now = store.append(commit(key, old, [message("m")]))

    with pytest.raises(VersionConflict):
        store.quarantine(key, old, WHY)

    assert store.head(key) == now


def test_a_session_that_is_not_there_is_not_put_aside(store: SessionStore, key: SessionKey) -> None:
    put = store.quarantine(key, None, WHY)

    assert (put, store.head(key), store.lift(key, 5)) == (False, None, None)


def test_a_writer_who_is_still_at_it_loses(store: SessionStore, key: SessionKey) -> None:
    before = store.append(commit(key, None, [created(key.session)]))
    store.quarantine(key, None, WHY)

    with pytest.raises(VersionConflict) as caught:
        store.append(commit(key, before, [message("m")]))

    assert caught.value.head == store.head(key)


@pytest.mark.parametrize("due", [None, 1_000])
def test_a_lifted_session_is_as_before(
    store: SessionStore, key: SessionKey, due: int | None
) -> None:
    head = store.append(commit(key, None, [created(key.session)], due_epoch_s=9))
    store.quarantine(key, head, WHY)

    lifted = [store.lift(key, due), store.lift(key, due)]

    assert lifted == [(CREATED, 3), None]
    now = dataclasses.replace(head, version=3, due_epoch_s=due)
    assert store.head(key) == now
    assert store.due(1_000, 10) == ((key,) if due else ())
    assert store.append(commit(key, now, [message("m")])).version == 4


def test_what_is_put_aside_can_be_listed(store: SessionStore) -> None:
    keys = [SessionKey("acme", f"s{n}") for n in range(4)]
    for one in keys:
        store.append(commit(one, None, [created(one.session)]))
    for one in keys[:3]:
        store.quarantine(one, None, WHY)
    store.lift(keys[0], None)

    assert sorted(one.session for one in store.quarantined()) == ["s1", "s2"]


def test_what_was_put_aside_first_is_listed_first_and_no_sweep_finds_it(
    store: SessionStore,
) -> None:
    keys = [SessionKey("acme", "s1"), SessionKey("rival", "s2"), SessionKey("acme", "s3")]
    for one in keys:
        store.append(commit(one, None, [created(one.session)], due_epoch_s=9))
    for n, one in enumerate(reversed(keys)):
        store.quarantine(one, None, Quarantine("defect", NOON_MS + 1_000 * n))

    assert list(store.quarantined()) == [*reversed(keys)]
    assert store.due(2**40, 10) == ()


# ---- the table alone


def test_listing_what_is_put_aside_reads_an_index_page_by_page_and_never_the_table(
    aws: Aws,
) -> None:
    keys = [SessionKey("acme", f"s{n}") for n in range(3)]
    for n, one in enumerate(keys):
        aws.store().append(commit(one, None, [created(one.session), message("m")]))
        aws.store().quarantine(one, None, Quarantine("defect", NOON_MS + 1_000 * n))
    store, client = failing(aws)
    client.page_items = 1

    listed = list(store.quarantined())

    assert listed == keys
    assert {name for name, _ in client.requests} == {"query"}
    assert {request["IndexName"] for _, request in client.requests} == {"due"}


def spoil(aws: Aws, key: SessionKey, name: str, value: dict[str, Any], sk: str = "HEAD") -> None:
    """Overwrite an attribute of an item with something else."""
    aws.dynamodb.client.update_item(
        TableName=aws.table,
        Key={"pk": {"S": f"SESSION#{key.tenant}#{key.session}"}, "sk": {"S": sk}},
        UpdateExpression="SET #name = :value",
        ExpressionAttributeNames={"#name": name},
        ExpressionAttributeValues={":value": value},
    )


BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("state", {"S": "{"}),
    ("state", {"S": '{"calls": 7}'}),
    ("state", {"B": b"x\xda no stream of ours"}),
    ("commit_id", {"L": []}),
]


@pytest.mark.parametrize(("name", "value"), BROKEN)
def test_a_head_that_cannot_be_read_says_so_and_can_be_put_aside(
    aws: Aws, key: SessionKey, name: str, value: dict[str, Any]
) -> None:
    store = aws.store()
    store.append(commit(key, None, [created(key.session)], due_epoch_s=9))
    spoil(aws, key, name, value)

    with pytest.raises(StoreUnreadable):
        store.head(key)

    assert store.quarantine(key, None, WHY)
    assert store.due(100, 10) == ()
    assert list(store.quarantined()) == [key]


def test_a_head_that_is_unreadable_and_put_aside_is_refused_with_its_reason(
    aws: Aws, key: SessionKey
) -> None:
    store = aws.store()
    head = store.append(commit(key, None, [created(key.session)]))
    spoil(aws, key, "state", {"S": "{"})
    store.quarantine(key, None, WHY)

    with pytest.raises(SessionQuarantined) as caught:
        store.head_and_watch(key)
    with pytest.raises(SessionQuarantined):
        store.append(commit(key, head, [message("m")]))

    assert caught.value.fields == {"reason": "contradiction", "at": "2026-01-01T12:00:00.000Z"}
    assert store.lift(key, None) == (CREATED, 3)


@pytest.mark.parametrize("events", ["[", '[{"type": "no.such"}]', '[{"type": "session.done"'])
def test_a_log_item_that_cannot_be_read_says_so(aws: Aws, key: SessionKey, events: str) -> None:
    store = aws.store()
    store.append(commit(key, None, [created(key.session)]))
    spoil(aws, key, "events", {"S": events}, "LOG#000000000001")

    with pytest.raises(StoreUnreadable):
        store.log(key, 1)


def test_a_head_of_before_has_no_quarantine(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))

    assert "quarantined" not in aws.item("HEAD")
    assert head.quarantined is None


def test_a_newer_head_is_not_put_aside(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    head = store.append(commit(key, None, [created(key.session)]))
    spoil(aws, key, "format", {"N": str(NEWEST_FORMAT + 1)})
    before = aws.items()

    for put in (lambda: store.quarantine(key, head, WHY), lambda: store.lift(key, 1)):
        with pytest.raises(NewerFormat):
            put()

    assert aws.items() == before


@pytest.mark.parametrize(
    ("trouble", "ours"),
    [
        (never_arrives, StoreUnavailable),
        (loses_the_answer, StoreUnavailable),
        (refuses("ThrottlingException"), StoreUnavailable),
        (refuses("InternalServerError", status=500), StoreUnavailable),
        (refuses("AccessDeniedException"), StoreRefused),
    ],
)
def test_a_quarantine_that_failed_can_be_repeated(
    aws: Aws, key: SessionKey, trouble: Any, ours: type[Exception]
) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    store, client = failing(aws, update_item=[trouble] * 1_000)

    with pytest.raises(ours):
        store.quarantine(key, head, WHY)
    client.troubles.clear()
    now: Head | None = store.head(key)
    store.quarantine(key, now, WHY)
    client.troubles["update_item"] = [trouble] * 1_000
    with pytest.raises(ours):
        store.lift(key, None)
    client.troubles.clear()
    store.lift(key, None)

    assert store.head(key) == dataclasses.replace(head, version=3)


def test_a_transaction_in_the_way_of_a_quarantine_is_waited_for(aws: Aws, key: SessionKey) -> None:
    head = aws.store().append(commit(key, None, [created(key.session)]))
    store, client = failing(aws, update_item=[refuses("TransactionConflictException")])

    put = store.quarantine(key, head, WHY)

    assert (put, [name for name, _ in client.requests]) == (True, ["update_item"] * 2)
