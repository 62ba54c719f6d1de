"""Carries what one session causes in another: a child begins, a message, report or cancel arrives.

It never waits for what follows there, and doing it twice does it once. Source: decision-protocol,
section 15; storage-and-commits, "Commits" 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from everturn.commands.change import ChangeSession
from everturn.commands.vanishing import vanishing
from everturn.errors import RejectedError, SessionConflict, StoreUnavailable
from everturn.ports.sessions import Head, SessionKey
from everturn.rejections import (
    ForbiddenTarget,
    SessionQuarantined,
    UnknownAgent,
    UnknownSession,
)
from everturn.session.commands import CancelSession, Command
from everturn.session.decide.entry import decide
from everturn.session.decide.inbox import turn_of_message
from everturn.session.events.sessions import Owner
from everturn.session.facts import Facts, Stamp
from everturn.session.mail_commands import HearChild, Report, StartChild, StartFailed, TakeMessage
from everturn.session.state import Session

Make = Callable[[Stamp, Facts], Command]

GONE: Final = UnknownSession("There is no such session any more.")


@dataclass(frozen=True, slots=True)
class Child:
    """A child session that is to begin, or that was to."""

    key: SessionKey
    agent_id: str
    owner: Owner
    ancestry: tuple[str, ...]
    """From the root session to the parent."""

    call_id: str
    """The parent's call that it answers."""


class Crossing:
    """What a driver does in sessions that are not its own."""

    def __init__(self, change: ChangeSession, check_route: Callable[[str, Facts], None]) -> None:
        self._change = change
        self._check_route = check_route

    def start(self, child: Child) -> StartFailed | None:
        """Begin a child, or find that it has begun; return why it cannot begin.

        Raises a `TransientError`, also where it is quarantined. Source: B-3, B-5.
        """
        try:
            self._begin(child, is_given_up=False)
        except UnknownAgent as error:
            return StartFailed(error.message, None, False, {"reason": "unknown_agent"})
        except SessionConflict as error:
            return StartFailed(error.message, None, False, {"reason": "session_conflict"})
        except RejectedError as error:
            return StartFailed(error.message, None, False, {"reason": error.code})
        return None

    def _begin(self, child: Child, *, is_given_up: bool) -> None:
        def make(stamp: Stamp, facts: Facts) -> Command:
            return StartChild(
                stamp,
                facts,
                child.key.session,
                child.agent_id,
                child.owner,
                child.ancestry,
                child.call_id,
                is_given_up,
            )

        def fresh() -> Facts:
            facts = self._change.reader.for_new_session(child.key.tenant, child.agent_id)
            self._check_route(child.key.tenant, facts)
            return facts

        self._do(child.key, make, lambda head: head is None or _is_of(head, child), fresh)

    def send(self, key: SessionKey, owner_id: str, message: Mapping[str, Any]) -> None:
        """Have a message wait in a session of that owner for a turn of its own, once.

        Raises a `RejectedError` where nobody takes it, or a `TransientError`. Source: B-14.
        """
        store, message_id = self._change.store, message["id"]
        turn_id = turn_of_message(key.session, message_id)

        def is_new(head: Head | None) -> bool:
            if head is None:
                raise GONE
            if head.session.owner_id != owner_id:
                raise ForbiddenTarget("The session is another owner's.")
            known, record = store.head_and_turn(key, turn_id)
            is_same = known is not None and known.version == head.version
            return not is_same or not (record or store.nodes(key, [message_id]))

        self._do(key, lambda stamp, facts: TakeMessage(stamp, facts, message, turn_id), is_new)

    def report(self, key: SessionKey, call_id: str, child_id: str, report: Report) -> None:
        """Tell a parent what became of its child. Raises as `send` does. Source: B-7, B-9."""

        def is_there(head: Head | None) -> bool:
            if head is None:
                raise GONE
            return head.session.call(call_id) is not None

        self._do(
            key, lambda stamp, facts: HearChild(stamp, facts, call_id, child_id, report), is_there
        )

    def cancel(self, child: Child) -> None:
        """End a child whose call was given up; one that is not there yet never runs.

        A session of that id which is not the child goes on. Raises as `send` does. Source: B-10.
        """

        def is_its_own(head: Head | None) -> bool:
            return head is not None and _is_of(head, child)

        with suppress(SessionConflict, UnknownAgent):
            if self._head(child.key) is None:
                self._begin(child, is_given_up=True)
            else:
                self._do(child.key, _cancelled_by_parent, is_its_own)

    def _do(
        self,
        key: SessionKey,
        make: Make,
        is_wanted: Callable[[Head | None], bool],
        fresh: Callable[[], Facts] | None = None,
    ) -> None:
        """Commit what `make` leads to, on whatever holds when it is decided, where it is wanted.

        A session that is not there begins with the facts that are `fresh`.
        """
        taken: frozenset[str] = frozenset()
        attempts = self._change.attempts()
        while True:
            head = self._head(key)
            if not is_wanted(head):
                return
            with attempts.once() as lost:
                self._once(key, head, make, taken, fresh)
                return
            taken |= lost.taken

    def _head(self, key: SessionKey) -> Head | None:
        """Return a head. Raises `StoreUnavailable` where it is put aside: that does not last."""
        quarantined = StoreUnavailable(f"the session {key.session} is quarantined")
        try:
            head = self._change.store.head(key)
        except SessionQuarantined as error:
            raise quarantined from error
        if head is not None and head.quarantined is not None:
            raise quarantined
        return head

    def _once(
        self,
        key: SessionKey,
        head: Head | None,
        make: Make,
        taken: frozenset[str],
        fresh: Callable[[], Facts] | None,
    ) -> None:
        change = self._change
        if head is not None:
            with vanishing(change.store, key):
                facts = change.reader.load(key, head).facts
        elif fresh is not None:
            facts = fresh()
        else:
            return
        session = head.session if head else Session()
        owner_id, charged = session.owner_id, session.charged
        facts = change.reader.with_budgets(facts, key.tenant, owner_id, charged)
        stamp = change.stamp()
        decided = decide(session, make(stamp, replace(facts, taken=taken)))
        if decided.events:
            change.append(key, head, decided, stamp)


def _cancelled_by_parent(stamp: Stamp, facts: Facts) -> Command:
    return CancelSession(stamp, facts, "parent")


def _is_of(head: Head, child: Child) -> bool:
    """Return whether a session that is there is that child. Raises `SessionConflict`."""
    parent = head.session.parent
    if parent is None or (parent.session_id, parent.call_id) != (child.ancestry[-1], child.call_id):
        raise SessionConflict(f"There is another session {child.key.session} already.")
    return True
