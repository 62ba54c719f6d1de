"""`TokenKeys` in AWS Secrets Manager: the stages of one secret; its versions' ids name the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from everturn.errors import SecretUnavailable
from everturn.ports.tokens import TokenKey

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

CACHED_MS: Final = 300_000
"""A rotated key signs at the latest after this."""

LOOK_AGAIN_MS: Final = 10_000
"""A key of an unknown name is looked for, though others are cached, no more often than this."""

STAGES: Final = ("AWSCURRENT", "AWSPREVIOUS")
"""The one that signs, and the one whose tokens may still be about. Source: Secrets Manager."""


class SecretsManagerKeys:
    """`TokenKeys`; two requests whenever the cache is too old."""

    def __init__(
        self, client: SecretsManagerClient, secret_id: str, now_ms: Callable[[], int]
    ) -> None:
        self._client = client
        self._secret_id = secret_id
        self._now_ms = now_ms
        self._keys: tuple[TokenKey, ...] = ()
        self._read_ms = 0

    def current(self) -> TokenKey:
        """Return the key at `AWSCURRENT`."""
        return self._not_older_than(CACHED_MS)[0]

    def named(self, kid: str) -> TokenKey | None:
        """Return a key; one that was made since the last look is found, too."""
        found = _named(kid, self._not_older_than(CACHED_MS))
        return found or _named(kid, self._not_older_than(LOOK_AGAIN_MS))

    def _not_older_than(self, age_ms: int) -> tuple[TokenKey, ...]:
        now_ms = self._now_ms()
        if not self._keys or now_ms - self._read_ms >= age_ms:
            self._keys = tuple(key for stage in STAGES if (key := self._at(stage)) is not None)
            self._read_ms = now_ms
        return self._keys

    def _at(self, stage: str) -> TokenKey | None:
        """Return the key at a stage; a secret that was never rotated has no previous one."""
        try:
            answer = self._client.get_secret_value(SecretId=self._secret_id, VersionStage=stage)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code")
            if code == "ResourceNotFoundException" and stage != STAGES[0]:
                return None
            raise SecretUnavailable("the key of client tokens could not be read") from error
        except BotoCoreError as error:
            raise SecretUnavailable("Secrets Manager did not answer") from error
        return TokenKey(answer["VersionId"], answer["SecretString"])


def _named(kid: str, keys: tuple[TokenKey, ...]) -> TokenKey | None:
    return next((key for key in keys if key.kid == kid), None)
