"""Dead letters between two FIFO queues: moved, kept, and not lost when a request fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from contract.store.conftest import REGION, Aws
from everturn.errors import DefectError, EverturnError, QueueUnavailable
from everturn.store.dead_letters import SqsDeadLetters


@dataclass(frozen=True, slots=True)
class Queues:
    """A queue, its dead-letter queue, and a client for both."""

    sqs: Any
    dead: str
    live: str

    def put(self, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(
                QueueUrl=self.dead,
                MessageBody=body,
                MessageGroupId=f"group of {body}",
                MessageDeduplicationId=body,
            )

    def broken(self, name: str, error: Exception | None = None) -> SqsDeadLetters:
        """Return the letters on a client one of whose methods fails."""
        client: Any = _Failing(self.sqs, name, error)
        return SqsDeadLetters(client, self.dead, self.live)

    def read(self, url: str) -> list[tuple[str, str]]:
        got = self.sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], VisibilityTimeout=0
        )
        found = got.get("Messages", [])
        return sorted((one["Body"], one["Attributes"]["MessageGroupId"]) for one in found)


@pytest.fixture
def queues(aws: Aws) -> Queues:
    sqs = boto3.client("sqs", region_name=REGION)
    urls = [
        sqs.create_queue(QueueName=f"{aws.table}-{name}.fifo", Attributes={"FifoQueue": "true"})
        for name in ("dead", "live")
    ]
    return Queues(sqs, urls[0]["QueueUrl"], urls[1]["QueueUrl"])


def test_letters_move_with_their_group_and_leave_nothing_behind(queues: Queues) -> None:
    queues.put("a", "b")
    letters = SqsDeadLetters(queues.sqs, queues.dead, queues.live)

    for letter in letters.receive():
        letters.give_back(letter)

    assert queues.read(queues.live) == [("a", "group of a"), ("b", "group of b")]
    assert queues.read(queues.dead) == []


def test_a_letter_that_is_let_go_can_be_received_at_once(queues: Queues) -> None:
    queues.put("a")
    letters = SqsDeadLetters(queues.sqs, queues.dead, queues.live)

    [first] = letters.receive()
    held = letters.receive()
    letters.let_go(first)

    assert held == []
    assert [one.message_id for one in letters.receive()] == [first.message_id]


def test_a_letter_whose_deletion_failed_is_moved_once(queues: Queues) -> None:
    queues.put("a")
    broken = queues.broken("delete_message")
    letters = SqsDeadLetters(queues.sqs, queues.dead, queues.live)
    [letter] = letters.receive()

    with pytest.raises(QueueUnavailable):
        broken.give_back(letter)
    letters.give_back(letter)

    assert queues.read(queues.live) == [("a", "group of a")]
    assert queues.read(queues.dead) == []


class _Failing:
    """A client one of whose methods is throttled."""

    def __init__(self, client: Any, name: str, error: Exception | None = None) -> None:
        self._client = client
        self._name = name
        self._error = error or refused("ThrottlingException")

    def __getattr__(self, name: str) -> Any:
        if name != self._name:
            return getattr(self._client, name)

        def fail(**_request: Any) -> None:
            raise self._error

        return fail


def refused(code: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Any")


FAMILIES: list[tuple[Exception, type[EverturnError]]] = [
    (refused("RequestThrottled"), QueueUnavailable),
    (refused("InternalError", 500), QueueUnavailable),
    (refused("ServiceUnavailable", 503), QueueUnavailable),
    (ReadTimeoutError(endpoint_url="https://sqs"), QueueUnavailable),
    (EndpointConnectionError(endpoint_url="https://sqs"), QueueUnavailable),
    (refused("AccessDenied", 403), DefectError),
    (refused("AWS.SimpleQueueService.NonExistentQueue"), DefectError),
]


@pytest.mark.parametrize("name", ["receive_message", "send_message", "change_message_visibility"])
@pytest.mark.parametrize(("error", "ours"), FAMILIES, ids=lambda one: str(one)[-40:])
def test_an_error_of_the_queue_is_ours_and_the_letter_stays(
    queues: Queues, name: str, error: Exception, ours: type[EverturnError]
) -> None:
    queues.put("a")
    letters = SqsDeadLetters(queues.sqs, queues.dead, queues.live)
    broken = queues.broken(name, error)
    calls: dict[str, Any] = {
        "receive_message": lambda _letter: broken.receive(),
        "send_message": broken.give_back,
        "change_message_visibility": broken.let_go,
    }
    [letter] = letters.receive()

    with pytest.raises(ours):
        calls[name](letter)

    letters.let_go(letter)
    assert queues.read(queues.dead) == [("a", "group of a")]
    assert queues.read(queues.live) == []
