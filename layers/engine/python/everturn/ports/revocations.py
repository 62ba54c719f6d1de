"""The role that keeps which tokens were revoked before their end."""

from __future__ import annotations

from typing import Protocol


class Revocations(Protocol):
    """Keeps the ids of tokens, and of what they were granted under, that count no more."""

    def revoke(self, token_id: str, until_epoch_s: int) -> None:
        """Note that an id counts no more; it may be forgotten once nothing of it can be alive."""
        ...

    def is_revoked(self, token_id: str) -> bool:
        """Return whether an id was revoked."""
        ...
