"""Every kind of AWS request that is throttled, as the service words it: repeated, then given up.

The clients are botocore's own: what they make of an answer is not guessed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from contract.store.conftest import BUCKET, FakeTime
from contract.store.wire import Answer, Wire, error, plain_json, xml_error
from everturn.errors import (
    DefectError,
    QueueUnavailable,
    StoreRefused,
    StoreUnavailable,
    TransientError,
)
from everturn.ports.sessions import SessionKey
from everturn.store.blobs import NoBlobs, S3Blobs, place_of
from everturn.store.directory import DynamoDirectory
from everturn.store.dynamo import DynamoSessionStore
from everturn.store.pace import PROMPT_S, Pace
from everturn.store.uploads import S3Uploads
from everturn.store.wake import SqsWake, extend
from sample_events import CREATED, NOON_MS, commit, created, tool_call

KEY = SessionKey("acme", "s1")
URL = "https://sqs.eu-central-1.amazonaws.com/123456789012/queue.fifo"
MACHINE = "arn:aws:states:eu-central-1:123456789012:stateMachine:step"
BODY = b"body"


def dynamo(status: int, name: str, **more: Any) -> Answer:
    return plain_json(status, **{"__type": f"com.amazonaws.dynamodb.v20120810#{name}"}, **more)


def query_error(name: str) -> tuple[str, str]:
    return "x-amzn-query-error", f"{name};Sender"


TABLE_BUSY = (
    dynamo(400, "ProvisionedThroughputExceededException"),
    error(400, "com.amazon.coral.availability#ThrottlingException"),
    dynamo(400, "RequestLimitExceeded"),
)
CANCELLED = dynamo(
    400,
    "TransactionCanceledException",
    CancellationReasons=[{"Code": "None"}, {"Code": "ThrottlingError"}],
)
IN_THE_WAY = dynamo(
    400, "TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}]
)
BUCKET_BUSY = (xml_error(503, "SlowDown"), xml_error(503, "ServiceUnavailable"), Answer(503))
QUEUE_BUSY = (
    error(403, "com.amazonaws.sqs#RequestThrottled", header=query_error("RequestThrottled")),
    error(400, "com.amazonaws.sqs#KmsThrottled", header=query_error("KMS.ThrottlingException")),
    error(400, "ThrottlingException"),
)
MACHINE_BUSY = (error(400, "ThrottlingException"), error(503, "ServiceUnavailable"))


def store(client: Any, pace: Pace) -> DynamoSessionStore:
    return DynamoSessionStore("table", client, NoBlobs(), pace)


def wake(client: Any, pace: Pace) -> SqsWake:
    return SqsWake(client, URL, client, MACHINE, pace)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of request: its service, what is said while it is busy, and what is said then."""

    service: str
    busy: tuple[Answer, ...]
    then: Answer
    act: Callable[[Any, Pace], object]
    gives_up_as: type[TransientError] = StoreUnavailable


def listing(*names: str) -> Answer:
    """Return what S3 answers to who asks which objects there are."""
    found = "".join(f"<Contents><Key>{name}</Key></Contents>" for name in names)
    return Answer(200, f"<ListBucketResult>{found}</ListBucketResult>".encode())


EMPTY = plain_json()
NOTHING = plain_json(Items=[], Count=0)
KINDS: dict[str, Kind] = {
    "GetItem": Kind("dynamodb", TABLE_BUSY, EMPTY, lambda c, p: store(c, p).head(KEY)),
    "Query": Kind("dynamodb", TABLE_BUSY, NOTHING, lambda c, p: store(c, p).log(KEY, 1)),
    "Query of an index": Kind(
        "dynamodb", TABLE_BUSY, NOTHING, lambda c, p: list(store(c, p).quarantined())
    ),
    "BatchGetItem": Kind(
        "dynamodb",
        TABLE_BUSY,
        plain_json(Responses={}),
        lambda c, p: store(c, p).nodes(KEY, ["n"]),
    ),
    "TransactGetItems": Kind(
        "dynamodb",
        (*TABLE_BUSY, CANCELLED),
        plain_json(Responses=[{}, {}]),
        lambda c, p: store(c, p).head_and_turn(KEY, "t"),
    ),
    "TransactWriteItems": Kind(
        "dynamodb",
        (*TABLE_BUSY, CANCELLED),
        EMPTY,
        lambda c, p: store(c, p).append(commit(KEY, None, [created("s1")])),
    ),
    "UpdateItem": Kind(
        "dynamodb", TABLE_BUSY, EMPTY, lambda c, p: store(c, p).reader_until(KEY, 5)
    ),
    "PutItem": Kind(
        "dynamodb",
        TABLE_BUSY,
        EMPTY,
        lambda c, p: DynamoDirectory("table", c, NoBlobs(), p).put_tenant("acme", {}),
    ),
    "DeleteItem": Kind(
        "dynamodb",
        TABLE_BUSY,
        EMPTY,
        lambda c, p: DynamoDirectory("table", c, NoBlobs(), p).delete_agent("acme", "a"),
    ),
    "PutObject": Kind(
        "s3", BUCKET_BUSY, Answer(200), lambda c, p: S3Blobs(c, BUCKET, pace=p).put("k", BODY)
    ),
    "GetObject": Kind(
        "s3",
        BUCKET_BUSY,
        Answer(200, BODY),
        lambda c, p: S3Blobs(c, BUCKET, pace=p).get(place_of("k", BODY)),
    ),
    "HeadObject": Kind(
        "s3",
        (Answer(503),),
        Answer(200, headers={"content-type": "image/png"}),
        lambda c, p: S3Uploads(c, BUCKET, p).find("acme", "u"),
    ),
    "PutObjectTagging": Kind(
        "s3", BUCKET_BUSY, Answer(200), lambda c, p: S3Uploads(c, BUCKET, p).keep("acme", "u")
    ),
    "ListObjectsV2": Kind(
        "s3",
        BUCKET_BUSY,
        listing(),
        lambda c, p: S3Blobs(c, BUCKET, pace=p).remove("acme/s1/", lambda: False),
    ),
    "SendMessage": Kind(
        "sqs",
        QUEUE_BUSY,
        plain_json(MessageId="m"),
        lambda c, p: wake(c, p).now(KEY, CREATED, "llm", 7, "7"),
        QueueUnavailable,
    ),
    "StartExecution": Kind(
        "stepfunctions",
        MACHINE_BUSY,
        plain_json(executionArn="arn", startDate=1),
        lambda c, p: wake(c, p).at(KEY, CREATED, "timer", 7, NOON_MS, "c"),
        QueueUnavailable,
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_request_that_is_throttled_is_made_again_after_growing_random_waits(name: str) -> None:
    kind, time = KINDS[name], FakeTime()
    wire = Wire(kind.then, *kind.busy)

    kind.act(wire.client(kind.service), time.pace())

    assert len(wire.requests) == len(kind.busy) + 1
    assert same_bodies(wire.requests)
    waits = [0.03, 0.055, 0.105, 0.205][: len(kind.busy)]
    assert time.slept_s == pytest.approx(waits)


def same_bodies(requests: list[Any]) -> bool:
    """Return whether all requests say the same; a body in chunks is not looked into."""
    return len({one.body for one in requests if isinstance(one.body, bytes)}) <= 1


@pytest.mark.parametrize("name", KINDS)
def test_a_service_that_stays_busy_is_given_up_within_the_budget(name: str) -> None:
    kind, time = KINDS[name], FakeTime()
    wire = Wire(kind.busy[0])

    with pytest.raises(kind.gives_up_as) as caught:
        kind.act(wire.client(kind.service), time.pace())

    assert caught.value.retry_after_s == 1.0
    assert 3.0 <= time.now_s < 3.5
    assert all(one <= other for one, other in pairwise(time.slept_s))
    assert len(wire.requests) < 20


@pytest.mark.parametrize("name", ["SendMessage", "StartExecution"])
def test_a_function_that_must_not_wait_gives_a_busy_queue_up_at_once(name: str) -> None:
    kind, time = KINDS[name], FakeTime()
    pace = Pace(lambda: time.now_s, time.sleep, lambda low, _high: low, PROMPT_S)

    with pytest.raises(QueueUnavailable):
        kind.act(Wire(kind.busy[0]).client(kind.service), pace)

    assert time.now_s <= PROMPT_S + 0.01


def test_the_waits_of_two_that_are_throttled_together_differ() -> None:
    slept: list[float] = []
    pace = Pace(sleep=slept.append)

    for tries in range(8):
        pace.pause(tries)
        pace.pause(tries)

    assert all(0.01 <= one <= 0.8 for one in slept)
    assert len(set(slept)) == len(slept)


def test_a_lease_is_renewed_though_the_queue_is_busy_and_never_lost_for_it() -> None:
    time = FakeTime()
    wire = Wire(EMPTY, *QUEUE_BUSY)

    extend(wire.client("sqs"), URL, "receipt", 120, time.pace())
    with pytest.raises(OSError, match="did not extend") as caught:
        extend(Wire(QUEUE_BUSY[0]).client("sqs"), URL, "receipt", 120, time.pace())

    assert len(wire.requests) == len(QUEUE_BUSY) + 1
    assert not isinstance(caught.value, PermissionError)


@pytest.mark.parametrize(
    "refusal",
    [
        error(
            400,
            "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            header=query_error("ReceiptHandleIsInvalid"),
        ),
        error(
            400,
            "com.amazonaws.sqs#InvalidParameterValue",
            header=query_error("InvalidParameterValue"),
        ),
    ],
)
def test_a_lease_that_is_gone_is_not_asked_for_twice(refusal: Answer) -> None:
    time, wire = FakeTime(), Wire(refusal)

    with pytest.raises(PermissionError):
        extend(wire.client("sqs"), URL, "receipt", 120, time.pace())

    assert (len(wire.requests), time.slept_s) == (1, [])


PERMANENT: list[tuple[str, Answer, type[Exception]]] = [
    ("GetItem", dynamo(400, "ResourceNotFoundException"), StoreRefused),
    ("TransactWriteItems", dynamo(400, "ValidationException"), StoreRefused),
    ("PutObject", xml_error(403, "AccessDenied"), StoreRefused),
    ("GetObject", xml_error(404, "NoSuchKey"), StoreRefused),
    (
        "SendMessage",
        error(
            400,
            "com.amazonaws.sqs#QueueDoesNotExist",
            header=query_error("AWS.SimpleQueueService.NonExistentQueue"),
        ),
        DefectError,
    ),
    ("StartExecution", error(400, "StateMachineDoesNotExist"), DefectError),
]


@pytest.mark.parametrize(("name", "refusal", "ours"), PERMANENT)
def test_what_no_repetition_changes_is_not_repeated(
    name: str, refusal: Answer, ours: type[Exception]
) -> None:
    kind, time, wire = KINDS[name], FakeTime(), Wire(refusal)

    with pytest.raises(ours):
        kind.act(wire.client(kind.service), time.pace())

    assert (len(wire.requests), time.slept_s) == (1, [])


def test_a_transaction_in_the_way_is_waited_for_without_slowing_down() -> None:
    kind, time = KINDS["TransactWriteItems"], FakeTime()
    wire = Wire(kind.then, *[IN_THE_WAY] * 4)

    kind.act(wire.client(kind.service), time.pace())

    assert time.slept_s == pytest.approx([0.03] * 4)


def test_keys_that_a_busy_table_leaves_unread_are_asked_for_again_and_only_they() -> None:
    time = FakeTime()
    wanted = {"pk": {"S": "SESSION#acme#s1"}, "sk": {"S": "ID#node#b"}}
    left = plain_json(Responses={"table": []}, UnprocessedKeys={"table": {"Keys": [wanted]}})
    wire = Wire(plain_json(Responses={"table": []}), left, left)

    found = store(wire.client("dynamodb"), time.pace()).nodes(KEY, ["a", "b"])

    asked = [request.body.count(b'"ID#node#') for request in wire.requests]
    assert (found, asked) == ({}, [2, 1, 1])
    assert time.slept_s == pytest.approx([0.03, 0.055])


def test_a_head_whose_sections_cannot_be_read_now_is_not_taken_for_one_without_them() -> None:
    time = FakeTime()
    session = commit(KEY, None, [created("s1"), *(tool_call(f"c{n}") for n in range(256))])
    wire = Wire(EMPTY)
    store(wire.client("dynamodb"), time.pace()).append(session)
    head = head_written(wire.requests[-1].body)
    busy = Wire(TABLE_BUSY[0], plain_json(Item=head))

    with pytest.raises(StoreUnavailable):
        store(busy.client("dynamodb"), time.pace()).head(KEY)

    assert "sections" in head


def head_written(body: bytes) -> dict[str, Any]:
    """Return the head item that a transaction writes."""
    update = json.loads(body)["TransactItems"][0]["Update"]
    names, values = update["ExpressionAttributeNames"], update["ExpressionAttributeValues"]
    given = {name: values[f":{tag[1:]}"] for tag, name in names.items() if f":{tag[1:]}" in values}
    return {**update["Key"], **given}


def test_objects_that_a_busy_bucket_does_not_delete_are_deleted_at_the_next_try() -> None:
    time = FakeTime()
    deleted = Answer(200, b"<DeleteResult></DeleteResult>")
    wire = Wire(listing(), listing("acme/s1/a"), xml_error(503, "SlowDown"), deleted)

    done = S3Blobs(wire.client("s3"), BUCKET, pace=time.pace()).remove("acme/s1/", lambda: False)

    assert (done, len(wire.requests)) == (True, 4)
    assert time.slept_s == pytest.approx([0.03])
