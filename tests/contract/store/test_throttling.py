"""AWS throttles, fails or does not answer: what each adapter makes of it, request by request."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
    ResponseStreamingError,
)

from contract.store.conftest import BUCKET, Aws, FakeTime
from contract.store.failing import Failing, Trouble, never_arrives, refuses
from everturn.errors import DefectError, EverturnError, QueueUnavailable, StoreRefused
from everturn.errors import StoreUnavailable as Unavailable
from everturn.ports.directory import ApiKey
from everturn.ports.sessions import NewCommit, Owner, Quarantine, SessionKey
from everturn.ports.streams import Delta, Watcher
from everturn.push.outcome import Failed, Gone, PushOutcome, Throttled, TooLarge
from everturn.push.websocket import WebSocketPush
from everturn.store.blobs import NoBlobs, S3Blobs, place_of
from everturn.store.directory import DynamoDirectory
from everturn.store.dynamo import DynamoSessionStore
from everturn.store.wake import SqsWake, visibility_errors
from sample_events import CREATED, NOON_MS, commit, created, message

KEY = SessionKey("acme", "s1")
THROTTLES = (
    refuses("ProvisionedThroughputExceededException"),
    refuses("ThrottlingException"),
    refuses("RequestLimitExceeded"),
    refuses("TransactionCanceledException", "ThrottlingError"),
)
Act = Callable[[DynamoSessionStore, DynamoDirectory, NewCommit], object]
ACTS: dict[str, tuple[str, Act]] = {
    "head": ("get_item", lambda store, _d, _c: store.head(KEY)),
    "head_and_turn": ("transact_get_items", lambda store, _d, _c: store.head_and_turn(KEY, "t")),
    "head_and_watch": ("batch_get_item", lambda store, _d, _c: store.head_and_watch(KEY)),
    "nodes": ("batch_get_item", lambda store, _d, _c: store.nodes(KEY, ["n"])),
    "log": ("query", lambda store, _d, _c: store.log(KEY, 1)),
    "append": ("transact_write_items", lambda store, _d, new: store.append(new)),
    "claim": ("update_item", lambda store, _d, new: store.claim(KEY, new.before, Owner(1, "r"))),  # type: ignore[arg-type]  # it is there
    "quarantine": (
        "update_item",
        lambda store, _d, new: store.quarantine(KEY, new.before, Quarantine("defect", 1)),
    ),
    "lift": ("update_item", lambda store, _d, _c: store.lift(KEY, 5)),
    "quarantined": ("query", lambda store, _d, _c: list(store.quarantined())),
    "watch": ("get_item", lambda store, _d, _c: store.watch(KEY)),
    "add_watcher": ("update_item", lambda store, _d, _c: store.add_watcher(KEY, Watcher("c", "s"))),
    "reader_until": ("update_item", lambda store, _d, _c: store.reader_until(KEY, 5)),
    "deltas": ("query", lambda store, _d, _c: store.deltas(KEY, 1, 0, 10)),
    "due": ("query", lambda store, _d, _c: store.due(NOON_MS, 10)),
    "agent": ("get_item", lambda _s, directory, _c: directory.agent("acme", "helper")),
    "put_api_key": (
        "put_item",
        lambda _s, directory, _c: directory.put_api_key("ab", ApiKey("acme", "k")),
    ),
    "delete_agent": ("delete_item", lambda _s, directory, _c: directory.delete_agent("acme", "a")),
}


def prepared(aws: Aws) -> tuple[Failing, Callable[[str], object]]:
    """Return a client over a table with one session, and what runs an act on it."""
    head = aws.store().append(commit(KEY, None, [created("s1")], due_epoch_s=9))
    new = commit(KEY, head, [message("m")])
    client = Failing(aws.dynamodb.client)
    store = aws.store(client)
    given: Any = client
    directory = DynamoDirectory(aws.table, given, NoBlobs(), aws.time.pace())
    return client, lambda name: ACTS[name][1](store, directory, new)


@pytest.mark.parametrize("name", ACTS)
def test_a_throttled_request_is_made_again_after_longer_and_longer_waits(
    aws: Aws, name: str
) -> None:
    client, act = prepared(aws)
    request = ACTS[name][0]
    client.troubles[request] = [*THROTTLES]

    act(name)

    made = [made for made, _ in client.requests if made == request]
    assert len(made) >= len(THROTTLES) + 1
    assert aws.time.slept_s == pytest.approx([0.03, 0.055, 0.105, 0.205])


@pytest.mark.parametrize("name", ACTS)
def test_a_table_that_stays_throttled_is_given_up_after_three_seconds(aws: Aws, name: str) -> None:
    client, act = prepared(aws)
    client.troubles[ACTS[name][0]] = [refuses("ThrottlingException")] * 1_000
    before = aws.items()

    with pytest.raises(Unavailable):
        act(name)

    assert 3.0 <= aws.time.now_s < 3.5
    assert all(one <= other for one, other in pairwise(aws.time.slept_s))
    assert len(client.requests) < 20
    assert aws.items() == before


FAMILIES: list[tuple[Trouble, type[EverturnError]]] = [
    (refuses("InternalServerError", status=500), Unavailable),
    (refuses("ServiceUnavailable", status=503), Unavailable),
    (refuses("", status=502), Unavailable),
    (never_arrives, Unavailable),
    (refuses("ValidationException"), StoreRefused),
    (refuses("AccessDeniedException"), StoreRefused),
    (refuses("ResourceNotFoundException"), StoreRefused),
]


@pytest.mark.parametrize(("trouble", "ours"), FAMILIES)
@pytest.mark.parametrize("name", ACTS)
def test_any_other_failure_is_ours_and_writes_nothing(
    aws: Aws, name: str, trouble: Trouble, ours: type[EverturnError]
) -> None:
    client, act = prepared(aws)
    client.troubles[ACTS[name][0]] = [trouble] * 1_000
    before = aws.items()

    with pytest.raises(ours):
        act(name)

    assert aws.items() == before


def test_a_delta_is_not_waited_for(aws: Aws) -> None:
    client = Failing(aws.dynamodb.client, {"put_item": [refuses("ThrottlingException")]})

    with pytest.raises(Unavailable):
        aws.store(client).put_delta(KEY, Delta(1, 1, "c", 1, "t", {}), 5)

    assert aws.time.slept_s == []


# ---- the bucket, the queue, the step machine, connections


class Raising:
    """A client whose every method raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _name: str) -> Any:
        def fail(**_request: Any) -> None:
            raise self._error

        return fail


def refused(code: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Any")


SILENT = (
    ReadTimeoutError(endpoint_url="https://aws"),
    ConnectTimeoutError(endpoint_url="https://aws"),
    EndpointConnectionError(endpoint_url="https://aws"),
    ResponseStreamingError(error="cut"),
)


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (refused("SlowDown", 503), Unavailable),
        (refused("503", 503), Unavailable),
        (refused("InternalError", 500), Unavailable),
        (refused("TooManyRequests", 429), Unavailable),
        (refused("RequestTimeout"), Unavailable),
        *((error, Unavailable) for error in SILENT),
        (refused("NoSuchKey", 404), StoreRefused),
        (refused("AccessDenied", 403), StoreRefused),
        (ParamValidationError(report="Key"), StoreRefused),
    ],
)
def test_errors_of_the_bucket_become_ours(error: Exception, ours: type[EverturnError]) -> None:
    client: Any = Raising(error)
    blobs = S3Blobs(client, BUCKET, pace=FakeTime().pace())

    with pytest.raises(ours):
        blobs.put("k", b"x")
    with pytest.raises(ours):
        blobs.get(place_of("k", b"x"))


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (refused("RequestThrottled", 403), QueueUnavailable),
        (refused("ThrottlingException"), QueueUnavailable),
        (refused("InternalError", 500), QueueUnavailable),
        (refused("ServiceUnavailable", 503), QueueUnavailable),
        *((error, QueueUnavailable) for error in SILENT),
        (refused("StateMachineDoesNotExist"), DefectError),
        (refused("AWS.SimpleQueueService.NonExistentQueue"), DefectError),
    ],
)
def test_errors_of_queue_and_step_machine_become_ours(
    error: Exception, ours: type[EverturnError]
) -> None:
    client: Any = Raising(error)
    wake = SqsWake(client, "url", client, "arn", FakeTime().pace())

    with pytest.raises(ours):
        wake.now(KEY, CREATED, "llm", 7, "7")
    with pytest.raises(ours):
        wake.at(KEY, CREATED, "timer", 7, NOON_MS, "c")


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (refused("ReceiptHandleIsInvalid"), True),
        (refused("InvalidParameterValue"), True),
        (refused("AccessDenied", 403), True),
        (refused("RequestThrottled", 403), False),
        (refused("ThrottlingException"), False),
        (refused("TooManyRequests", 429), False),
        (refused("InternalError", 500), False),
        *((error, False) for error in SILENT),
    ],
)
def test_a_busy_queue_does_not_cost_the_lease(error: Exception, lost: bool) -> None:
    with pytest.raises(OSError, match="the queue") as caught, visibility_errors():
        raise error

    assert isinstance(caught.value, PermissionError) is lost


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (refused("LimitExceededException", 429), Throttled()),
        (refused("TooManyRequestsException", 429), Throttled()),
        (refused("", 429), Throttled()),
        (refused("GoneException", 410), Gone()),
        (refused("PayloadTooLargeException", 413), TooLarge()),
        (refused("InternalServerError", 500), Failed("InternalServerError")),
        (refused("", 503), Failed("503")),
        *((error, Failed(type(error).__name__)) for error in SILENT),
    ],
)
def test_a_connection_that_cannot_be_reached_is_an_outcome(
    error: Exception, outcome: PushOutcome
) -> None:
    client: Any = Raising(error)
    push = WebSocketPush(client)

    found = push.post("c", b"{}")
    push.disconnect("c")

    assert found == outcome
