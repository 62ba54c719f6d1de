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
