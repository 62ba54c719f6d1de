"""`InMemoryRevocations`: what was revoked, for tests; nothing is forgotten here."""

from __future__ import annotations


class InMemoryRevocations:
    """`Revocations`."""

    def __init__(self) -> None:
        self.until: dict[str, int] = {}

    def revoke(self, token_id: str, until_epoch_s: int) -> None:
        """Note an id."""
        self.until[token_id] = until_epoch_s

    def is_revoked(self, token_id: str) -> bool:
        """Return whether an id was noted."""
        return token_id in self.until
