"""Deletions on the table: killed between any two requests, met by others, refused, throttled."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import pytest

from contract.store.conftest import BUCKET, Aws
from contract.store.deleting import (
    NEW,
    NOON_S,
    OLD,
    Time,
    begun,
    deleted,
    delta,
    fill,
    never,
    objects,
    swept,
)
from contract.store.failing import Failing, first
from everturn.commands.delete_session import DeleteSession, FinishDeletions
from everturn.ports.callers import Caller
from everturn.ports.sessions import SessionKey
from everturn.ports.streams import Watcher
from everturn.session.events.runs import RunRequested
from everturn.session.events.sessions import StartedPrivate, TurnCompleted, TurnStarted
from everturn.session.events.stored import Event
from everturn.store.blobs import S3Blobs
from everturn.store.deletions import BATCH
from everturn.store.dynamo import DynamoSessionStore
from sample_events import commit, created, tool_call


class Killed(BaseException):
    """The process is gone."""


@dataclass(slots=True)
class Dying:
    """A client whose process dies before or after the request that is due, counted over several."""

    client: Any
    fate: Iterator[bool]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)

        def call(**request: Any) -> Any:
            self._point()
            answer = method(**request)
            self._point()
            return answer

        return call

    def _point(self) -> None:
        if next(self.fate):
            raise Killed


def dying(aws: Aws, kill_at: int) -> DynamoSessionStore:
    """Return a store whose process dies at a point, counted over table and bucket."""
    fate = (n == kill_at for n in itertools.count(1))
    blobs = S3Blobs(cast(Any, Dying(aws.s3.client, fate)), BUCKET)
    client = cast(Any, Dying(aws.dynamodb.client, fate))
    return DynamoSessionStore(aws.table, client, blobs, aws.time.pace())


@pytest.mark.slow
def test_a_deletion_killed_anywhere_is_finished_by_the_sweep(aws: Aws) -> None:
    time, points = Time(), 0
    for kill_at in range(1, 100):
        key = SessionKey("acme", f"s{kill_at}")
        fill(aws, key)
        store = dying(aws, kill_at)
        try:
            DeleteSession(store, time, time.monotonic)(Caller("acme"), key.session)
        except Killed:
            points += 1
        hidden = aws.store().head(key) is None
        swept(aws, time)
        if hidden:
            assert aws.items() == [], kill_at
            assert objects(aws, f"acme/{key.session}/") == [], kill_at
        else:
            assert aws.store().head(key) is not None, kill_at
            deleted(aws.store(), key)
            swept(aws, time)
        if points < kill_at:
            break

    assert points > 15


@pytest.mark.slow
def test_a_sweep_killed_anywhere_is_finished_by_the_next(aws: Aws) -> None:
    time, points = Time(), 0
    for kill_at in range(1, 100):
        key = SessionKey("acme", f"s{kill_at}")
        fill(aws, key)
        aws.store().mark_deleted(key, OLD, "m1", time.now // 1000)
        try:
            FinishDeletions(dying(aws, kill_at), time, time.monotonic).sweep()
        except Killed:
            points += 1
        aws.store().put_delta(key, delta(9, OLD), NOON_S)
        aws.store().add_watcher(key, Watcher("spy", "a"), OLD)
        aws.s3.client.put_object(Bucket=BUCKET, Key=f"acme/{key.session}/{OLD}/late", Body=b"x")

        swept(aws, time)

        assert aws.items() == [], kill_at
        assert objects(aws, f"acme/{key.session}/") == [], kill_at
        if points < kill_at:
            break

    assert points > 15


def test_a_slow_eraser_cannot_meet_the_next_session_of_that_id(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)
    aws.store().mark_deleted(key, OLD, "m1", NOON_S)

    def others_finish() -> None:
        aws.store().erase(key, OLD, never)
        aws.store().release_id(key, OLD, NOON_S)
        begun(aws.store(), key, NEW)

    client = Failing(aws.dynamodb.client, {"transact_write_items": [first(others_finish)]})
    done = aws.store(client).erase(key, OLD, never)
    aws.store().release_id(key, OLD, NOON_S)

    store = aws.store()
    assert done
    assert [one.created for one in store.log(key, 1)] == [NEW, NEW]
    assert store.head(key) is not None
    assert len(store.nodes(key, ["x"])) == 0
    assert len(store.watch(key).watchers) == 1


def test_more_items_than_one_transaction_takes_are_deleted(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    head = store.append(commit(key, None, [created(key.session)], created=OLD))
    events = [tool_call(f"c{n}") for n in range(2 * BATCH)]
    store.append(commit(key, head, events, "many"))
    store.mark_deleted(key, OLD, "m1", NOON_S)
    client = Failing(aws.dynamodb.client)

    erased = aws.store(client).erase(key, OLD, never)

    sizes = [
        len(request["TransactItems"])
        for name, request in client.requests
        if name == "transact_write_items"
    ]
    assert erased
    assert [item["sk"]["S"] for item in aws.items()] == ["HEAD"]
    assert max(sizes) == BATCH + 1
    assert len(sizes) == 3


@pytest.mark.parametrize("kill_at", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_no_pointer_to_a_run_outlives_the_record_that_leads_to_it(
    aws: Aws, key: SessionKey, kill_at: int
) -> None:
    """Records and pointers do not fit into one transaction, and the eraser dies between two."""
    head = aws.store().append(commit(key, None, [created(key.session)], created=OLD))
    for n in range(BATCH):
        turn: list[Event] = [
            RunRequested(turn_id=f"run-{n}", run={}),
            TurnStarted(turn_id=f"run-{n}", private=StartedPrivate(run_seq=3 * n + 2)),
            TurnCompleted(turn_id=f"run-{n}", outcome="done"),
        ]
        head = aws.store().append(commit(key, head, turn, f"{n}"))
    aws.store().mark_deleted(key, OLD, "m1", NOON_S)

    with suppress(Killed):
        dying(aws, kill_at).erase(key, OLD, never)

    left = {item["pk"]["S"]: item["sk"]["S"] for item in aws.items()}
    sks = {item["sk"]["S"] for item in aws.items()}
    pointers = [pk.rpartition("#")[2] for pk in left if pk.startswith("RUN#")]
    assert all(f"TURN#{run_id}" in sks for run_id in pointers)
    assert aws.store().erase(key, OLD, never)
    assert [item["sk"]["S"] for item in aws.items()] == ["HEAD"]


def test_time_is_looked_at_after_every_batch(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    head = store.append(commit(key, None, [created(key.session)], created=OLD))
    store.append(commit(key, head, [tool_call(f"c{n}") for n in range(2 * BATCH)], "many"))
    store.mark_deleted(key, OLD, "m1", NOON_S)
    before = len(aws.items())

    erased = store.erase(key, OLD, lambda: True)

    assert (erased, before - len(aws.items())) == (False, BATCH)


def test_pages_that_hold_the_tombstone_alone_do_not_end_a_deletion(
    aws: Aws, key: SessionKey
) -> None:
    store = aws.store()
    store.append(commit(key, None, [created(key.session)], created=OLD))
    store.mark_deleted(key, OLD, "m1", NOON_S)
    client = Failing(aws.dynamodb.client, page_items=1)

    aws.store(client).erase(key, OLD, never)

    assert [item["sk"]["S"] for item in aws.items()] == ["HEAD"]


def test_objects_of_others_stay(aws: Aws) -> None:
    names = ("acme/uploads/0198/file", f"acme/uploads/{NEW}/abc", f"acme/other/{OLD}/abc")
    for name in names:
        aws.s3.client.put_object(Bucket=BUCKET, Key=name, Body=b"x")
    key = SessionKey("acme", "uploads")
    fill(aws, key)
    own = objects(aws, f"acme/uploads/{OLD}/")

    deleted(aws.store(), key)

    assert len(own) == 2
    assert objects(aws, f"acme/uploads/{OLD}/") == []
    assert all(name in objects(aws, "acme/") for name in names)


def test_a_tombstone_has_these_attributes_and_no_other(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)

    aws.store().mark_deleted(key, OLD, "m1", NOON_S)
    stone = aws.item("HEAD")
    aws.store().erase(key, OLD, never)
    aws.store().release_id(key, OLD, NOON_S + 9)

    shard = stone["due_shard"]
    assert shard["S"].startswith("deleted#0")
    assert stone == {
        "pk": {"S": f"SESSION#acme#{key.session}"},
        "sk": {"S": "HEAD"},
        "format": {"N": "2"},
        "deleted": {"S": "m1"},
        "created": {"S": OLD},
        "due_shard": shard,
        "due_epoch_s": {"N": str(NOON_S)},
    }
    assert aws.items() == [
        {
            "pk": {"S": f"GONE#acme#{key.session}"},
            "sk": {"S": OLD},
            "format": {"N": "1"},
            "due_shard": shard,
            "due_epoch_s": {"N": str(NOON_S + 9)},
        }
    ]
