"""A meter that also keeps every request in its order; the arithmetic is not its own."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.sorting import category
from everturn_local.meter import Meter, SentRequest
from everturn_local.usage import Line, sort_keys


@dataclass(frozen=True, slots=True)
class Entry:
    """One request."""

    at_s: float
    who: str
    """The function that asked, `source` for an event source."""

    category: str
    operation: str
    what: str
    """Sort keys or the range that it named."""

    line: Line


class Tape(Meter):
    """Counts as the meter does, with the bytes of DynamoDB's JSON beside. Thread-safe."""

    def __init__(self, region: str) -> None:
        super().__init__(region, category)
        self._entries: list[Entry] = []
        self._asked = threading.local()
        self._taping = threading.Lock()

    @property
    def silent_s(self) -> float:
        """Seconds since the last request."""
        with self._taping:
            return time.monotonic() - self._entries[-1].at_s if self._entries else 0.0

    def mark(self) -> int:
        """Return a place on the tape, for `since`."""
        with self._taping:
            return len(self._entries)

    def since(self, mark: int) -> tuple[Entry, ...]:
        """Return the requests after a place, in the order of their answers."""
        with self._taping:
            return tuple(self._entries[mark:])

    def record(
        self,
        service: str,
        operation: str,
        request: SentRequest,
        answer: Mapping[str, Any],
    ) -> None:
        """Count one request of a handler."""
        self._asked.now = (service, request.parameters, answer)
        try:
            super().record(service, operation, request, answer)
        finally:
            self._asked.now = None

    def count(self, category: str, operation: str, line: Line | None = None) -> None:
        """Add `line`, by default one request."""
        whole, what, who = line or Line(requests=1), "", "source"
        asked = getattr(self._asked, "now", None)
        if asked is not None:
            service, parameters, answer = asked
            thread = threading.current_thread().name
            what, who = named(parameters), thread.rpartition("-")[0] or thread
            if service == "dynamodb":
                whole = whole.plus(
                    Line(bytes_in=json_bytes(parameters), bytes_out=json_bytes(answer))
                )
        super().count(category, operation, whole)
        if category != "function":
            entry = Entry(time.monotonic(), who, category, operation, what, whole)
            with self._taping:
                self._entries.append(entry)


def json_bytes(body: Mapping[str, Any]) -> int:
    """Return about how many bytes a request or an answer takes on the wire, without its headers."""
    plain = {name: value for name, value in body.items() if name != "ResponseMetadata"}
    return len(json.dumps(plain, default=_base64, separators=(",", ":")))


def named(parameters: Mapping[str, Any]) -> str:
    """Return what a request is about, short enough for a line."""
    keys = sort_keys(parameters)
    for batch in (parameters.get("RequestItems") or {}).values():
        if isinstance(batch, dict):
            keys += [key["sk"]["S"] for key in batch["Keys"]]
    values = parameters.get("ExpressionAttributeValues") or {}
    if ":low" in values and ":high" in values:
        keys.append(f"{values[':low']['S']} .. {values[':high']['S']}")
    return " ".join(keys)


def _base64(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    return str(value)
