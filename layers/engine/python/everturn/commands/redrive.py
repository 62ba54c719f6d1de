"""An operator's way back for what recovery put aside or could not settle; it repairs nothing.

It must not talk to a person: it yields what it did, or would do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import ValidationError

from everturn.errors import EverturnError
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, SessionKey
from everturn.ports.wake import Wake
from everturn.protocol.wake import WAKE, DeadLetter
from everturn.rejections import SessionQuarantined

BATCHES: Final = 1_000
"""Answers of the queue that one run goes through; what is left over waits for the next run."""


class Done(StrEnum):
    """What became of a session or of a dead letter."""

    LIFTED = "lifted"
    """The quarantine has ended; a driver was woken if there is a turn to go on with."""

    WOKEN = "woken"
    """It was not quarantined; a driver was woken for its open turn."""

    IDLE = "idle"
    """It was not quarantined and has no open turn: nothing was done."""

    UNKNOWN = "unknown"
    """There is no such session."""

    MOVED = "moved"
    """The dead letter is back in the queue."""

    UNREADABLE = "unreadable"
    """The dead letter is no wake-up and stays where it is."""

    FAILED = "failed"
    """It could not be done; `detail` names the error. A second run is safe."""


@dataclass(frozen=True, slots=True)
class Redriven:
    """One line of the report."""

    done: Done
    session: SessionKey | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The dead-letter queue, as three requests."""

    receive: Callable[[], Sequence[DeadLetter]]
    """Returns some that nobody else holds; none where there are none left."""

    give_back: Callable[[DeadLetter], None]
    """Sends one to the drivers again, then deletes it here. Raises `TransientError`."""

    let_go: Callable[[DeadLetter], None]
    """Leaves one where it is, for anybody to receive."""


class Redrive:
    """The use case behind `everturn redrive`; each step can be repeated."""

    def __init__(self, store: SessionStore, wake: Wake, clock: Clock, *, dry_run: bool) -> None:
        self._store = store
        self._wake = wake
        self._clock = clock
        self._dry_run = dry_run

    def sessions(
        self, keys: Collection[SessionKey], *, all_quarantined: bool
    ) -> Iterator[Redriven]:
        """Lift and wake the sessions of `keys`, and all that are quarantined where asked for.

        Yields one line each; a session that fails hides no other.
        """
        yield from (self._session(key) for key in keys)
        if all_quarantined:
            listed = [key for key in self._store.quarantined() if key not in keys]
            yield from (self._session(key) for key in listed)

    def letters(
        self, letters: DeadLetters, only: Collection[SessionKey] | None = None
    ) -> Iterator[Redriven]:
        """Move dead letters back to the queue, those of the sessions `only` where it is given.

        Yields one line for each that is concerned.
        """
        kept: list[DeadLetter] = []
        try:
            for _ in range(BATCHES):
                batch = letters.receive()
                if not batch:
                    return
                for letter in batch:
                    line = self._letter(letters, letter, only)
                    if line is None or line.done is not Done.MOVED or self._dry_run:
                        kept.append(letter)
                    if line is not None:
                        yield line
        finally:
            for letter in kept:
                with suppress(EverturnError):  # it is visible again a minute later
                    letters.let_go(letter)

    def _session(self, key: SessionKey) -> Redriven:
        try:
            return self._redriven(key)
        except EverturnError as error:
            return Redriven(Done.FAILED, key, type(error).__name__)

    def _redriven(self, key: SessionKey) -> Redriven:
        try:
            head = self._store.head(key)
        except SessionQuarantined as error:  # unreadable here; perhaps the drivers can read it
            return self._lifted(key, str(error.fields["reason"]), goes_on=True)
        if head is None:
            return Redriven(Done.UNKNOWN, key)
        goes_on = head.session.turn is not None
        if head.quarantined is not None:
            return self._lifted(key, head.quarantined.reason, goes_on=goes_on)
        if not goes_on:
            return Redriven(Done.IDLE, key)
        return self._woken(key, head)

    def _lifted(self, key: SessionKey, reason: str, *, goes_on: bool) -> Redriven:
        """Lift, then wake: the `due` index makes up for a wake-up that gets lost in between."""
        if not self._dry_run:
            due = self._clock.now_ms() // 1000 if goes_on else None
            lifted = self._store.lift(key, due)
            if lifted is not None and goes_on:
                self._send(key, *lifted)
        return Redriven(Done.LIFTED, key, reason)

    def _woken(self, key: SessionKey, head: Head) -> Redriven:
        if not self._dry_run:
            self._send(key, head.created, head.version)
        return Redriven(Done.WOKEN, key)

    def _send(self, key: SessionKey, created: str, version: int) -> None:
        dedup = f"{version}.redrive.{self._clock.now_ms()}"
        self._wake.now(key, created, "timer", version, dedup)

    def _letter(
        self, letters: DeadLetters, letter: DeadLetter, only: Collection[SessionKey] | None
    ) -> Redriven | None:
        try:
            wake = WAKE.validate_json(letter.body)
        except ValidationError:
            return Redriven(Done.UNREADABLE, None, letter.message_id) if only is None else None
        key = SessionKey(wake.tenant, wake.session)
        if only is not None and key not in only:
            return None
        try:
            if not self._dry_run:
                letters.give_back(letter)
        except EverturnError as error:
            return Redriven(Done.FAILED, key, type(error).__name__)
        return Redriven(Done.MOVED, key, wake.step)
