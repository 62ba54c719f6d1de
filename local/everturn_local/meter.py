"""Counts what handlers ask of AWS, by botocore's events. Arithmetic is in `capacity`.

Only handlers in this process are seen; a function in process mode is not metered.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.handlers import BUILTIN_HANDLERS
from botocore.utils import determine_content_length

from everturn_local.capacity import item_size_bytes, read_units, write_units
from everturn_local.clients import UNMETERED_AGENT
from everturn_local.patches.dynamodb_observed import ItemWrite, existing_bytes, take_observed
from everturn_local.template import ACCOUNT
from everturn_local.usage import Classifier, Line, Usage, default_category

_REQUEST = "everturn_meter_request"
_BODIES = ("Body", "Data", "MessageBody", "input", "Payload")
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_REFUSED = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as the handler made it."""

    parameters: Mapping[str, Any]
    bytes_in: int


class Meter:
    """Sums usage from `start` to `stop`. Thread-safe."""

    def __init__(self, region: str, classify: Classifier = default_category) -> None:
        self._region = region
        self._classify = classify
        self._lines: dict[tuple[str, str], Line] = {}
        self._guard = threading.Lock()

    def start(self) -> None:
        """Begin to count the requests of clients that are made from now on."""
        _ACTIVE.append(self)

    def stop(self) -> None:
        """Count no more."""
        _ACTIVE.remove(self)

    def snapshot(self) -> Usage:
        """Everything counted so far."""
        with self._guard:
            return Usage(dict(self._lines))

    def count(self, category: str, operation: str, line: Line | None = None) -> None:
        """Add `line`, by default one request."""
        key = (category, operation)
        with self._guard:
            before = self._lines.get(key, Line())
            self._lines[key] = before.plus(line or Line(requests=1))

    def record(
        self,
        service: str,
        operation: str,
        request: SentRequest,
        answer: Mapping[str, Any],
    ) -> None:
        """Count one request of a handler, on the thread that made it."""
        parameters = request.parameters
        writes, page_bytes = take_observed()
        if operation == "ReceiveMessage" and not answer.get("Messages"):
            return
        match service:
            case "dynamodb" if operation in _WRITES:
                line = self._written(operation, parameters, answer, writes)
            case "dynamodb":
                line = self._read(operation, parameters, answer, page_bytes)
            case _:
                received = answer.get("ContentLength") if operation == "GetObject" else 0
                line = Line(requests=1, bytes_in=request.bytes_in, bytes_out=int(received or 0))
        name = f"{service}.{operation}"
        thread_name = threading.current_thread().name
        self.count(self._classify(name, parameters, thread_name), name, line)

    def _written(
        self,
        operation: str,
        parameters: Mapping[str, Any],
        answer: Mapping[str, Any],
        writes: list[ItemWrite],
    ) -> Line:
        transactional = operation == "TransactWriteItems"
        if (answer.get("Error") or {}).get("Code") in _REFUSED:
            sizes = [self._existing(body) for body in _bodies(parameters)]
            units = sum(write_units(size, None, transactional=transactional) for size in sizes)
            return Line(requests=1, write_units=units)
        checks = [
            self._existing(action["ConditionCheck"])
            for action in parameters.get("TransactItems") or ()
            if "ConditionCheck" in action
        ]
        units = sum(write_units(size, None, transactional=True) for size in checks) + sum(
            write_units(each.old_bytes, each.new_bytes, transactional=transactional)
            + each.index_units
            for each in writes
        )
        return Line(requests=1, write_units=units)

    def _read(
        self,
        operation: str,
        parameters: Mapping[str, Any],
        answer: Mapping[str, Any],
        page_bytes: int,
    ) -> Line:
        consistent = bool(parameters.get("ConsistentRead"))
        match operation:
            case "GetItem":
                size = self._whole(parameters, answer.get("Item"))
                units = read_units(size, consistent=consistent)
            case "Query":
                units = read_units(page_bytes, consistent=consistent)
            case "Scan":
                size = sum(item_size_bytes(item) for item in answer.get("Items") or ())
                units = read_units(size, consistent=consistent)
            case "BatchGetItem":
                units = self._batch_read(parameters)
            case "TransactGetItems":
                sizes = [self._existing(each["Get"]) or 0 for each in parameters["TransactItems"]]
                units = sum(read_units(size, consistent=True, transactional=True) for size in sizes)
            case _:
                units = 0.0
        return Line(requests=1, read_units=units)

    def _whole(self, parameters: Mapping[str, Any], item: Mapping[str, Any] | None) -> int:
        if item is None:
            return 0
        if "ProjectionExpression" in parameters:
            return self._existing(parameters) or 0
        return item_size_bytes(item)

    def _batch_read(self, parameters: Mapping[str, Any]) -> float:
        return sum(
            read_units(
                self._existing({"TableName": table, "Key": key}) or 0,
                consistent=bool(request.get("ConsistentRead")),
            )
            for table, request in parameters["RequestItems"].items()
            for key in request["Keys"]
        )

    def _existing(self, body: Mapping[str, Any]) -> int | None:
        key = body.get("Key") or body.get("Item") or {}
        return existing_bytes(body["TableName"], key, ACCOUNT, self._region)


def _bodies(parameters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    actions = parameters.get("TransactItems")
    return [body for action in actions for body in action.values()] if actions else [parameters]


def _bytes_sent(parameters: Mapping[str, Any]) -> int:
    """Bytes of the request's body, message, frame or input; files are measured, not read."""
    messages = [parameters, *(parameters.get("Entries") or ())]
    sent = [each[name] for each in messages for name in _BODIES if name in each]
    return sum(
        len(each.encode()) if isinstance(each, str) else determine_content_length(each) or 0
        for each in sent
    )


_ACTIVE: list[Meter] = []


def _is_metered(context: Mapping[str, Any]) -> bool:
    config = context.get("client_config")
    return config is None or vars(config).get("user_agent_extra") != UNMETERED_AGENT


def _before(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
    if _ACTIVE and _is_metered(context):
        context[_REQUEST] = SentRequest(dict(params), _bytes_sent(params))
        take_observed()


def _after(parsed: Mapping[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
    request = context.pop(_REQUEST, None)
    if request is None:
        return
    for meter in tuple(_ACTIVE):
        meter.record(model.service_model.service_name, model.name, request, parsed)


BUILTIN_HANDLERS.append(("before-parameter-build", _before))
BUILTIN_HANDLERS.append(("after-call", _after))
