"""The stores and directories that one suite runs on: the fake, and the table in moto."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import boto3
import pytest
from moto import mock_aws

from everturn.ports.directory import Directory
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.store.blobs import S3Blobs
from everturn.store.directory import DynamoDirectory
from everturn.store.dynamo import DynamoSessionStore
from everturn.store.memory import InMemorySessionStore
from everturn.store.memory_directory import InMemoryDirectory
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

BUCKET = "bodies"
REGION: Final = "eu-central-1"
_TABLES = (f"table-{n}" for n in itertools.count())


@dataclass(slots=True)
class FakeTime:
    """Time that passes only while somebody sleeps."""

    now_s: float = 0.0
    slept_s: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds

    def pace(self) -> Pace:
        return Pace(lambda: self.now_s, self.sleep, lambda low, high: (low + high) / 2)


@dataclass(slots=True)
class Counting:
    """A client that counts its requests."""

    client: Any
    requests: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)

        def counted(**request: Any) -> Any:
            self.requests.append(name)
            return method(**request)

        return counted

    def taken(self) -> list[str]:
        """Return the requests since the last time."""
        requests, self.requests = self.requests, []
        return requests


@dataclass(frozen=True, slots=True)
class Aws:
    """A fresh table and a bucket, with clients that count."""

    table: str
    dynamodb: Counting
    s3: Counting
    time: FakeTime

    def store(self, dynamodb: Any = None) -> DynamoSessionStore:
        """Return a store of its own process: nothing is cached in it."""
        blobs = S3Blobs(self._as_s3(), BUCKET, pace=self.time.pace())
        client: Any = dynamodb or self.dynamodb
        return DynamoSessionStore(self.table, client, blobs, self.time.pace())

    def directory(self) -> DynamoDirectory:
        blobs = S3Blobs(self._as_s3(), BUCKET, pace=self.time.pace())
        return DynamoDirectory(self.table, self._as_dynamodb(), blobs, self.time.pace())

    def items(self) -> list[dict[str, Any]]:
        """Return all items of the table."""
        found: list[dict[str, Any]] = self.dynamodb.client.scan(TableName=self.table)["Items"]
        return found

    def item(self, sk: str) -> dict[str, Any]:
        """Return the only item with that sort key."""
        (found,) = (item for item in self.items() if item["sk"]["S"] == sk)
        return found

    def _as_s3(self) -> S3Client:
        client: Any = self.s3
        return client  # type: ignore[no-any-return]  # counts, and is the client otherwise

    def _as_dynamodb(self) -> DynamoDBClient:
        client: Any = self.dynamodb
        return client  # type: ignore[no-any-return]  # counts, and is the client otherwise


@pytest.fixture(scope="module")
def _clients() -> Iterator[tuple[Any, Any]]:
    os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    with mock_aws():
        s3 = boto3.client("s3", region_name=REGION)
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        yield boto3.client("dynamodb", region_name=REGION), s3


@pytest.fixture
def aws(_clients: tuple[Any, Any]) -> Aws:
    dynamodb, s3 = _clients
    table = next(_TABLES)
    create_table(dynamodb, table)
    return Aws(table, Counting(dynamodb), Counting(s3), FakeTime())


def create_table(client: DynamoDBClient, table: str) -> None:
    """Create the table as the template describes it."""
    names = {"pk": "S", "sk": "S", "due_shard": "S", "due_epoch_s": "N"}
    names |= {"listing_pk": "S", "listing_sk": "S", "owned_pk": "S", "created": "S"}
    indexes: list[Any] = [
        {
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": first, "KeyType": "HASH"},
                {"AttributeName": second, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        for name, first, second in (
            ("due", "due_shard", "due_epoch_s"),
            ("listing", "listing_pk", "listing_sk"),
            ("owned", "owned_pk", "created"),
        )
    ]
    attributes: list[Any] = [
        {"AttributeName": name, "AttributeType": kind} for name, kind in names.items()
    ]
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=attributes,
        GlobalSecondaryIndexes=indexes,
    )


@pytest.fixture(params=["memory", "dynamo"])
def store(request: pytest.FixtureRequest) -> SessionStore:
    if request.param == "memory":
        return InMemorySessionStore()
    aws: Aws = request.getfixturevalue("aws")
    return aws.store()


@pytest.fixture(params=["memory", "dynamo"])
def directory(request: pytest.FixtureRequest) -> Directory:
    if request.param == "memory":
        return InMemoryDirectory()
    aws: Aws = request.getfixturevalue("aws")
    return aws.directory()


@pytest.fixture
def key() -> SessionKey:
    return SessionKey("acme", "0198f000-1111-7000-8000-000000000001")
