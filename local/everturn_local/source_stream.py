"""Plays Lambda's event source mapping of a DynamoDB stream: one shard, in order, until it works."""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from everturn_local.bell import Bell
from everturn_local.deliveries import Deliveries
from everturn_local.faults import Delivery
from everturn_local.filters import passes
from everturn_local.invocations import Returned
from everturn_local.source_queue import failed_ids
from everturn_local.topology import StreamSource

logger = logging.getLogger(__name__)

LOOK_AGAIN_S = 1.0
"""How long a reader sleeps when nobody rings; also how long a stop may take."""
FIRST_RETRY_S = 0.1
LAST_RETRY_S = 5.0

Record = dict[str, Any]


class StreamReader:
    """Feeds one function from one table's stream."""

    def __init__(
        self,
        source: StreamSource,
        stream_arn: str,
        bell: Bell,
        deliveries: Deliveries,
        given_up_url: str | None = None,
    ) -> None:
        self._source = source
        self._given_up_url = given_up_url
        self._stream_arn = stream_arn
        self._functions = deliveries.functions
        self._clients = deliveries.clients
        self._faults = deliveries.faults
        self._meter = deliveries.meter
        self._bell = bell
        self._region = deliveries.region
        self._stopped = threading.Event()
        self._iterator = self._first_iterator()
        self._thread = threading.Thread(
            target=self._read, name=f"stream-{source.table}", daemon=True
        )

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reading; a batch in hand is not retried any more."""
        self._stopped.set()
        self._bell.ring()

    def join(self, timeout_s: float) -> None:
        """Wait for the reading thread to end."""
        self._thread.join(timeout_s)

    def _first_iterator(self) -> str:
        streams = self._clients.dynamodbstreams
        described = streams.describe_stream(StreamArn=self._stream_arn)["StreamDescription"]
        self._shard = described["Shards"][0]["ShardId"]
        answer = streams.get_shard_iterator(
            StreamArn=self._stream_arn,
            ShardId=self._shard,
            ShardIteratorType="LATEST" if self._source.position == "LATEST" else "TRIM_HORIZON",
        )
        return answer["ShardIterator"]

    def _read(self) -> None:
        seen = -1
        while not self._stopped.is_set():
            try:
                rung = self._bell.count
                answer = self._clients.dynamodbstreams.get_records(
                    ShardIterator=self._iterator, Limit=self._source.batch_size
                )
                self._iterator = answer["NextShardIterator"]
                records = [self._record(each) for each in answer["Records"]]
                if records:
                    self._deliver([each for each in records if passes(self._source.patterns, each)])
                else:
                    seen = self._bell.wait_beyond(max(seen, rung), timeout_s=LOOK_AGAIN_S)
            except ClientError:
                if not self._stopped.is_set():
                    logger.exception("reading the stream of %s failed", self._source.table)
                    self._stopped.wait(LOOK_AGAIN_S)

    def _deliver(self, records: Sequence[Record]) -> None:
        """Hand over one batch, again and again until each record succeeded or is given up."""
        fates = [(record, self._faults.stream(record)) for record in records]
        batch = [record for record, fate in fates if fate is not Delivery.DROP]
        repeats = any(fate is Delivery.DUPLICATE for _, fate in fates)
        lost = {_number(record) for record, fate in fates if fate is Delivery.LOSE_ANSWER}
        pending, attempt = [batch], 0
        while pending and not self._stopped.is_set():
            batch = pending.pop(0)
            if not batch:
                continue
            left = self._invoke(batch, lost)
            if repeats:
                left, repeats = self._invoke(batch, lost), False
            lost = set()
            if not left:
                attempt = 0
                continue
            attempt += 1
            if self._source.max_retries is not None and attempt > self._source.max_retries:
                logger.error("%s gave up %d stream records", self._source.function, len(left))
                self._tell(left, attempt)
                attempt = 0
                continue
            pending = [*self._halves(left), *pending]
            self._stopped.wait(min(FIRST_RETRY_S * 2 ** (attempt - 1), LAST_RETRY_S))

    def _tell(self, records: Sequence[Record], attempts: int) -> None:
        """Send what AWS sends to the queue for failures: which records, not what is in them.

        Source: AWS Lambda Developer Guide, "Retain discarded records", example for a queue.
        """
        if self._given_up_url is None:
            return
        first, last = records[0]["dynamodb"], records[-1]["dynamodb"]
        arrived = [_iso(each["ApproximateCreationDateTime"]) for each in (first, last)]
        body = {
            "requestContext": {
                "functionArn": self._source.function,
                "condition": "RetryAttemptsExhausted",
                "approximateInvokeCount": attempts,
            },
            "version": "1.0",
            "timestamp": _iso(time.time()),
            "DDBStreamBatchInfo": {
                "shardId": self._shard,
                "startSequenceNumber": first["SequenceNumber"],
                "endSequenceNumber": last["SequenceNumber"],
                "approximateArrivalOfFirstRecord": arrived[0],
                "approximateArrivalOfLastRecord": arrived[1],
                "batchSize": len(records),
                "streamArn": self._stream_arn,
            },
        }
        self._clients.sqs.send_message(QueueUrl=self._given_up_url, MessageBody=json.dumps(body))

    def _halves(self, records: list[Record]) -> list[list[Record]]:
        if not self._source.bisects or len(records) == 1:
            return [records]
        middle = len(records) // 2
        return [records[:middle], records[middle:]]

    def _invoke(self, batch: list[Record], lost: set[str]) -> list[Record]:
        """Invoke the function once; returns the records that have to be delivered again."""
        self._meter.count("source", "dynamodbstreams.GetRecords")
        outcome = self._functions.invoke(self._source.function, {"Records": batch})
        failed = failed_ids(outcome, self._source.reports_failures)
        if failed is None or not isinstance(outcome, Returned):
            return batch
        numbers = [_number(record) for record in batch]
        positions = [at for at, number in enumerate(numbers) if number in failed | lost]
        return batch[positions[0] :] if positions else []

    def _record(self, record: Mapping[str, Any]) -> Record:
        """One record as Lambda hands it over: binary in base64, time in epoch seconds.

        Source: AWS Lambda Developer Guide, "Using AWS Lambda with Amazon DynamoDB", example event.
        """
        change = dict(record["dynamodb"])
        created: datetime = change["ApproximateCreationDateTime"]
        change["ApproximateCreationDateTime"] = created.timestamp()
        whole = {
            **record,
            "dynamodb": change,
            "awsRegion": self._region,
            "eventSourceARN": self._stream_arn,
        }
        plain: Record = json.loads(json.dumps(whole, default=_base64))
        return plain


def _base64(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a stream record holds a {type(value).__name__}")


def _iso(epoch_s: float) -> str:
    text = datetime.fromtimestamp(epoch_s, tz=UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _number(record: Mapping[str, Any]) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
