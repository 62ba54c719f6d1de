"""Clients of AWS, each made when first used; what they are used for stands elsewhere.

Imports stand inside the functions: a Lambda pays at its cold start for what it uses, and no more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

import boto3
from botocore.config import Config

from everturn.clock import SystemClock

if TYPE_CHECKING:
    import ssl

    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

AWS: Final = Config(
    connect_timeout=1,
    read_timeout=3,
    retries={"mode": "standard", "total_max_attempts": 2},
    max_pool_connections=25,
)


SIGNING: Final = AWS.merge(
    Config(
        signature_version="s3v4",  # binds the headers, the length among them
        s3={"addressing_style": "virtual"},
        request_checksum_calculation="when_required",  # the caller's own, or none
    )
)


PUSH: Final = Config(
    connect_timeout=2,
    read_timeout=3,
    retries={"total_max_attempts": 1},
    max_pool_connections=50,
)


INVOKE: Final = Config(
    connect_timeout=5,
    read_timeout=299,  # below the longest delivery
    retries={"total_max_attempts": 1},  # an invocation is repeated by the engine's rules only
    tcp_keepalive=True,
    max_pool_connections=50,
)


MODELS: Final = Config(
    connect_timeout=5,
    read_timeout=300,  # as long as a provider may say nothing
    retries={"total_max_attempts": 1},  # an attempt is repeated by the engine's rules only
    tcp_keepalive=True,
    max_pool_connections=50,
)


SECRETS: Final = AWS.merge(Config(retries={"mode": "standard", "total_max_attempts": 4}))
"""Of what is asked for every five minutes: botocore waits for it, with jitter, some seconds."""


CLOCK: Final = SystemClock()


class _Late:
    """A client that is made when it is first used: most invocations need neither of these."""

    def __init__(self, service: str, config: Config, endpoint_url: str | None) -> None:
        self._service = service
        self._more: dict[str, Any] = {"config": config, "endpoint_url": endpoint_url}

    def __getattr__(self, name: str) -> Any:
        client = boto3.client(self._service, **self._more)  # type: ignore[call-overload]  # by name
        self.__dict__.update({name: getattr(client, name)})
        return self.__dict__[name]


def late(
    service: Literal["lambda", "s3", "secretsmanager", "ssm", "stepfunctions"],
    config: Config = AWS,
    endpoint_url: str | None = None,
) -> Any:
    """Return a client of `service` that costs nothing until it is used."""
    return _Late(service, config, endpoint_url)


@lru_cache(maxsize=1)
def tls() -> ssl.SSLContext:
    """Return what workers and providers are trusted by; to read the certificates takes a while."""
    import httpcore

    return httpcore.default_ssl_context()


@lru_cache(maxsize=20)
def bedrock_client(region: str) -> Any:
    """Return the client of Bedrock's models in a region, `""` for the function's own."""
    session = boto3.Session()  # its own: calls begin on threads, and sharing one is not safe there
    return session.client("bedrock-runtime", region_name=region or None, config=MODELS)


@lru_cache(maxsize=1)
def table_client() -> DynamoDBClient:
    """Return the table's client."""
    return boto3.client("dynamodb", config=AWS)


@lru_cache(maxsize=1)
def queue() -> SQSClient:
    """Return the queue's client."""
    return boto3.client("sqs", config=AWS)
