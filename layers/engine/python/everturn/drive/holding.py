"""A session in one driver's hands: what it read and committed, and that it may; no effects here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from everturn.commands.attempts import Attempts
from everturn.commands.reading import Loaded, SessionReader
from everturn.commands.vanishing import vanishing
from everturn.commands.waiting_turns import orders_in, waiting_in
from everturn.errors import DefectError, LeaseLost
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import RELEASED, Head, Logged, NewCommit, Owner, SessionKey
from everturn.ports.streams import Watch
from everturn.rejections import SessionQuarantined, UnknownSession
from everturn.session.commands import Command
from everturn.session.decide.entry import Decided, decide
from everturn.session.events.model_calls import ModelCallDispatched
from everturn.session.facts import Facts, Stamp
from everturn.session.propose import due_epoch_s
from everturn.session.state import Session

MakeCommand = Callable[[Stamp, Facts], Command]
"""Builds a command on what holds when it is decided; called again after a lost race."""


class OwnerChanged(Exception):
    """Another driver has taken the session over: stop at once, without a word."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On whose behalf a driver writes, and for how long it may go silent."""

    request_id: str
    runnable_s: int
    is_held: Callable[[], bool]
    """Whether the lease on the queue message still stands."""

    floor_ms: int = 0
    """A timer's due time: its firing proves that it has come. Source: architecture 4.

    A clock that is behind it counts on from there.
    """


class Holding:
    """Everything that this driver knows of its session. Not thread-safe: one loop owns it."""

    def __init__(
        self,
        key: SessionKey,
        store: SessionStore,
        reader: SessionReader,
        clock: Clock,
        terms: Terms,
        attempts: Callable[[], Attempts],
    ) -> None:
        self.key = key
        self._store = store
        self._reader = reader
        self._clock = clock
        self._terms = terms
        self._behind_ms = max(0, terms.floor_ms - clock.now_ms())
        self._attempts = attempts
        self._epoch: int | None = None
        self._loaded: Loaded | None = None
        self.dispatch_seq = 0
        """The newest `llm.call.dispatched`; names the stream that deltas belong to."""

    @property
    def loaded(self) -> Loaded:
        """What was read or committed last; `load` comes first."""
        if self._loaded is None:
            raise DefectError("the session was not loaded")
        return self._loaded

    @property
    def head(self) -> Head:
        """The head that the next commit builds on."""
        return self.loaded.head

    @property
    def session(self) -> Session:
        """The folded state."""
        return self.head.session

    @property
    def by(self) -> str:
        """How this driver signs its commits."""
        return f"driver:{self._next_epoch()}"

    def now_ms(self) -> int:
        """Return the time, which is never before the timer that woke us."""
        return self._clock.now_ms() + self._behind_ms

    def load(self) -> Watch | None:
        """Read the session; return who reads it, or `None` where there is nothing to drive.

        That is a session that does not exist, or one that is quarantined.
        """
        try:
            head, watch = self._store.head_and_watch(self.key)
        except SessionQuarantined:
            return None
        if head is None or head.quarantined is not None:
            return None
        try:
            with vanishing(self._store, self.key):
                self._take(self._reader.load(self.key, head))
        except UnknownSession:
            return None
        return watch

    def reload(self) -> tuple[Logged, ...]:
        """Read the session again; return the commits of others that were not known yet.

        Raises `OwnerChanged` where one of them is another driver's, or nobody may go on.
        """
        before = self.session.seq
        head = self._store.head(self.key)
        if head is None or head.quarantined is not None or self._is_foreign(head):
            raise OwnerChanged
        self._take(self._reader.load(self.key, head))
        new = [one for one in self.loaded.logged if one.last_seq > before]
        return self._store.materialise(self.key, new)

    def unheard(self, since_version: int | None) -> tuple[Logged, ...]:
        """Return the newest commits that readers may not have: those that no driver made.

        After a crash also those of the vanished driver, which took its unsent frames with it: all
        from `since_version` on.
        """
        tail: list[Logged] = []
        next_seq = self.session.seq + 1
        for commit in reversed(self.loaded.logged):
            if commit.last_seq + 1 != next_seq:
                break  # what lies between is of another branch
            next_seq = commit.first_seq
            lost = since_version is not None and commit.version >= since_version
            if commit.by.startswith("driver:") and not lost:
                break
            tail.append(commit)
        return self._store.materialise(self.key, tail[::-1])

    @property
    def is_released(self) -> bool:
        """Whether it was handed over, and nobody has sent what was dispatched then."""
        owner = self.head.owner
        return owner is not None and owner.request_id == RELEASED

    def is_running_elsewhere(self) -> bool:
        """Return whether another driver claimed the session and may be running its effects."""
        owner = self.head.owner
        return owner is not None and owner.is_driver and owner.request_id != self._terms.request_id

    def commit(self, make: MakeCommand) -> tuple[Logged, ...]:
        """Decide and append; returns the commits that are new to readers, ours last, or none.

        Raises `LeaseLost` (nothing is committed any more), `OwnerChanged`, `StoreUnavailable`.
        """
        found: tuple[Logged, ...] = ()
        attempts = self._attempts()
        while True:
            with attempts.once() as lost:
                made = self._append(make)
                return (*found, made) if made else found
            found += self.reload()
            self._know(lost.taken)

    def claim(self) -> None:
        """Become the owner without an event. Raises `OwnerChanged` where another one was faster."""
        self._own(Owner(self._next_epoch(), self._terms.request_id))

    def release(self) -> None:
        """Give up the ownership, so that the next driver starts what is dispatched as it is.

        Only for a driver that has nothing under way: what it started may not be started again.
        """
        owner = self.head.owner
        if owner is not None and owner.request_id == self._terms.request_id:
            self._own(Owner(owner.epoch, RELEASED))

    def _own(self, owner: Owner) -> None:
        attempts = self._attempts()
        while True:
            self._check_lease()
            with attempts.once():
                head = self._store.claim(self.key, self.head, owner)
                self._epoch = owner.epoch
                self._take(replace(self.loaded, head=head))
                return
            self.reload()

    def _append(self, make: MakeCommand) -> Logged | None:
        self._check_lease()
        loaded = self.loaded
        stamp = Stamp(self.now_ms(), self._clock.entropy())
        owner_id, charged = self.session.owner_id, self.session.charged
        facts = self._reader.with_budgets(loaded.facts, self.key.tenant, owner_id, charged)
        decided = decide(self.session, make(stamp, facts))
        if not decided.events:
            return None
        epoch = self._next_epoch()
        due = due_epoch_s(
            decided.session, stamp.now_ms, self._terms.runnable_s, loaded.head.due_epoch_s
        )
        head = self._store.append(
            NewCommit(
                key=self.key,
                before=loaded.head,
                after=decided.session,
                events=decided.events,
                commit_id=stamp.uuid(0),
                at_ms=stamp.now_ms,
                by=f"driver:{epoch}",
                owner=Owner(epoch, self._terms.request_id),
                due_epoch_s=due,
                counts=decided.counts,
            )
        )
        self._epoch = epoch
        logged = self._store.materialise(
            self.key, (_as_logged(loaded.head, head, decided, stamp.now_ms, epoch),)
        )
        path = tuple(n for n in decided.path if n.seq >= decided.session.window.from_seq)
        facts = replace(
            loaded.facts,
            path=path,
            agent=decided.agent,
            route=decided.route,
            routes=decided.routes,
            inbox={**loaded.facts.inbox, **waiting_in(logged)},
            orders={**loaded.facts.orders, **orders_in(logged, decided.session)},
        )
        if loaded.facts.events:
            added = dict(event for commit in logged for event in commit.numbered())
            facts = replace(facts, events={**loaded.facts.events, **added})
        self._take(Loaded(head, (*loaded.logged, *logged), facts))
        return logged[0]

    def _next_epoch(self) -> int:
        if self._epoch is not None:
            return self._epoch
        return (self.head.owner.epoch if self.head.owner else 0) + 1

    def _is_foreign(self, head: Head) -> bool:
        """Return whether another driver, or `recovery` (nameless), took the session away."""
        if head.created != self.head.created:
            return True  # deleted, and its id is used again
        owner, known = head.owner, self.head.owner
        if owner is None or owner.request_id == self._terms.request_id:
            return False
        if owner.epoch > max(known.epoch if known else 0, self._epoch or 0):
            return True
        return owner.is_driver and (known is None or owner.request_id != known.request_id)

    def _check_lease(self) -> None:
        if not self._terms.is_held():
            raise LeaseLost("the lease on the wake-up is gone")

    def _know(self, taken: frozenset[str]) -> None:
        facts = self.loaded.facts
        self._take(replace(self.loaded, facts=replace(facts, taken=facts.taken | taken)))

    def _take(self, loaded: Loaded) -> None:
        self._loaded = loaded
        for commit in loaded.logged:
            for seq, event in commit.numbered():
                if isinstance(event, ModelCallDispatched) and seq > self.dispatch_seq:
                    self.dispatch_seq = seq


def _as_logged(before: Head, after: Head, decided: Decided, at_ms: int, epoch: int) -> Logged:
    return Logged(
        first_seq=before.session.seq + 1,
        last_seq=after.session.seq,
        commit_id=after.commit_id,
        at_ms=at_ms,
        by=f"driver:{epoch}",
        version=after.version,
        created=after.created,
        events=decided.events,
    )
