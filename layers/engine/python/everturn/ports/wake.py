"""The role that sends wake-ups to drivers."""

from __future__ import annotations

from typing import Protocol

from everturn.ports.sessions import SessionKey


class Wake(Protocol):
    """Sends wake-ups to drivers, now or later."""

    def now(self, key: SessionKey, created: str, step: str, version: int, dedup: str) -> None:
        """Enqueue a wake-up; one `dedup` is one message for five minutes.

        Raises `TransientError`.
        """
        ...

    def at(
        self, key: SessionKey, created: str, step: str, version: int, due_ms: int, subject: str
    ) -> None:
        """Have one sent at `due_ms`; asking twice is one timer. Raises `TransientError`."""
        ...
