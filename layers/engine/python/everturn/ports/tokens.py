"""The roles behind client tokens: who makes and reads them, and who keeps the keys to that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from everturn.session.events.sessions import Owner


@dataclass(frozen=True, slots=True)
class Grant:
    """What a client token says. Source: decision-protocol A-2."""

    tenant: str
    owner: Owner
    scopes: tuple[str, ...]
    begins_epoch_s: int
    expires_epoch_s: int
    token_id: str = ""
    """Names the token where it can be revoked; tokens of `/v1/client-tokens` cannot."""

    grant_id: str = ""
    """Names what it was granted under, which can be revoked with all tokens of it."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a refresh token says: it asks for access tokens and opens no route itself."""

    tenant: str
    grant_id: str
    key_mark: str
    """Of the API key that it was given to; it is of use beside that one alone."""

    scopes: tuple[str, ...]
    begins_epoch_s: int
    expires_epoch_s: int


class Tokens(Protocol):
    """Turns grants into signed tokens and back."""

    def sign(self, grant: Grant) -> str:
        """Return the token. Raises `TransientError` where the key cannot be had."""
        ...

    def read(self, token: str) -> Grant:
        """Return what a token says, whatever the time is.

        Raises `Unauthenticated` for one that is not ours or not whole, `TransientError` where the
        keys cannot be had.
        """
        ...

    def sign_renewal(self, renewal: Renewal) -> str:
        """Return the refresh token. Raises as `sign`."""
        ...

    def read_renewal(self, token: str) -> Renewal:
        """Return what a refresh token says, whatever the time is. Raises as `read`."""
        ...


@dataclass(frozen=True, slots=True)
class TokenKey:
    """One key, under the name that tokens carry."""

    kid: str
    secret: str = field(repr=False)


class TokenKeys(Protocol):
    """Keeps the signing key, and the one before it for as long as tokens of it may be about."""

    def current(self) -> TokenKey:
        """Return the key that signs. Raises `TransientError`."""
        ...

    def named(self, kid: str) -> TokenKey | None:
        """Return the key of that name, if tokens of it are still taken. Raises `TransientError`."""
        ...
