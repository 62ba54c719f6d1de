"""The role that sends wake-ups to drivers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from everturn.ports.sessions import SessionKey


@dataclass(frozen=True, slots=True)
class FunctionRun:
    """A delivery that the step machine is to make."""

    function: str
    """The function's ARN."""

    request: Mapping[str, Any]
    """A `DecisionRequest` as JSON."""

    decision_id: str
    attempt: int
    deadline_ms: int
    """When it is given up."""


def dedup_of_commit(created: str, version: int) -> str:
    """Return the name of a commit's wake-up: whoever sends it, it is one message.

    Source: storage-and-commits, "Commits" 5.
    """
    return f"{created}.{version}"


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

    def after(self, key: SessionKey, created: str, version: int, run: FunctionRun) -> None:
        """Have a function run, and one sent that brings its outcome; asking twice runs it once.

        Raises `TransientError`.
        """
        ...
