"""Whether a request comes from the engine: two headers, the body's bytes and a shared secret."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from everturn.errors import TransientError
from everturn.protocol.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER, TOLERANCE_S
from everturn.protocol.signature import verify as vouched
from everturn.rejections import Unauthenticated
from everturn.workers.logs import logger

Secret = str | bytes

Secrets = Callable[[], Iterable[Secret]]
"""Returns every secret that is accepted at the moment."""


class SecretsUnavailable(TransientError, code="secret_unavailable"):
    """The secrets could not be read; nothing was started."""


def verify(
    secret: Secret | Iterable[Secret],
    body: bytes,
    headers: Mapping[str, Any],
    *,
    now_epoch_s: float | None = None,
    tolerance_s: float = TOLERANCE_S,
) -> bool:
    """Tell whether `headers` vouch for `body`, the bytes as they arrived, with one of the secrets.

    Names of headers are taken in any case. Empty secrets vouch for nothing. The comparison takes
    the same time wherever two signatures differ. Source: decision protocol O-2.
    """
    signature = header(headers, SIGNATURE_HEADER)
    timestamp = header(headers, TIMESTAMP_HEADER)
    now = time.time() if now_epoch_s is None else now_epoch_s
    secrets = [secret] if isinstance(secret, str | bytes) else secret
    vouchers = [
        vouched(
            one,
            body,
            signature=signature,
            timestamp=timestamp,
            now_epoch_s=now,
            tolerance_s=tolerance_s,
        )
        for one in map(to_bytes, secrets)
        if one
    ]
    return any(vouchers)


class Vouching:
    """Holds a worker's secrets, or knows that it has none and takes every request."""

    def __init__(self, secret: Secret | None, secrets: Secrets | None) -> None:
        """Raises `ValueError` for an empty secret, which would let everybody in or nobody."""
        if secret is not None and secrets is not None:
            raise ValueError("give secret or secrets, not both")
        if secret is not None and not secret:
            raise ValueError("the secret is empty; None means that nothing is verified")
        self._secret = secret
        self._secrets = secrets

    def check(self, body: bytes, headers: Mapping[str, Any]) -> None:
        """Accept a request. Raises `Unauthenticated`, or `SecretsUnavailable` (not started)."""
        if self._secret is None and self._secrets is None:
            return
        if not verify(self._accepted(), body, headers):
            raise Unauthenticated("The request is not signed with a secret of this worker.")

    def _accepted(self) -> Iterable[Secret]:
        if self._secrets is None:
            return [self._secret] if self._secret else []
        try:
            found = self._secrets()
            return [found] if isinstance(found, str | bytes) else list(found)
        except Exception as error:
            logger.exception("the worker's secrets could not be read")
            raise SecretsUnavailable("the worker's secrets could not be read") from error


def header(headers: Mapping[str, Any], name: str) -> str:
    """Return a header's value, its name in any case; nothing where there is none."""
    found = (str(value) for key, value in headers.items() if str(key).lower() == name.lower())
    return next(found, "")


def to_bytes(secret: Secret) -> bytes:
    """Return a secret as the bytes that sign."""
    return secret.encode() if isinstance(secret, str) else secret
