"""Looks after sessions that nobody drives: fails the hopeless, wakes the forgotten."""

from __future__ import annotations

from typing import Final

from everturn.commands.reading import Loaded, SessionReader
from everturn.errors import EverturnError
from everturn.observability import logger
from everturn.ports import Clock, NewCommit, Owner, SessionKey, SessionStore, Wake
from everturn.session.commands import FailTurn
from everturn.session.decide.entry import decide
from everturn.session.facts import Stamp

SWEEP_LIMIT: Final = 500
GIVEN_UP: Final = "The engine could not advance this turn; it was tried several times."


class Recover:
    """The use cases of the dead-letter queue and of the sweep."""

    def __init__(
        self, store: SessionStore, reader: SessionReader, wake: Wake, clock: Clock
    ) -> None:
        self._store = store
        self._reader = reader
        self._wake = wake
        self._clock = clock

    def give_up(self, key: SessionKey, version: int) -> bool:
        """Fail the open turn of a session whose wake-up was tried in vain; returns whether it did.

        Nothing happens where the session has no open turn, or one that began after the message.
        The commit takes the session away from whoever may still be at it.
        """
        head = self._store.head(key)
        if head is None or head.session.turn is None:
            return False
        loaded = self._reader.load(key, head)
        if _version_at(loaded, head.session.turn.first_seq) > version:
            return False
        stamp = Stamp(self._clock.now_ms(), self._clock.entropy())
        command = FailTurn(stamp, loaded.facts, GIVEN_UP, "engine_failure")
        decided = decide(head.session, command)
        epoch = (head.owner.epoch if head.owner else 0) + 1
        self._store.append(
            NewCommit(
                key=key,
                before=head,
                after=decided.session,
                events=decided.events,
                commit_id=stamp.uuid(0),
                at_ms=stamp.now_ms,
                by="recovery",
                owner=Owner(epoch, ""),
                due_epoch_s=None,
            )
        )
        logger.warning("turn failed: its wake-up was tried in vain", version=version)
        return True

    def sweep(self) -> int:
        """Wake every session that is past its due time; returns how many."""
        now_s = self._clock.now_ms() // 1000
        woken = 0
        for key in self._store.due(now_s, SWEEP_LIMIT):
            try:
                woken += self._wake_up(key, now_s)
            except EverturnError as error:  # the next sweep finds it again; the others go on
                logger.warning("a session was not woken", reason=type(error).__name__)
        return woken

    def _wake_up(self, key: SessionKey, now_s: int) -> int:
        head = self._store.head(key)
        if head is None or head.due_epoch_s is None or head.due_epoch_s > now_s:
            return 0
        dedup = f"{head.created}.{head.version}.sweep.{now_s // 300}"
        self._wake.now(key, head.created, "timer", head.version, dedup)
        return 1


def _version_at(loaded: Loaded, seq: int) -> int:
    """Return the version of the commit that holds event `seq`, 0 where it was not read."""
    versions = (one.version for one in loaded.logged if one.first_seq <= seq <= one.last_seq)
    return next(versions, 0)
