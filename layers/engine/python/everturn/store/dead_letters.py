"""The dead-letter queue of an operator: receive, send back, delete, let go, a request each.

It must not read what a letter says. FIFO queues are moved by hand: the new message needs a
deduplication id of its own, because the queue remembers the old one for five minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from everturn.protocol.wake import DeadLetter
from everturn.store.wake import wake_errors

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH: Final = 10
"""Source: SQS, ReceiveMessage."""

HELD_S: Final = 60
"""How long a letter is invisible to others while it is looked at."""


class SqsDeadLetters:
    """Moves messages between two FIFO queues."""

    def __init__(self, sqs: SQSClient, dead_url: str, queue_url: str) -> None:
        self._sqs = sqs
        self._dead_url = dead_url
        self._queue_url = queue_url

    def receive(self) -> list[DeadLetter]:
        """Return up to ten letters: one ReceiveMessage. Raises `QueueUnavailable`."""
        with wake_errors():
            answer = self._sqs.receive_message(
                QueueUrl=self._dead_url,
                MaxNumberOfMessages=BATCH,
                VisibilityTimeout=HELD_S,
                WaitTimeSeconds=1,
                AttributeNames=["MessageGroupId"],
            )
        return [
            DeadLetter(
                message_id=one["MessageId"],
                group=one["Attributes"]["MessageGroupId"],
                body=one["Body"],
                receipt=one["ReceiptHandle"],
            )
            for one in answer.get("Messages", [])
        ]

    def give_back(self, letter: DeadLetter) -> None:
        """Send, then delete: one SendMessage, one DeleteMessage. Raises `QueueUnavailable`.

        A deletion that fails leaves the letter; sent again within five minutes it is no second
        message.
        """
        with wake_errors():
            self._sqs.send_message(
                QueueUrl=self._queue_url,
                MessageBody=letter.body,
                MessageGroupId=letter.group,
                MessageDeduplicationId=f"redrive.{letter.message_id}",
            )
            self._sqs.delete_message(QueueUrl=self._dead_url, ReceiptHandle=letter.receipt)

    def let_go(self, letter: DeadLetter) -> None:
        """Make a letter visible at once: one ChangeMessageVisibility."""
        with wake_errors():
            self._sqs.change_message_visibility(
                QueueUrl=self._dead_url, ReceiptHandle=letter.receipt, VisibilityTimeout=0
            )
