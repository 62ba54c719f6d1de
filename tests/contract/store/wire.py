"""botocore's own clients, whose HTTP requests are answered here: throttled, then as told."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from contract.store.conftest import REGION

ONCE = Config(retries={"total_max_attempts": 1})
"""botocore repeats nothing by itself: whatever is repeated, we do."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes over the wire."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def plain_json(status: int = 200, **body: Any) -> Answer:
    """Return an answer of a service that speaks JSON."""
    return Answer(status, json.dumps(body).encode(), {"content-type": "application/x-amz-json-1.0"})


def error(status: int, name: str, *, header: tuple[str, str] | None = None) -> Answer:
    """Return a refusal of a service that speaks JSON; some name it in a header as well."""
    body = json.dumps({"__type": name, "message": "Rate exceeded"}).encode()
    return Answer(status, body, dict([header] if header else []))


def xml_error(status: int, name: str) -> Answer:
    """Return a refusal of S3."""
    return Answer(
        status,
        f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{name}</Code></Error>".encode(),
        {"content-type": "application/xml"},
    )


class _Raw(io.BytesIO):
    """A body as urllib3 hands it over."""

    def stream(self, *_args: object, **_more: object) -> Iterator[bytes]:
        yield self.read()


class Wire:
    """Answers the requests of one client: `first` in order, then `then` for ever."""

    def __init__(self, then: Answer, *first: Answer) -> None:
        self._then = then
        self._first = list(first)
        self.requests: list[Any] = []

    def client(self, service: str, **more: Any) -> Any:
        """Return a client whose requests end here."""
        client = boto3.client(  # type: ignore[call-overload]  # by name
            service,
            region_name=REGION,
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=ONCE,
            **more,
        )
        client.meta.events.register_first("before-send", self._answer)
        return client

    def _answer(self, request: Any, **_more: Any) -> AWSResponse:
        self.requests.append(request)
        answer = self._first.pop(0) if self._first else self._then
        headers: Any = {"content-length": str(len(answer.body)), **answer.headers}
        return AWSResponse(request.url, answer.status, headers, _Raw(answer.body))
