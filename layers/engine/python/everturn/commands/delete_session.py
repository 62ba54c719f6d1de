"""Deletes sessions: at once as far as a request's time goes, and the rest when recovery sweeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from everturn.commands.reading import no_such_session
from everturn.errors import DefectError, EverturnError
from everturn.observability import logger
from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.ports.lists import Deletion
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.session.facts import Stamp

REQUEST_S: Final = 10.0
"""How long a request deletes before it leaves the rest to recovery; it lives for 28 s."""

PATIENCE_S: Final = 60
"""How long recovery leaves a deletion to the request that began it."""

LATE_S: Final = 1_200
"""When late writes are looked for: a driver lives 900 s, whatever it has not noticed."""

SWEEP_S: Final = 40.0
"""How long one sweep deletes; the function lives for 120 s, and half of that is for others."""

SLICE_S: Final = 15.0
"""How long it deletes one session before it turns to the next."""

SWEEP_LIMIT: Final = 200
"""Deletions that one sweep looks at."""


class DeleteSession:
    """The use case behind `DELETE /v1/sessions/{id}`."""

    def __init__(self, store: SessionStore, clock: Clock, monotonic: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._monotonic = monotonic

    def __call__(self, caller: Caller, session_id: str) -> bool:
        """Delete a session; returns whether it is done, or recovery goes on with it.

        From its first write on the session is gone for everybody. Raises `UnknownSession`, also
        while it is being deleted, and `StoreUnavailable` where nothing has happened.
        """
        key = SessionKey(caller.tenant, session_id)
        found = self._store.incarnation(key)
        if found is None or not _may_delete(caller, found.owner_id):
            raise no_such_session()
        now_ms = self._clock.now_ms()
        mark = Stamp(now_ms, self._clock.entropy()).uuid(0)
        due = now_ms // 1000 + PATIENCE_S
        if not self._store.mark_deleted(key, found.created, mark, due):
            raise no_such_session()
        until = self._monotonic() + REQUEST_S
        try:
            return finish(
                self._store,
                self._clock,
                Deletion(key, found.created, is_gone=False),
                lambda: self._monotonic() >= until,
            )
        except EverturnError as error:  # the deletion is recorded: whatever it is, it goes on
            reason = type(error).__name__
            logger.warning("a deletion is left to recovery", session_id=session_id, reason=reason)
            return False


class FinishDeletions:
    """The use case behind the sweep: what a request, a crash or a late writer left over."""

    def __init__(self, store: SessionStore, clock: Clock, monotonic: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._monotonic = monotonic

    def sweep(self) -> int:
        """Go on with deletions, each for a while; returns how many came to their end."""
        until = self._monotonic() + SWEEP_S
        done = 0
        for deletion in self._store.deletions(self._clock.now_ms() // 1000, SWEEP_LIMIT):
            begun = self._monotonic()
            if begun >= until:
                logger.warning("the sweep took too long; the next one goes on")
                break
            slice_until = min(until, begun + SLICE_S)
            try:
                done += self._go_on(deletion, slice_until)
            except EverturnError as error:  # the next sweep finds it again; the others go on
                log = logger.exception if isinstance(error, DefectError) else logger.warning
                reason = type(error).__name__
                log("a deletion was not finished", session_id=deletion.key.session, reason=reason)
        return done

    def _go_on(self, deletion: Deletion, until: float) -> bool:
        return finish(self._store, self._clock, deletion, lambda: self._monotonic() >= until)


def finish(
    store: SessionStore, clock: Clock, deletion: Deletion, is_over: Callable[[], bool]
) -> bool:
    """Do the next part of a deletion; returns whether that part is done. Can be repeated."""
    key, created = deletion.key, deletion.created
    if deletion.is_gone:
        return store.erase_late(key, created, is_over)
    if not store.erase(key, created, is_over):
        return False
    store.release_id(key, created, clock.now_ms() // 1000 + LATE_S)
    return True


def _may_delete(caller: Caller, owner_id: str | None) -> bool:
    """Return whether a session is the caller's; nobody knows of one whose owner is unreadable."""
    return caller.owner is None or (owner_id is not None and caller.reaches(owner_id))
