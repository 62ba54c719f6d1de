"""Changes a session from outside a driver: load, decide, append, wake. It never waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from everturn.commands.attempts import Attempts
from everturn.commands.reading import SessionReader, seen_by, unreadable_hidden
from everturn.commands.second_look import looked_at_again
from everturn.commands.vanishing import vanishing
from everturn.errors import EverturnError
from everturn.observability import logger
from everturn.ports.callers import Caller
from everturn.ports.clock import Clock
from everturn.ports.session_store import SessionStore
from everturn.ports.sessions import Head, NewCommit, Owner, SessionKey
from everturn.ports.wake import Wake, dedup_of_commit
from everturn.session.commands import Command
from everturn.session.decide.entry import Decided, decide
from everturn.session.facts import Facts, Stamp
from everturn.session.propose import due_epoch_s, propose
from everturn.session.state import Session
from everturn.store.codec import refusal

Make = Callable[[Stamp, Facts, Session], Command]
"""Builds a command on what holds when it is decided; called again after a lost race."""


@dataclass(frozen=True, slots=True)
class ChangeSession:
    """What the use cases of one function change sessions with."""

    store: SessionStore
    reader: SessionReader
    wake: Wake
    clock: Clock
    by: str
    """The function's name; its commits are signed with it."""

    runnable_s: int
    attempts: Callable[[], Attempts]

    def __call__(self, caller: Caller, session_id: str, make: Make) -> Decided:
        """Do what `make` asks of the session; a command without events writes nothing.

        Raises `UnknownSession`, what the core raises, `StoreUnavailable`.
        """
        key = SessionKey(caller.tenant, session_id)
        with looked_at_again(self.wake, self.clock, key):
            return self._change(caller, key, make)

    def _change(self, caller: Caller, key: SessionKey, make: Make) -> Decided:
        taken: frozenset[str] = frozenset()
        attempts = self.attempts()
        while True:
            with unreadable_hidden(caller):
                head = seen_by(caller, self.store.head(key))
            if head.quarantined is not None:
                raise refusal(key, head.quarantined)
            with attempts.once() as lost:
                return self._decided(key, head, make, taken)
            taken |= lost.taken

    def _decided(self, key: SessionKey, head: Head, make: Make, taken: frozenset[str]) -> Decided:
        with vanishing(self.store, key):
            facts = replace(self.reader.load(key, head).facts, taken=taken)
        owner_id, charged = head.session.owner_id, head.session.charged
        facts = self.reader.with_budgets(facts, key.tenant, owner_id, charged)
        stamp = self.stamp()
        decided = decide(head.session, make(stamp, facts, head.session))
        if decided.events:
            self.append(key, head, decided, stamp)
        return decided

    def stamp(self) -> Stamp:
        """Return the time and the randomness of one command."""
        return Stamp(self.clock.now_ms(), self.clock.entropy())

    def append(self, key: SessionKey, head: Head | None, decided: Decided, stamp: Stamp) -> Head:
        """Write what was decided on `head`, and wake a driver where there is something to do."""
        proposals = propose(decided.session)
        was_held = head is not None and head.session.is_held
        is_paused = decided.session.is_held and not was_held  # a driver looks once more, see ADR
        is_runnable = bool(proposals.effects) or proposals.is_ready or is_paused
        step = _step(decided.session) if is_runnable or proposals.next_due_ms else None
        before = head.owner.epoch if head and head.owner else 0
        due = due_epoch_s(
            decided.session, stamp.now_ms, self.runnable_s, head.due_epoch_s if head else None
        )
        committed = self.store.append(
            NewCommit(
                key=key,
                before=head,
                after=decided.session,
                events=decided.events,
                commit_id=stamp.uuid(0),
                at_ms=stamp.now_ms,
                by=self.by,
                wake=step,
                owner=head.owner if head and _is_driven(head) else Owner(before, ""),
                due_epoch_s=due,
                counts=decided.counts,
                created=head.created if head else stamp.uuid(3),
            )
        )
        if step is not None:
            self._send_wake(key, committed, step)
        return committed

    def _send_wake(self, key: SessionKey, head: Head, step: str) -> None:
        """Tell a driver at once; if that fails, the table's stream will. Source: architecture 2."""
        try:
            dedup = dedup_of_commit(head.created, head.version)
            self.wake.now(key, head.created, step, head.version, dedup)
        except EverturnError as error:  # it is recorded: whatever this is, the answer is success
            code = getattr(error, "code", type(error).__name__)
            logger.warning("wake-up could not be sent; the stream will send it", reason=code)


def _is_driven(head: Head) -> bool:
    """Return whether a driver has effects of its own under way, which it goes on to own."""
    return bool(propose(head.session).effects) and head.owner is not None


def _step(session: Session) -> str:
    return "llm" if any(call.kind == "llm_call" for call in session.calls) else "decision"
