"""Whose credential it is: an API key's tenant, a client token's owner; no right is judged here."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from everturn.ports.callers import Caller, Who
from everturn.ports.clock import Clock
from everturn.ports.directory import ApiKey, Directory
from everturn.ports.revocations import Revocations
from everturn.ports.tokens import Tokens
from everturn.protocol.api_keys import MAX_KEY_CHARS, hash_of
from everturn.rejections import Unauthenticated

CACHED_MS: Final = 60_000
"""How long a key, or a token that can be revoked, is trusted without a look.

Source: architecture, section 2.
"""

CACHED_KEYS: Final = 1_000
CHALLENGE: Final = "Send `Authorization: Bearer <API key or client token>`, or `X-API-Key: <key>`."

_TOKEN_START: Final = "eyJ"  # noqa: S105  # how the JSON object at the head of each JWT begins
_TOKEN_DOTS: Final = 2


class _Absent(Exception):
    """Keeps the cache from remembering a key that is not there."""


class Callers:
    """Finds the caller behind a credential. Source: decision-protocol A-2, A-4."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        tokens: Callable[[], Tokens],
        revocations: Revocations,
    ) -> None:
        """Take the reader of tokens by its maker: who brings a key does not wait for it."""
        self._directory = directory
        self._clock = clock
        self._tokens = tokens
        self._revocations = revocations
        self._cached = lru_cache(CACHED_KEYS)(self._look_up)
        self._was_revoked = lru_cache(CACHED_KEYS)(self._look_for_revocation)

    def by_headers(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller that a request's headers name. Raises `Unauthenticated`."""
        credential = credential_in(headers)
        if credential is None:
            raise Unauthenticated("The request has no credential.", hint=CHALLENGE)
        return self.by_credential(credential)

    def by_credential(self, credential: str) -> Caller:
        """Return the caller that an API key or a client token names. Raises `Unauthenticated`."""
        if credential.startswith(_TOKEN_START) and credential.count(".") == _TOKEN_DOTS:
            return self._by_token(credential)
        return self._by_key(credential)

    def _by_key(self, key: str) -> Caller:
        if not 0 < len(key) <= MAX_KEY_CHARS:
            raise Unauthenticated("The API key is not known.", hint=CHALLENGE)
        sha256, now_ms = hash_of(key), self._clock.now_ms()
        try:
            found = self._cached(sha256, now_ms // CACHED_MS)
        except _Absent:
            found = ApiKey("", "")
        if not hmac.compare_digest(found.sha256, sha256):
            raise Unauthenticated("The API key is not known.", hint=CHALLENGE)
        if found.expires_ms is None:
            return Caller(found.tenant, key_name=found.name)
        if found.expires_ms <= now_ms:
            raise Unauthenticated("The API key has expired.", hint="Ask for another one.")
        ends = found.expires_ms // 1000
        return Caller(found.tenant, key_name=found.name, expires_epoch_s=ends)

    def _by_token(self, token: str) -> Caller:
        grant = self._tokens().read(token)
        now_ms = self._clock.now_ms()
        caller = Caller(
            grant.tenant,
            Who.FRONTEND,
            owner=grant.owner,
            scopes=grant.scopes,
            expires_epoch_s=grant.expires_epoch_s,
        )
        if caller.has_lapsed(now_ms):
            raise Unauthenticated("The client token has expired.", hint="Ask for a fresh one.")
        if grant.begins_epoch_s * 1000 > now_ms:
            raise Unauthenticated("The client token does not hold yet.")
        ids = (grant.grant_id, grant.token_id)
        if grant.token_id and self._was_revoked(ids, now_ms // CACHED_MS):
            raise Unauthenticated("The client token was revoked.", hint="Ask for a fresh one.")
        return caller

    def _look_up(self, sha256: str, _minute: int) -> ApiKey:
        found = self._directory.api_key(sha256)
        if found is None:
            raise _Absent
        return found

    def _look_for_revocation(self, ids: tuple[str, ...], _minute: int) -> bool:
        return any(self._revocations.is_revoked(one) for one in ids)


def headers_of(event: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of an API Gateway event, names in lower case."""
    return {name.lower(): value for name, value in (event.get("headers") or {}).items()}


def credential_in(headers: Mapping[str, str]) -> str | None:
    """Return the credential among headers, their names in lower case; None where there is none.

    One that is there but cannot be one is the empty text, which names nobody.
    """
    authorization = headers.get("authorization")
    if authorization is None:
        key = headers.get("x-api-key")
        return None if key is None else key.strip()
    scheme, _, credential = authorization.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""
