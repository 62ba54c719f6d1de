"""`TokenKeys` in Secrets Manager: one secret, its two stages, looked at once in a while."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from everturn.errors import SecretUnavailable
from everturn.ports.tokens import TokenKey, TokenKeys
from everturn.tokens.secret_keys import CACHED_MS, LOOK_AGAIN_MS, SecretsManagerKeys
from unit.tokens.fixed_keys import NEW, OLD, FixedKeys

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

FIRST, SECOND, THIRD = "first-" * 8, "second-" * 8, "third-" * 8


@dataclass(slots=True)
class Place:
    """One secret, its keys, and the time."""

    client: SecretsManagerClient
    arn: str
    now_ms: int = 1_767_268_800_000
    requests: list[str] = field(default_factory=list)

    def get_secret_value(self, **asked: Any) -> Any:
        self.requests.append(asked["VersionStage"])
        return self.client.get_secret_value(**asked)

    def keys(self) -> SecretsManagerKeys:
        client: Any = self
        return SecretsManagerKeys(client, self.arn, lambda: self.now_ms)

    def rotate(self, secret: str) -> str:
        return self.client.put_secret_value(SecretId=self.arn, SecretString=secret)["VersionId"]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client = boto3.client("secretsmanager", region_name="eu-central-1")
        yield Place(client, client.create_secret(Name="tokens", SecretString=FIRST)["ARN"])


def test_a_secret_that_was_never_rotated_is_one_key(place: Place) -> None:
    keys = place.keys()

    key = keys.current()

    assert key.secret == FIRST
    assert keys.named(key.kid) == key
    assert place.requests == ["AWSCURRENT", "AWSPREVIOUS"]


def test_a_rotated_secret_signs_anew_and_knows_the_one_before(place: Place) -> None:
    first = place.keys().current()
    second = place.rotate(SECOND)
    keys = place.keys()

    found = (keys.current(), keys.named(second), keys.named(first.kid))

    assert found == (TokenKey(second, SECOND), TokenKey(second, SECOND), first)


def test_a_secret_that_was_rotated_twice_forgets_its_first_value(place: Place) -> None:
    first = place.keys().current()
    second, third = place.rotate(SECOND), place.rotate(THIRD)
    keys = place.keys()

    found = (keys.current().kid, keys.named(first.kid), keys.named(second))

    assert found == (third, None, TokenKey(second, SECOND))


def test_keys_are_looked_up_every_five_minutes(place: Place) -> None:
    keys = place.keys()
    first = keys.current()
    second = place.rotate(SECOND)
    place.now_ms += CACHED_MS - 1
    before = keys.current()
    place.now_ms += 1

    after = keys.current()

    assert (before, after.kid) == (first, second)
    assert len(place.requests) == 4
    assert CACHED_MS == 300_000


def test_a_key_that_was_made_since_is_found_at_once_but_not_looked_for_all_the_time(
    place: Place,
) -> None:
    keys = place.keys()
    keys.current()
    second = place.rotate(SECOND)
    place.now_ms += LOOK_AGAIN_MS

    fresh = keys.named(second)
    looked = len(place.requests)
    strangers = [keys.named(f"stranger-{n}") for n in range(20)]
    place.now_ms += LOOK_AGAIN_MS
    keys.named("stranger")

    assert fresh == TokenKey(second, SECOND)
    assert strangers == [None] * 20
    assert (looked, len(place.requests)) == (4, 6)


class Refusing:
    """A client that is refused everything, or gets no answer."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def get_secret_value(self, **_asked: Any) -> Any:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetSecretValue"),
        ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetSecretValue"),
        EndpointConnectionError(endpoint_url="https://secrets.example.com"),
    ],
    ids=["refused", "not there", "no answer"],
)
def test_without_the_secret_there_is_no_key_for_the_moment(error: Exception) -> None:
    client: Any = Refusing(error)
    keys = SecretsManagerKeys(client, "tokens", lambda: 0)

    with pytest.raises(SecretUnavailable):
        keys.current()
    with pytest.raises(SecretUnavailable):
        keys.named("x")


@pytest.fixture(params=["fixed", "secret"])
def both(request: pytest.FixtureRequest, place: Place) -> TokenKeys:
    """The fake and the real one, each rotated once."""
    if request.param == "fixed":
        return FixedKeys(NEW, OLD)
    place.rotate(SECOND)
    return place.keys()


def test_the_current_key_is_known_by_its_name_and_a_stranger_is_not(both: TokenKeys) -> None:
    current = both.current()

    assert both.named(current.kid) == current
    assert both.named("stranger") is None
