"""Deletions on the table of what cannot be read, and through requests that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from contract.store.conftest import BUCKET, Aws, Counting
from contract.store.deleting import NEW, NOON_S, OLD, Time, deleted, fill, never, objects, swept
from contract.store.failing import Failing, first, loses_the_answer, never_arrives, refuses
from everturn.commands.delete_session import DeleteSession
from everturn.errors import EverturnError, NewerFormat, StoreRefused, StoreUnavailable
from everturn.ports.callers import Caller, Who
from everturn.ports.lists import Incarnation
from everturn.ports.sessions import Quarantine, SessionKey
from everturn.rejections import UnknownSession
from everturn.session.events.sessions import Owner
from everturn.store.blobs import NoBlobs, S3Blobs
from everturn.store.dynamo import DynamoSessionStore
from sample_events import NOON_MS

# ---- heads that cannot be read


@pytest.mark.parametrize(
    ("name", "value"), [("state", {"S": "{"}), ("commit_id", {"L": []}), ("created", {"S": "?"})]
)
def test_what_cannot_be_read_can_be_deleted(
    aws: Aws, key: SessionKey, name: str, value: dict[str, Any]
) -> None:
    fill(aws, key)
    spoil(aws, key, name, value)
    aws.store().quarantine(key, None, Quarantine("unreadable", NOON_MS))
    time = Time()

    done = DeleteSession(aws.store(), time, time.monotonic)(Caller("acme"), key.session)
    swept(aws, time)

    assert done
    assert aws.items() == []


def test_a_head_without_an_incarnation_can_be_deleted(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)
    aws.dynamodb.client.update_item(
        TableName=aws.table,
        Key=head_key(key),
        UpdateExpression="REMOVE created, owned_pk, #s",
        ExpressionAttributeNames={"#s": "state"},
    )
    time = Time()
    known = aws.store().incarnation(key)

    done = DeleteSession(aws.store(), time, time.monotonic)(Caller("acme"), key.session)
    swept(aws, time)

    assert (known, done) == (Incarnation("", None), True)
    assert aws.items() == []


def test_an_owner_is_known_from_the_index_or_from_the_state(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)
    indexed = aws.store().incarnation(key)
    spoil(aws, key, "state", {"S": "{"})
    spoiled = aws.store().incarnation(key)
    aws.dynamodb.client.update_item(
        TableName=aws.table, Key=head_key(key), UpdateExpression="REMOVE owned_pk"
    )
    neither = aws.store().incarnation(key)

    assert (indexed, spoiled) == (Incarnation(OLD, "default"),) * 2
    assert neither == Incarnation(OLD, None)


def test_nobody_but_a_key_deletes_what_has_no_readable_owner(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)
    spoil(aws, key, "state", {"S": "{"})
    aws.dynamodb.client.update_item(
        TableName=aws.table, Key=head_key(key), UpdateExpression="REMOVE owned_pk"
    )
    time = Time()
    token = Caller("acme", Who.FRONTEND, owner=Owner(id="default"))

    with pytest.raises(UnknownSession):
        DeleteSession(aws.store(), time, time.monotonic)(token, key.session)

    assert "state" in aws.item("HEAD")


def test_a_newer_head_is_left_alone_until_the_deploy_is_through(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)
    spoil(aws, key, "format", {"N": "9"})

    with pytest.raises(NewerFormat):
        aws.store().incarnation(key)


def head_key(key: SessionKey) -> dict[str, Any]:
    return {"pk": {"S": f"SESSION#{key.tenant}#{key.session}"}, "sk": {"S": "HEAD"}}


def spoil(aws: Aws, key: SessionKey, name: str, value: dict[str, Any]) -> None:
    aws.dynamodb.client.update_item(
        TableName=aws.table,
        Key=head_key(key),
        UpdateExpression="SET #name = :value",
        ExpressionAttributeNames={"#name": name},
        ExpressionAttributeValues={":value": value},
    )


# ---- requests that fail


@pytest.mark.parametrize(
    ("trouble", "outcome"),
    [
        (loses_the_answer, True),
        (refuses("ThrottlingException"), True),
        (refuses("TransactionConflictException"), True),
        (never_arrives, StoreUnavailable),
        (refuses("InternalServerError", status=500), StoreUnavailable),
        (refuses("AccessDeniedException"), StoreRefused),
    ],
)
def test_a_mark_whose_answer_is_lost_is_looked_for(
    aws: Aws, key: SessionKey, trouble: Any, outcome: Any
) -> None:
    fill(aws, key)
    store = aws.store(Failing(aws.dynamodb.client, {"put_item": [trouble]}))

    result = tried(lambda: store.mark_deleted(key, OLD, "m1", NOON_S))

    assert result == outcome
    assert (aws.store().head(key) is None) == (outcome is True)


@pytest.mark.parametrize(
    ("trouble", "outcome"),
    [
        (loses_the_answer, StoreUnavailable),
        (refuses("TransactionCanceledException", "ThrottlingError", "None"), True),
        (refuses("TransactionCanceledException", "None", "TransactionConflict"), True),
        (refuses("AccessDeniedException"), StoreRefused),
    ],
)
def test_a_batch_that_fails_leaves_a_deletion_that_can_be_repeated(
    aws: Aws, key: SessionKey, trouble: Any, outcome: Any
) -> None:
    fill(aws, key)
    aws.store().mark_deleted(key, OLD, "m1", NOON_S)
    store = aws.store(Failing(aws.dynamodb.client, {"transact_write_items": [trouble]}))

    result = tried(lambda: store.erase(key, OLD, never))
    aws.store().erase(key, OLD, never)

    assert result == outcome
    assert [item["sk"]["S"] for item in aws.items()] == ["HEAD"]


@pytest.mark.parametrize(
    ("code", "outcome"), [("SlowDown", StoreUnavailable), ("AccessDenied", StoreRefused)]
)
def test_objects_that_are_left_over_are_no_success(
    aws: Aws, key: SessionKey, code: str, outcome: Any
) -> None:
    def partly(request: Callable[[], Any]) -> Any:
        del request
        return {"Errors": [{"Key": "k", "Code": code}]}

    fill(aws, key)
    store = aws.store()
    store.mark_deleted(key, OLD, "m1", NOON_S)
    failing = Failing(aws.s3.client, {"delete_objects": [partly]})
    blobs = S3Blobs(cast(Any, failing), BUCKET)
    client = cast(Any, Counting(aws.dynamodb.client))

    result = tried(lambda: DynamoSessionStore(aws.table, client, blobs).erase(key, OLD, never))
    again = store.erase(key, OLD, never)

    assert (result, again) == (outcome, True)
    assert objects(aws, f"acme/{key.session}/") == []


def tried(action: Callable[[], Any]) -> Any:
    """Return what `action` returns, or the class of what it raises."""
    try:
        return action()
    except EverturnError as error:
        return type(error)


# ---- what is written late


def test_ids_of_a_commit_that_never_landed_are_deleted_late(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)
    deleted(aws.store(), key)
    late(aws, key, "ID#node#m", commit_id={"S": "c1"})
    late(aws, key, "PREPARED", commit_id={"S": "c1"})
    late(aws, key, "WATCH", created={"S": OLD})
    late(aws, key, "TURN#t")
    client = Failing(aws.dynamodb.client, page_items=1)

    parts = [aws.store(client).erase_late(key, OLD, lambda: True) for _ in range(4)]

    assert parts == [False, False, False, True]
    assert [item["sk"]["S"] for item in aws.items()] == ["TURN#t"]


def test_what_somebody_else_wrote_meanwhile_is_left_alone(aws: Aws, key: SessionKey) -> None:
    fill(aws, key)
    deleted(aws.store(), key)
    late(aws, key, "WATCH", created={"S": OLD})
    client = Failing(
        aws.dynamodb.client,
        {"delete_item": [first(lambda: late(aws, key, "WATCH", created={"S": NEW}))]},
    )

    done = aws.store(client).erase_late(key, OLD, never)

    assert done
    assert aws.item("WATCH")["created"] == {"S": NEW}


@pytest.mark.parametrize("trouble", [never_arrives, refuses("InternalServerError", status=500)])
def test_a_late_deletion_that_fails_is_repeated(aws: Aws, key: SessionKey, trouble: Any) -> None:
    fill(aws, key)
    deleted(aws.store(), key)
    late(aws, key, "WATCH", created={"S": OLD})
    store = aws.store(Failing(aws.dynamodb.client, {"delete_item": [trouble]}))

    result = tried(lambda: store.erase_late(key, OLD, never))
    again = aws.store().erase_late(key, OLD, never)

    assert (result, again) == (StoreUnavailable, True)
    assert aws.items() == []


def test_objects_are_deleted_a_thousand_at_a_time_while_there_is_time(
    aws: Aws, key: SessionKey
) -> None:
    prefix = f"acme/{key.session}/{OLD}/"
    for n in range(1_001):
        aws.s3.client.put_object(Bucket=BUCKET, Key=f"{prefix}{n}", Body=b"x")
    blobs = S3Blobs(cast(Any, aws.s3), BUCKET)

    parts = [blobs.remove(prefix, lambda: True) for _ in range(3)]

    assert parts == [False, False, True]
    assert aws.s3.taken() == ["list_objects_v2", "delete_objects"] * 2 + ["list_objects_v2"]


def test_without_a_bucket_nothing_can_be_erased_from_it() -> None:
    with pytest.raises(StoreRefused):
        NoBlobs().remove("acme/s1/", never)


def late(aws: Aws, key: SessionKey, sk: str, **attributes: Any) -> None:
    names = {"pk": {"S": f"SESSION#{key.tenant}#{key.session}"}, "sk": {"S": sk}}
    aws.dynamodb.client.put_item(TableName=aws.table, Item={**names, **attributes})
