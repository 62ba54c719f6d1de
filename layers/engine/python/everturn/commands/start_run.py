"""Starts runs: a turn with settings of its own, in a new session or at the end of one's queue.

It never waits and calls nobody outside; how a run is spelled on the wire is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from everturn.commands.change import ChangeSession
from everturn.commands.reading import seen_by, unreadable_hidden
from everturn.commands.second_look import looked_at_again
from everturn.commands.submit_input import KeepUploads
from everturn.commands.vanishing import vanishing
from everturn.errors import TransientError
from everturn.observability import logger
from everturn.ports.callers import Caller
from everturn.ports.sessions import Head, SessionKey
from everturn.session.commands import SubmitInput
from everturn.session.decide.entry import decide
from everturn.session.events.sessions import DEFAULT_OWNER, Owner
from everturn.session.facts import Facts
from everturn.session.inbox_commands import BeginSession, RunOrder
from everturn.session.state import Session
from everturn.store.codec import refusal

BASE_AGENT: Final = "runs"
"""The agent of runs that name none: its tools are those registered with the tenant, its worker
runs them, and its model is what a run without one gets. It need not be there."""

READER_COMES_MS: Final = 10_000
"""How long after its start a run is streamed for a reader who has not come yet."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run to start."""

    agent_id: str
    order: RunOrder
    messages: tuple[Mapping[str, Any], ...]
    """`DraftMessage`s as JSON, which follow what the session has."""

    session_id: str | None = None
    """Where it goes on; a new session where None."""


@dataclass(frozen=True, slots=True)
class Started:
    """What became of it."""

    session_id: str
    run_id: str


class StartRun:
    """The use case behind `POST /agent-runs` and `POST /agent-sessions/{id}/messages`."""

    def __init__(
        self,
        change: ChangeSession,
        check_route: Callable[[str, Facts], None],
        keep_uploads: KeepUploads = lambda _tenant, _messages: None,
    ) -> None:
        self._change = change
        self._check_route = check_route
        self._keep_uploads = keep_uploads

    def __call__(self, caller: Caller, wanted: Wanted) -> Started:
        """Record a run; it opens at once, or waits while another one of its session is open.

        Raises `UnknownSession`, `SessionCancelled`, `UnknownAgent`, `StoreUnavailable`.
        """
        stamp = self._change.stamp()
        key = SessionKey(caller.tenant, wanted.session_id or stamp.uuid(1))
        started = Started(key.session, stamp.uuid(2))
        taken: frozenset[str] = frozenset()
        attempts = self._change.attempts()
        with looked_at_again(self._change.wake, self._change.clock, key):
            while True:
                head = self._head(caller, key) if wanted.session_id else None
                with attempts.once() as lost:
                    self._once(caller, wanted, started, head, taken)
                    return started
                taken |= lost.taken

    def begin(self, caller: Caller, agent_id: str, order: RunOrder) -> tuple[str, int]:
        """Make a session without a run; return its id and when it was made, in epoch ms.

        `order.run` is its description, and `order.config` what its runs fall back to.
        """
        stamp = self._change.stamp()
        key = SessionKey(caller.tenant, stamp.uuid(1))
        facts = self._change.reader.for_run(caller.tenant, agent_id, order.config)
        self._check_route(caller.tenant, facts)
        command = BeginSession(stamp, facts, key.session, agent_id, _owner(caller), dict(order.run))
        self._change.append(key, None, decide(Session(), command), stamp)
        return key.session, stamp.now_ms

    def _head(self, caller: Caller, key: SessionKey) -> Head:
        with unreadable_hidden(caller):
            head = seen_by(caller, self._change.store.head(key))
        if head.quarantined is not None:
            raise refusal(key, head.quarantined)
        return head

    def _once(
        self,
        caller: Caller,
        wanted: Wanted,
        started: Started,
        head: Head | None,
        taken: frozenset[str],
    ) -> None:
        change, reader = self._change, self._change.reader
        key, config = SessionKey(caller.tenant, started.session_id), wanted.order.config
        if head is None:
            facts = reader.for_run(key.tenant, wanted.agent_id, config)
            owner = _owner(caller)
        else:
            with vanishing(change.store, key):
                facts = reader.load(key, head).facts
            owner = Owner(id=head.session.owner_id)
        facts = reader.with_routes(facts, key.tenant, config)
        charged = head.session.charged if head else ()
        facts = reader.with_budgets(facts, key.tenant, owner.id, charged)
        self._check_route(key.tenant, _going_by(facts, config))
        session, stamp = head.session if head else Session(), change.stamp()
        command = SubmitInput(
            stamp=stamp,
            facts=replace(facts, taken=taken),
            session_id=key.session,
            agent_id=session.agent_id or wanted.agent_id,
            owner=owner,
            turn_id=started.run_id,
            input_type="client.message",
            view=wanted.messages,
            stream=True,
            decides=facts.agent.decides,
            run=wanted.order,
        )
        decided = decide(session, command)
        self._keep_uploads(key.tenant, wanted.messages)
        if decided.session.turn is not None and decided.session.turn.id == started.run_id:
            self._expect_reader(key, head.created if head else stamp.uuid(3))
        change.append(key, head, decided, stamp)

    def _expect_reader(self, key: SessionKey, created: str) -> None:
        """Have what is streamed kept from its first word on: clients open the stream at once."""
        change = self._change
        until_ms = change.clock.now_ms() + READER_COMES_MS
        try:
            change.store.reader_until(key, until_ms, created)
        except TransientError as error:
            logger.warning("a reader was not announced", reason=type(error).__name__)


def _going_by(facts: Facts, config: Mapping[str, Any] | None) -> Facts:
    """Return `facts` as they are for a turn that has a config of its own."""
    if config is None:
        return facts
    route = facts.routes.get(config["model"], facts.route)
    return replace(facts, agent=replace(facts.agent, config=config), route=route)


def _owner(caller: Caller) -> Owner:
    return caller.owner or DEFAULT_OWNER
