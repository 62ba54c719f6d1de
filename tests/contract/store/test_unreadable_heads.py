"""Heads that nobody will ever read: said so, put aside once, and refused with the reason then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract.store.conftest import Aws
from contract.store.failing import failing, first
from everturn.errors import NewerFormat, StoreUnavailable, StoreUnreadable
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, Owner, Quarantine, SessionKey
from everturn.rejections import SessionQuarantined
from everturn.session.events.decisions import DecisionQueued
from everturn.session.formats import NEWEST_FORMAT
from sample_events import CREATED, NOON_MS, commit, created, id_of, message, tool_call

WHY = Quarantine("unreadable", NOON_MS)
READS: dict[str, Callable[[SessionStore, SessionKey], object]] = {
    "head": lambda store, key: store.head(key),
    "head_and_turn": lambda store, key: store.head_and_turn(key, "t"),
    "head_and_watch": lambda store, key: store.head_and_watch(key),
}


def with_sections(aws: Aws, key: SessionKey) -> Head:
    """Append a commit whose head has two sections."""
    calls = [tool_call(f"c{n}") for n in range(256)]
    decisions = [
        DecisionQueued(id=id_of(f"d{n}"), trigger_type="tool.finished") for n in range(256)
    ]
    return aws.store().append(
        commit(key, None, [created(key.session), *calls, *decisions], due_epoch_s=9)
    )


def at(key: SessionKey, sk: str) -> dict[str, Any]:
    return {"pk": {"S": f"SESSION#{key.tenant}#{key.session}"}, "sk": {"S": sk}}


def lose(aws: Aws, key: SessionKey, sk: str) -> None:
    aws.dynamodb.client.delete_item(TableName=aws.table, Key=at(key, sk))


def spoil(aws: Aws, key: SessionKey, name: str, value: dict[str, Any] | None) -> None:
    """Overwrite an attribute of the head, or remove it."""
    more: dict[str, Any] = {"ExpressionAttributeValues": {":value": value}} if value else {}
    aws.dynamodb.client.update_item(
        TableName=aws.table,
        Key=at(key, "HEAD"),
        UpdateExpression="SET #name = :value" if value else "REMOVE #name",
        ExpressionAttributeNames={"#name": name},
        **more,
    )


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("sk", ["HEAD#calls#0", "HEAD#decisions#0"])
def test_sections_that_are_gone_for_good_are_no_busy_table(
    aws: Aws, key: SessionKey, sk: str, read: str
) -> None:
    with_sections(aws, key)
    lose(aws, key, sk)

    with pytest.raises(StoreUnreadable, match="sections"):
        READS[read](aws.store(), key)

    assert aws.time.now_s < 0.5


def test_a_session_without_its_sections_is_put_aside_and_found_and_refused(
    aws: Aws, key: SessionKey
) -> None:
    store = aws.store()
    head = with_sections(aws, key)
    lose(aws, key, "HEAD#calls#0")

    put = [store.quarantine(key, None, WHY), store.quarantine(key, None, WHY)]

    assert (put, list(store.quarantined()), store.due(100, 10)) == ([True, False], [key], ())
    for read in READS.values():
        with pytest.raises(SessionQuarantined) as caught:
            read(store, key)
        assert caught.value.fields == {"reason": "unreadable", "at": "2026-01-01T12:00:00.000Z"}
    with pytest.raises(SessionQuarantined):
        store.append(commit(key, head, [message("m")]))


def test_a_head_that_changes_all_the_time_is_a_busy_one(aws: Aws, key: SessionKey) -> None:
    with_sections(aws, key)
    lose(aws, key, "HEAD#calls#0")
    store, client = failing(aws)

    def claimed() -> None:
        now = aws.dynamodb.client.get_item(TableName=aws.table, Key=at(key, "HEAD"))["Item"]
        spoil(aws, key, "version", {"N": str(int(now["version"]["N"]) + 1)})

    client.troubles["query"] = [first(claimed)] * 5

    with pytest.raises(StoreUnavailable):
        store.head(key)


def test_a_claim_between_head_and_sections_is_none_of_their_business(
    aws: Aws, key: SessionKey
) -> None:
    head = with_sections(aws, key)
    store, client = failing(aws)
    client.troubles["query"] = [first(lambda: aws.store().claim(key, head, Owner(1, "r")))]

    found = store.head(key)

    assert found == head


MANGLED: list[tuple[str, dict[str, Any] | None]] = [
    ("state", None),
    ("state", {"S": "{"}),
    ("state", {"BOOL": True}),
    ("commit_id", {"L": []}),
    ("created", None),
    ("seq", {"S": "seven"}),
    ("sections", {"S": "calls"}),
    ("version", {"S": "one"}),
    ("version", None),
    ("format", {"S": "one"}),
]


@pytest.mark.parametrize(("name", "value"), MANGLED)
def test_whatever_is_wrong_with_a_head_it_is_put_aside_and_the_reason_is_told(
    aws: Aws, key: SessionKey, name: str, value: dict[str, Any] | None
) -> None:
    store = aws.store()
    with_sections(aws, key)
    spoil(aws, key, name, value)
    with pytest.raises(StoreUnreadable):
        store.head(key)

    put = [store.quarantine(key, None, WHY), store.quarantine(key, None, WHY)]

    assert (put, list(store.quarantined()), store.due(100, 10)) == ([True, False], [key], ())
    with pytest.raises(SessionQuarantined) as caught:
        store.head(key)
    assert caught.value.fields["reason"] == "unreadable"


@pytest.mark.parametrize("name", ["state", "commit_id", "format"])
def test_a_mangled_head_that_was_put_aside_can_be_lifted(
    aws: Aws, key: SessionKey, name: str
) -> None:
    store = aws.store()
    with_sections(aws, key)
    spoil(aws, key, name, {"L": []})
    store.quarantine(key, None, WHY)

    lifted = store.lift(key, 7)

    assert lifted == (CREATED, 3)
    assert (list(store.quarantined()), store.due(100, 10)) == ([], (key,))


def test_a_head_of_later_code_is_waited_for_and_not_put_aside(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    with_sections(aws, key)
    spoil(aws, key, "format", {"N": str(NEWEST_FORMAT + 1)})

    with pytest.raises(NewerFormat):
        store.head(key)
    with pytest.raises(NewerFormat):
        store.quarantine(key, None, WHY)

    assert list(store.quarantined()) == []
