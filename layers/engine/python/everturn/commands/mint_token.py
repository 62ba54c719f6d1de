"""Mints a client token for an owner of the key's tenant; nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.ports.tokens import Grant, Tokens
from everturn.protocol.client_token import read_token_request
from everturn.session.events.sessions import Owner


class MintToken:
    """The use case behind `POST /v1/client-tokens`. Source: decision-protocol A-3."""

    def __init__(self, tokens: Callable[[], Tokens], clock: Clock) -> None:
        """Take the maker of tokens by its maker: who never mints one does not pay for it."""
        self._tokens = tokens
        self._clock = clock

    def __call__(self, caller: Caller, data: Any) -> dict[str, Any]:
        """Return `{token, expires_at}`, the latter in Unix seconds.

        Raises `SchemaViolation`, `InvalidId`, or `TransientError` where the key cannot be had.
        """
        wanted = read_token_request(data)
        now_s = self._clock.now_ms() // 1000
        grant = Grant(
            tenant=caller.tenant,
            owner=Owner(id=wanted.identity.id, metadata=wanted.identity.metadata),
            scopes=wanted.granted,
            begins_epoch_s=now_s,
            expires_epoch_s=now_s + wanted.ttl_s,
        )
        return {"token": self._tokens().sign(grant), "expires_at": grant.expires_epoch_s}
