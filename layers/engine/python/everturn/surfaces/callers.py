"""Who is calling: an API key to its tenant; what a caller may do is decided elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from everturn.ports.clock import Clock
from everturn.ports.directory import ApiKey, Directory
from everturn.rejections import Unauthenticated

CACHED_MS: Final = 60_000
"""How long a key that was found is trusted without a look. Source: architecture, section 2."""

CACHED_KEYS: Final = 1_000
MAX_KEY_CHARS: Final = 200
CHALLENGE: Final = "Send the API key as `Authorization: Bearer <key>`."


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller that proved who it is."""

    tenant: str
    key_name: str


NOBODY: Final = Caller("", "")
"""Who calls a route that asks for no credential; no item of the table is theirs."""


class _Absent(Exception):
    """Keeps the cache from remembering a key that is not there."""


class Callers:
    """Finds the tenant of a credential. Source: decision-protocol A-4."""

    def __init__(self, directory: Directory, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._cached = lru_cache(CACHED_KEYS)(self._look_up)

    def by_headers(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller that an `Authorization` header names. Raises `Unauthenticated`."""
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("The request has no API key.", hint=CHALLENGE)
        return self.by_key(key.strip())

    def by_key(self, key: str) -> Caller:
        """Return the caller that an API key names. Raises `Unauthenticated`."""
        if not 0 < len(key) <= MAX_KEY_CHARS:
            raise Unauthenticated("The API key is not known.", hint=CHALLENGE)
        try:
            found = self._cached(hash_of(key), self._clock.now_ms() // CACHED_MS)
        except _Absent:
            raise Unauthenticated("The API key is not known.", hint=CHALLENGE) from None
        return Caller(found.tenant, found.name)

    def _look_up(self, sha256: str, _minute: int) -> ApiKey:
        found = self._directory.api_key(sha256)
        if found is None:
            raise _Absent
        return found


def hash_of(key: str) -> str:
    """Return what of an API key is stored. A digest of 256 random bits needs no salt."""
    return hashlib.sha256(key.encode()).hexdigest()
