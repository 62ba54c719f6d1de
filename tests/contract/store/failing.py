"""A DynamoDB client that goes wrong when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from contract.store.conftest import Aws
from everturn.store.dynamo import DynamoSessionStore

Trouble = Callable[[Callable[[], Any]], Any]
"""Gets the real request and does with it what it likes."""


@dataclass(slots=True)
class Failing:
    """Passes requests on; those of a method in `troubles` go through its troubles, in order."""

    client: Any
    troubles: dict[str, list[Trouble]] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    page_items: int | None = None
    """Queries answer at most so many items."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)

        def call(**request: Any) -> Any:
            self.requests.append((name, request))
            if name == "query" and self.page_items:
                request["Limit"] = min(self.page_items, request.get("Limit", self.page_items))
            waiting = self.troubles.get(name, [])
            if waiting:
                return waiting.pop(0)(lambda: method(**request))
            return method(**request)

        return call


def loses_the_answer(request: Callable[[], Any]) -> Any:
    """Let the request through and time out all the same."""
    request()
    raise ReadTimeoutError(endpoint_url="https://dynamodb")


def never_arrives(request: Callable[[], Any]) -> Any:
    """Time out without the request."""
    del request
    raise ReadTimeoutError(endpoint_url="https://dynamodb")


def refuses(code: str, *reasons: str, status: int = 400) -> Trouble:
    """Return a trouble that answers with an error code, of a transaction with its reasons."""

    def trouble(request: Callable[[], Any]) -> Any:
        del request
        response: Any = {
            "Error": {"Code": code, "Message": ""},
            "ResponseMetadata": {"HTTPStatusCode": status},
            "CancellationReasons": [{"Code": reason} for reason in reasons],
        }
        raise ClientError(response, "Any")

    return trouble


def first(action: Callable[[], Any]) -> Trouble:
    """Return a trouble that lets somebody else act just before the request."""

    def trouble(request: Callable[[], Any]) -> Any:
        action()
        return request()

    return trouble


def then_loses_the_answer(action: Callable[[], Any]) -> Trouble:
    """Return a trouble in which the request passes, somebody else acts, and the answer is lost."""

    def trouble(request: Callable[[], Any]) -> Any:
        request()
        action()
        raise ReadTimeoutError(endpoint_url="https://dynamodb")

    return trouble


def failing(aws: Aws, **troubles: list[Any]) -> tuple[DynamoSessionStore, Failing]:
    """Return a store and its client; the troubles are by method."""
    client = Failing(aws.dynamodb.client, troubles)
    return aws.store(client), client
