"""What was used: requests, units, bytes and milliseconds by category and operation. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """Sums of one category and operation."""

    requests: int = 0
    write_units: float = 0.0
    read_units: float = 0.0
    bytes_in: int = 0
    """Sent to the service: S3 bodies, queue bodies, frames."""
    bytes_out: int = 0
    """Received from it."""
    duration_ms: float = 0.0
    """Billed time, of functions only."""

    def plus(self, other: Line) -> Line:
        """The sums of both."""
        return self._combined(other, 1)

    def minus(self, other: Line) -> Line:
        """What this has more than `other`."""
        return self._combined(other, -1)

    def _combined(self, other: Line, sign: int) -> Line:
        names = [field.name for field in fields(self)]
        return Line(**{name: getattr(self, name) + sign * getattr(other, name) for name in names})


@dataclass(frozen=True, slots=True)
class Usage:
    """A snapshot of the meter."""

    lines: Mapping[tuple[str, str], Line]
    """By (category, operation), for example ("main", "dynamodb.TransactWriteItems")."""

    def minus(self, other: Usage) -> Usage:
        """What was used since the snapshot `other`; operations without use are left out."""
        zero = Line()
        left = {key: line.minus(other.lines.get(key, zero)) for key, line in self.lines.items()}
        return Usage({key: line for key, line in left.items() if line != zero})

    def total(self, *, category: str | None = None, operation: str | None = None) -> Line:
        """Sum over a category, an operation (or a service: `dynamodb.`), both or everything."""
        total = Line()
        for (line_category, line_operation), line in self.lines.items():
            if category not in {None, line_category}:
                continue
            if (
                operation is None
                or line_operation == operation
                or (operation.endswith(".") and line_operation.startswith(operation))
            ):
                total = total.plus(line)
        return total


Classifier = Callable[[str, Mapping[str, Any], str], str]
"""(operation, request parameters, thread name) to category."""

_READS = frozenset({"dynamodb.GetItem", "dynamodb.BatchGetItem", "dynamodb.Query"})
_LOOKERS = ("watch", "reader-")
"""How the names of threads begin that only look: the driver's watch, the long-polls."""


def default_category(operation: str, parameters: Mapping[str, Any], thread_name: str) -> str:
    """`push` for frames, `watch` for looks for news and readers, `delta`, else `main`.

    A look is a read on a thread of `reader` or one named watch, or of nothing but `WATCH`.
    """
    if operation.startswith("apigatewaymanagementapi."):
        return "push"
    keys = sort_keys(parameters)
    if operation in _READS and (thread_name.startswith(_LOOKERS) or keys == ["WATCH"]):
        return "watch"
    if any(sort_key.startswith("DELTA#") for sort_key in keys):
        return "delta"
    return "main"


def sort_keys(parameters: Mapping[str, Any]) -> list[str]:
    """Sort keys of the items that a DynamoDB request names."""
    bodies: list[Mapping[str, Any]] = [parameters]
    for action in parameters.get("TransactItems") or ():
        bodies += list(action.values())
    for requests in (parameters.get("RequestItems") or {}).values():
        if isinstance(requests, list):
            bodies += [body for request in requests for body in request.values()]
    keys = [body.get("Key") or body.get("Item") or {} for body in bodies]
    values = [key["sk"] for key in keys if isinstance(key, dict) and "sk" in key]
    return [str(value.get("S", "") if isinstance(value, dict) else value) for value in values]
