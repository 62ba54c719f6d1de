"""Looks after sessions that nobody drives: ends what is hopeless, wakes what was forgotten."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from everturn.commands.reading import Loaded, SessionReader
from everturn.errors import (
    ConflictError,
    DefectError,
    EverturnError,
    RejectedError,
    StoreRefused,
    StoreUnreadable,
    TransientError,
)
from everturn.observability import logger
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, NewCommit, Owner, Quarantine, SessionKey
from everturn.ports.wake import Wake, dedup_of_commit
from everturn.protocol.wake import WakeUp
from everturn.rejections import SessionQuarantined
from everturn.session.commands import FailTurn
from everturn.session.decide.entry import decide
from everturn.session.facts import Stamp
from everturn.session.propose import due_epoch_s, propose

SWEEP_LIMIT: Final = 500

RUNNABLE_S: Final = 1200
"""Silence after which a runnable session is woken, where the deployment says nothing else."""

SWEEP_MS: Final = 60_000
"""A sweep that takes longer leaves the rest to the next one: half of the function's timeout."""

GIVEN_UP: Final = "The engine could not advance this turn; it was tried several times."


class Settled(StrEnum):
    """What became of a wake-up that was tried in vain."""

    FAILED = "failed"
    """Its turn ended as failed."""

    QUARANTINED = "quarantined"
    """Its session was put aside."""

    LEFT = "left"
    """There was nothing to do for it any more."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did, in sessions."""

    woken: int = 0
    quarantined: int = 0


class Recover:
    """The use cases of the dead-letter queue and of the sweep."""

    def __init__(
        self,
        store: SessionStore,
        reader: SessionReader,
        wake: Wake,
        clock: Clock,
        runnable_s: int = RUNNABLE_S,
    ) -> None:
        self._runnable_s = runnable_s
        self._store = store
        self._reader = reader
        self._wake = wake
        self._clock = clock

    def settle(self, wake: WakeUp, created: str = "") -> Settled:
        """End what a dead letter stands for: its turn fails, or its session is quarantined.

        `created` is the incarnation that it was for, where that is known: a deleted one's letter is
        none of the session that has its id now.
        Quarantined is what will not go away; what may raises a `TransientError` or a
        `ConflictError`, and the message comes back.
        """
        key = SessionKey(wake.tenant, wake.session)
        head: Head | None = None
        try:
            head = self._store.head(key)
            if head is not None and created not in {"", head.created}:
                return Settled.LEFT
            failed = self._fail(key, head, wake.version)
        except (ConflictError, TransientError):
            raise
        except SessionQuarantined:
            return Settled.LEFT
        except Exception as error:  # noqa: BLE001  # the family table of errors.py: a developer acts
            logger.exception("a turn could not be failed")
            new = self._put_aside(
                key, head, error, wake.without_content().model_dump_json(exclude_unset=True)
            )
            return Settled.QUARANTINED if new else Settled.LEFT
        return Settled.FAILED if failed else Settled.LEFT

    def give_up(self, key: SessionKey, version: int) -> bool:
        """Fail the open turn of a session whose wake-up was tried in vain; returns whether it did.

        Nothing happens where the session has no open turn, or one that began after the message;
        it is read all the same, for a session that cannot be read is none to be left alone.
        The commit takes the session away from whoever may still be at it.
        """
        return self._fail(key, self._store.head(key), version)

    def _fail(self, key: SessionKey, head: Head | None, version: int) -> bool:
        if head is None or head.quarantined is not None:
            return False
        if head.session.turn is None:
            with suppress(RejectedError):  # of no concern to a session that rests
                self._reader.load(key, head)
            return False
        loaded = self._reader.load(key, head)
        if _version_at(loaded, head.session.turn.first_seq) > version:
            return False
        stamp = Stamp(self._clock.now_ms(), self._clock.entropy())
        command = FailTurn(stamp, loaded.facts, GIVEN_UP, "engine_failure")
        decided = decide(head.session, command)
        epoch = (head.owner.epoch if head.owner else 0) + 1
        proposals = propose(decided.session)
        goes_on = bool(proposals.effects) or proposals.is_ready  # others wait to hear of the end
        after = self._store.append(
            NewCommit(
                key=key,
                before=head,
                after=decided.session,
                events=decided.events,
                commit_id=stamp.uuid(0),
                at_ms=stamp.now_ms,
                by="recovery",
                wake="decision" if goes_on else None,
                owner=Owner(epoch, ""),
                due_epoch_s=due_epoch_s(decided.session, stamp.now_ms, self._runnable_s, None),
            )
        )
        logger.warning("turn failed: its wake-up was tried in vain", version=version)
        if goes_on:
            dedup = dedup_of_commit(after.created, after.version)
            self._wake.now(key, after.created, "decision", after.version, dedup)
        return True

    def _put_aside(
        self, key: SessionKey, head: Head | None, error: Exception, wake: str = ""
    ) -> bool:
        why = Quarantine(_reason(error), self._clock.now_ms(), wake)
        new = self._store.quarantine(key, head, why)
        if new:
            logger.error("a session was quarantined", session_id=key.session, reason=why.reason)
        return new

    def sweep(self) -> Swept:
        """Wake every session that is past its due time.

        One whose head cannot be read is quarantined: no driver could do anything with it.
        """
        began_ms = self._clock.now_ms()
        now_s = began_ms // 1000
        woken = quarantined = 0
        for key in self._store.due(now_s, SWEEP_LIMIT):
            if self._clock.now_ms() - began_ms > SWEEP_MS:
                logger.warning("the sweep took too long; the next one goes on")
                break
            try:
                woken += self._wake_up(key, now_s)
            except StoreUnreadable as error:
                quarantined += self._put_aside_quietly(key, error)
            except EverturnError as error:  # the next sweep finds it again; the others go on
                logger.warning("a session was not woken", reason=type(error).__name__)
        return Swept(woken, quarantined)

    def _put_aside_quietly(self, key: SessionKey, error: Exception) -> bool:
        try:
            return self._put_aside(key, None, error)
        except EverturnError as refused:  # the next sweep finds it again
            logger.warning("a session was not quarantined", reason=type(refused).__name__)
            return False

    def _wake_up(self, key: SessionKey, now_s: int) -> int:
        head = self._store.head(key)
        if head is None or head.quarantined is not None:
            return 0
        if head.due_epoch_s is None or head.due_epoch_s > now_s:
            return 0
        dedup = f"{dedup_of_commit(head.created, head.version)}.sweep.{now_s // 300}"
        self._wake.now(key, head.created, "timer", head.version, dedup)
        return 1


def _reason(error: Exception) -> str:
    """Return the code of a quarantine. Source: docs/storage.md, "Quarantine"."""
    match error:
        case StoreUnreadable():
            return "unreadable"
        case StoreRefused():
            return "store_refused"
        case DefectError():
            return "contradiction"
        case _:
            return "defect"


def _version_at(loaded: Loaded, seq: int) -> int:
    """Return the version of the commit that holds event `seq`, 0 where it was not read."""
    versions = (one.version for one in loaded.logged if one.first_seq <= seq <= one.last_seq)
    return next(versions, 0)
