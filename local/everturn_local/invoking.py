"""Runs one function once, in this process, on a fresh local stack that holds what samples name.

It must not print.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from everturn_local.intrinsics import TemplateError
from everturn_local.invocations import Outcome
from everturn_local.runtime import LocalRuntime
from everturn_local.samples import seed

INPUT_AGO_S: Mapping[str, int | None] = {"http_api": None, "driver": 0}
"""How old the recorded input is, an hour for all others: recovery is to find it forgotten. The
sample of `http_api` is that input."""

HOUR_S = 3600


def invoke(function: str, event: Any, template: Path, environment: Mapping[str, str]) -> Outcome:
    """Return what the handler of `function` makes of `event`. Raises `TemplateError`."""
    runtime = LocalRuntime(template, environment=environment, plays_sources=False)
    with runtime:
        names = [spec.name for spec in runtime.topology.functions]
        if function not in names:
            raise TemplateError(f"there is no function {function}; there are {', '.join(names)}")
        seed(runtime, INPUT_AGO_S.get(function, HOUR_S))
        return runtime.functions.invoke(function, _received(runtime, function, event))


def _received(runtime: LocalRuntime, function: str, event: Any) -> Any:
    """Return a queue's event with its messages really in the queue and really received.

    A driver shortens the invisibility of its message: a receipt of nobody's would be refused.
    """
    queues = [one.queue for one in runtime.topology.queues if one.function == function]
    records = event.get("Records") if isinstance(event, dict) else None
    if not queues or not records:
        return event
    url, sqs = runtime.physical[queues[0]], runtime.clients.sqs
    found = []
    for record in records:
        attributes = record.get("attributes", {})
        sqs.send_message(
            QueueUrl=url,
            MessageBody=record["body"],
            MessageGroupId=attributes.get("MessageGroupId", "sample"),
            MessageDeduplicationId=attributes.get("MessageDeduplicationId", record["messageId"]),
        )
        [message] = sqs.receive_message(QueueUrl=url)["Messages"]
        found.append({**record, "receiptHandle": message["ReceiptHandle"]})
    return {**event, "Records": found}
