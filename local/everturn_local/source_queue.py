"""Plays Lambda's event source mapping of an SQS queue: receive, invoke, delete what succeeded."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from everturn_local.deliveries import Deliveries
from everturn_local.faults import Delivery
from everturn_local.invocations import Outcome, Returned
from everturn_local.template import ACCOUNT
from everturn_local.topology import QueueSource

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

logger = logging.getLogger(__name__)

DEFAULT_CONCURRENCY = 8
LONG_POLL_S = 1
"""Also how long a stop may take; an empty long poll costs about a millisecond of CPU."""


class QueuePoller:
    """Feeds one function from one queue, several batches at a time."""

    def __init__(
        self,
        source: QueueSource,
        queue_url: str,
        deliveries: Deliveries,
    ) -> None:
        reserved = deliveries.functions.spec(source.function).reserved_concurrency
        limits = [each for each in (reserved, source.max_concurrency) if each is not None]
        self._source = source
        self._queue_url = queue_url
        self._functions = deliveries.functions
        self._clients = deliveries.clients
        self._faults = deliveries.faults
        self._meter = deliveries.meter
        self._region = deliveries.region
        self._slots = threading.Semaphore(min([*limits, DEFAULT_CONCURRENCY]))
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._poll, name=f"queue-{source.queue}", daemon=True
        )

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """Stop receiving; batches in hand go on."""
        self._stopped.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the polling thread to end."""
        self._thread.join(timeout_s)

    def _poll(self) -> None:
        while not self._stopped.is_set():
            if not self._slots.acquire(timeout=LONG_POLL_S):
                continue
            messages: Sequence[MessageTypeDef] = ()
            try:
                messages = self._receive()
            except Exception:
                if not self._stopped.is_set():
                    logger.exception("receiving from %s failed", self._source.queue)
                    self._stopped.wait(LONG_POLL_S)
            if not messages:
                self._slots.release()
                continue
            threading.Thread(
                target=self._deliver_batch,
                args=(messages,),
                name=f"batch-{self._source.queue}",
                daemon=True,
            ).start()

    def _receive(self) -> Sequence[MessageTypeDef]:
        answer = self._clients.sqs.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=min(self._source.batch_size, 10),
            WaitTimeSeconds=LONG_POLL_S,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return answer.get("Messages", ())

    def _deliver_batch(self, messages: Sequence[MessageTypeDef]) -> None:
        try:
            self._deliver([self._record(message) for message in messages])
        except Exception:
            if not self._stopped.is_set():
                logger.exception("delivering from %s failed", self._source.queue)
        finally:
            self._slots.release()

    def _deliver(self, records: list[dict[str, Any]]) -> None:
        for _ in records:
            self._meter.count("source", "sqs.ReceiveMessage")
        fates = [(record, self._faults.queue(record)) for record in records]
        for record, fate in fates:
            if fate is Delivery.DROP:
                self._delete(record)
        batch = [record for record, fate in fates if fate is not Delivery.DROP]
        if not batch:
            return
        outcome = self._functions.invoke(self._source.function, {"Records": batch})
        if any(fate is Delivery.DUPLICATE for _, fate in fates):
            outcome = self._functions.invoke(self._source.function, {"Records": batch})
        if self._stopped.is_set():
            return
        failed = failed_ids(outcome, self._source.reports_failures)
        for record, fate in fates:
            lost = fate in {Delivery.DROP, Delivery.LOSE_ANSWER}
            if not lost and failed is not None and record["messageId"] not in failed:
                self._delete(record)

    def _delete(self, record: Mapping[str, Any]) -> None:
        self._meter.count("source", "sqs.DeleteMessage")
        self._clients.sqs.delete_message(
            QueueUrl=self._queue_url, ReceiptHandle=record["receiptHandle"]
        )

    def _record(self, message: MessageTypeDef) -> dict[str, Any]:
        """One record as Lambda hands it over.

        Source: AWS Lambda Developer Guide, "Using Lambda with Amazon SQS", example FIFO event.
        """
        queue_name = self._queue_url.rsplit("/", 1)[-1]
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": dict(message.get("Attributes", {})),
            "messageAttributes": {
                name: _message_attribute(value)
                for name, value in message.get("MessageAttributes", {}).items()
            },
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": f"arn:aws:sqs:{self._region}:{ACCOUNT}:{queue_name}",
            "awsRegion": self._region,
        }


def _message_attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {
        "StringValue": "stringValue",
        "BinaryValue": "binaryValue",
        "DataType": "dataType",
    }
    return {renamed[key]: each for key, each in value.items() if key in renamed}


def failed_ids(outcome: Outcome, reports_failures: bool) -> frozenset[str] | None:
    """Ids that the function reported as failed; None when the whole batch failed.

    A malformed report fails the whole batch, an empty one nothing.
    Source: AWS Lambda Developer Guide, "Implementing partial batch responses".
    """
    if not isinstance(outcome, Returned):
        return None
    if not reports_failures or not outcome.payload:
        return frozenset()
    try:
        failures = outcome.payload.get("batchItemFailures") or []
        ids = frozenset(str(failure["itemIdentifier"]) for failure in failures)
    except (AttributeError, KeyError, TypeError):
        logger.exception("a batch answer is malformed: %r", outcome.payload)
        return None
    return None if "" in ids or "None" in ids else ids
