"""Deletes sessions: at once as far as a request's time goes, and the rest when recovery sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from everturn.commands.reading import no_such_session
from everturn.errors import DefectError, EverturnError, StoreUnreadable
from everturn.observability import logger
from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.ports.lists import Deletion
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import SessionKey
from everturn.rejections import SessionQuarantined
from everturn.session.events.children import SubAgentRequested
from everturn.session.facts import Stamp
from everturn.session.mailbox import Parent

REQUEST_S: Final = 10.0
"""How long a request deletes before it leaves the rest to recovery; it lives for 28 s."""

PATIENCE_S: Final = 60
"""How long recovery leaves a deletion to the request that began it."""

COMMITS_PER_READ: Final = 200
"""Of the log of a session that has started others."""

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

        From its first write on the session is gone for everybody. What it started and all below
        that goes first: a request that breaks off is to be repeated. Raises `UnknownSession`, also
        while it is being deleted, and `StoreUnavailable` where nothing has happened.
        """
        key = SessionKey(caller.tenant, session_id)
        found = self._store.incarnation(key)
        if found is None or not _may_delete(caller, found.owner_id):
            raise no_such_session()
        for child in self._below(key):
            below = self._store.incarnation(child)
            if below is not None:
                self._mark(child, below.created)
        if not self._mark(key, found.created):
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

    def _mark(self, key: SessionKey, created: str) -> bool:
        now_ms = self._clock.now_ms()
        mark = Stamp(now_ms, self._clock.entropy()).uuid(0)
        return self._store.mark_deleted(key, created, mark, now_ms // 1000 + PATIENCE_S)

    def _below(self, key: SessionKey) -> Iterator[SessionKey]:
        """Yield the sessions that a session started, those below first; nothing if unreadable."""
        with suppress(StoreUnreadable, SessionQuarantined):
            head = self._store.head(key)
            if head is None or not head.session.children:
                return
            for asked in self._asked_for(key):
                child = SessionKey(key.tenant, asked.session_id)
                if self._is_child(child, key, asked):
                    yield from self._below(child)
                    yield child

    def _asked_for(self, key: SessionKey) -> Iterator[SubAgentRequested]:
        after_seq = 0
        while commits := self._store.page(key, after_seq, COMMITS_PER_READ):
            for commit in commits:
                yield from (one for one in commit.events if isinstance(one, SubAgentRequested))
            after_seq = commits[-1].last_seq

    def _is_child(self, child: SessionKey, key: SessionKey, asked: SubAgentRequested) -> bool:
        """Return whether a session is there that answers that call: its id may be another's."""
        with suppress(StoreUnreadable, SessionQuarantined):
            head = self._store.head(child)
            return head is not None and head.session.parent == Parent(key.session, asked.id)
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
