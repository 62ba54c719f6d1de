"""Advances one session until nothing is runnable: propose, start, settle, again and again; the rules are the core's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from everturn.commands.attempts import Attempts
from everturn.commands.reading import AgentLookup, SessionReader
from everturn.drive.decision import DELIVERY_LIMIT_S, Decider, Secrets, deliver
from everturn.drive.effects import Effects, Ended, Mail, Seen
from everturn.drive.holding import Holding, MakeCommand, OwnerChanged, Terms
from everturn.drive.lease import Lease
from everturn.drive.llm import REQUEST_LIMIT_S, rebuilt, requested_event, run_model_call
from everturn.drive.stream import Stream
from everturn.drive.timer import SLEPT_MS, schedule
from everturn.drive.tool import state_of, to_command, to_request
from everturn.drive.watch import watching
from everturn.errors import EverturnError, LeaseLost
from everturn.llm.registry import ModelRegistry
from everturn.observability import logger
from everturn.ports import Clock, SessionKey, SessionStore, Wake
from everturn.protocol.events import from_rfc3339
from everturn.protocol.wake import WakeUp
from everturn.push.lanes import Lanes
from everturn.session.commands import Proceed, TakeOver
from everturn.session.events.model_calls import RequestHeader
from everturn.session.events.sessions import SessionCreated
from everturn.session.propose import CallModel, DeliverToWorker, Effect, propose
from everturn.workers.answer import Deferred, DeliveryFailed

MARGIN_S: Final = 30
"""What must remain beside a request's own limit before it starts. Source: architecture, section 4."""

IDLE_S: Final = 1.0
"""Longest that the loop sleeps while effects run."""

FLUSH_S: Final = 5.0
"""How long a driver that is done waits for its last frames to go out."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a driver works with; made once a process."""

    store: SessionStore
    reader: SessionReader
    agents: AgentLookup
    wake: Wake
    clock: Clock
    models: ModelRegistry
    decider: Decider
    secrets: Secrets
    new_lanes: Callable[[SessionKey], Lanes]
    attempts: Callable[[], Attempts]
    runnable_s: int


@dataclass(frozen=True, slots=True)
class Invocation:
    """What one queue message and one invocation bring."""

    request_id: str
    receive_count: int
    remaining_ms: Callable[[], int]


class AdvanceSession:
    """The driver's use case."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def __call__(self, wake: WakeUp, lease: Lease, invocation: Invocation) -> None:
        """Work on the session until nothing is runnable, or time is short.

        Returns where another driver has it. Raises `LeaseLost`, `TransientError`: the message comes back.
        """
        tools = self._tools
        key = SessionKey(wake.tenant, wake.session)
        terms = Terms(
            invocation.request_id,
            tools.runnable_s,
            lease.is_held,
            from_rfc3339(wake.due) if wake.due else 0,
        )
        holding = Holding(key, tools.store, tools.reader, tools.clock, terms, tools.attempts)
        watch = holding.load()
        if watch is None:
            return
        lanes = tools.new_lanes(key)
        stream = Stream(key, tools.store, lanes, tools.clock.now_ms)
        stream.watched_by(watch)
        drive = _Drive(tools, holding, stream, lease, invocation)
        try:
            drive.run()
        except OwnerChanged:
            logger.info("another driver has the session")
        finally:
            drive.stop()
            lanes.flush(FLUSH_S)
            lanes.close()


class _Drive:
    """One invocation's work on one session."""

    def __init__(
        self,
        tools: Tools,
        holding: Holding,
        stream: Stream,
        lease: Lease,
        invocation: Invocation,
    ) -> None:
        self._tools = tools
        self._holding = holding
        self._stream = stream
        self._lease = lease
        self._invocation = invocation
        self._effects = Effects(self._body)
        self._bodies: dict[Effect, Callable[[Callable[[], bool]], MakeCommand | None]] = {}

    def run(self) -> None:
        """Loop until there is nothing to do now."""
        for commit in self._holding.foreign_tail():
            self._stream.commit(commit)
        self._take_over()
        with watching(self._tools.store, self._holding.key, self._saw):
            while self._turn():
                pass

    def stop(self) -> None:
        """Let go of everything under way."""
        self._effects.revoke_all()

    def _take_over(self) -> None:
        """Replace what another driver was running, before any effect of ours. Source: architecture 4."""
        if not propose(self._holding.session).effects:
            return
        if self._invocation.receive_count > 1 or self._holding.is_running_elsewhere():
            logger.info("taking the session over")
            made = self._commit(lambda stamp, facts: TakeOver(stamp, facts))
            if not made:
                self._holding.claim()

    def _turn(self) -> bool:
        """Do one round; returns whether there is another."""
        proposals = propose(self._holding.session)
        self._effects.keep_only(proposals.effects)
        now_ms = self._holding.now_ms()
        if proposals.next_due_ms is not None and proposals.next_due_ms <= now_ms:
            if self._commit(lambda stamp, facts: Proceed(stamp, facts)):
                return True
        started = [self._start(effect) for effect in proposals.effects]
        if not self._effects:
            if not all(started):
                return self._hand_over()
            if proposals.next_due_ms is None:
                return False
            if proposals.next_due_ms - now_ms > SLEPT_MS:
                schedule(self._tools.wake, self._holding, proposals)
                return False
        self._wait(proposals.next_due_ms, now_ms)
        return True

    def _wait(self, due_ms: int | None, now_ms: int) -> None:
        timeout_s = IDLE_S
        if due_ms is not None:
            timeout_s = min(timeout_s, max(0.0, (due_ms - now_ms) / 1000))
        delta_s = self._stream.due_in_s()
        if delta_s is not None:
            timeout_s = min(timeout_s, delta_s)
        mail = self._effects.next(timeout_s)
        self._stream.tick()
        if not self._lease.is_held():
            raise LeaseLost("the lease on the wake-up is gone")
        if mail is not None:
            self._read(mail)

    def _read(self, mail: Mail) -> None:
        match mail:
            case Seen(head=head, watch=watch):
                self._stream.watched_by(watch)
                if head is None:
                    raise OwnerChanged  # deleted meanwhile
                if head.version > self._holding.head.version:
                    for commit in self._holding.reload():
                        self._stream.commit(commit)
            case Ended(effect=effect, make=make, error=error):
                if not self._effects.done(effect):
                    return
                self._bodies.pop(effect, None)
                if error is not None:
                    raise error
                if make is not None:
                    self._commit(make)

    def _commit(self, make: MakeCommand) -> bool:
        """Commit and tell the readers; returns whether there was something to commit."""
        commits = self._holding.commit(make)
        if not commits:
            return False
        self._look_for_readers()
        for commit in commits:
            self._stream.commit(commit)
        return True

    def _look_for_readers(self) -> None:
        """Who subscribed before this moment is pushed the commit; who does so later reads it in the log."""
        try:
            self._stream.watched_by(self._tools.store.watch(self._holding.key))
        except EverturnError as error:
            logger.warning("readers could not be looked up", reason=type(error).__name__)

    def _hand_over(self) -> bool:
        """Leave the session to the next invocation, which gets the time that a request needs."""
        head = self._holding.head
        self._tools.wake.now(
            self._holding.key, head.created, "llm", head.version, self._invocation.request_id
        )
        return False

    def _saw(self, head: Any, watch: Any) -> None:
        self._effects.mailbox.put(Seen(head, watch))

    def _start(self, effect: Effect) -> bool:
        """Start an effect that is not under way; returns `False` where the time left is too short."""
        if effect in self._effects:
            return True
        match effect:
            case CallModel():
                prepared = self._model_call(effect)
            case DeliverToWorker():
                prepared = self._delivery(effect)
        limit_s, body = prepared
        if self._invocation.remaining_ms() < (limit_s + MARGIN_S) * 1000:
            return False
        self._bodies[effect] = body
        self._effects.start(effect)
        return True

    def _body(self, effect: Effect, revoked: Callable[[], bool]) -> MakeCommand | None:
        return self._bodies[effect](revoked)

    def _time_left_s(self, deadline_ms: int | None, limit_s: float) -> float:
        if deadline_ms is None:
            return limit_s
        return min(limit_s, max(0.0, (deadline_ms - self._holding.now_ms()) / 1000))

    def _model_call(
        self, effect: CallModel
    ) -> tuple[float, Callable[[Callable[[], bool]], MakeCommand | None]]:
        holding = self._holding
        call = holding.session.call(effect.call_id)
        assert call is not None  # propose named it
        facts, logged = holding.loaded.facts, holding.loaded.logged
        request = rebuilt(holding.session, call, logged, facts, self._stored_header)
        selector = requested_event(call, logged).model
        limit_s = self._time_left_s(call.deadline_ms, REQUEST_LIMIT_S)
        until = time.monotonic() + limit_s
        self._stream.begin(
            holding.dispatch_seq, call.id, call.attempt, call.turn_id, holding.session.agent_id
        )

        def body(revoked: Callable[[], bool]) -> MakeCommand | None:
            return run_model_call(
                self._tools.models,
                selector,
                request,
                effect,
                expired=lambda: time.monotonic() >= until,
                revoked=revoked,
                on_delta=lambda delta: self._stream.delta(call.id, call.attempt, delta),
            )

        return limit_s, body

    def _stored_header(self) -> dict[str, Any]:
        holding = self._holding
        seq = holding.session.header_seq
        logged = self._tools.store.materialise(
            holding.key, self._tools.store.log(holding.key, seq, seq)
        )
        return next(
            event.header
            for commit in logged
            for number, event in commit.numbered()
            if number == seq and isinstance(event, RequestHeader)
        )

    def _delivery(
        self, effect: DeliverToWorker
    ) -> tuple[float, Callable[[Callable[[], bool]], MakeCommand | None]]:
        holding = self._holding
        decision = holding.session.decision(effect.decision_id)
        call = holding.session.call(effect.call_id)
        assert decision is not None and call is not None  # propose named them
        facts = holding.loaded.facts
        state = self._state()
        request = to_request(
            holding.session, decision, call, holding.loaded.logged, facts, state, self._owner()
        )
        record = self._tools.agents(holding.key.tenant, holding.session.agent_id)
        limit_s = self._time_left_s(decision.deadline_ms, DELIVERY_LIMIT_S)

        def body(revoked: Callable[[], bool]) -> MakeCommand | None:
            until = time.monotonic() + limit_s
            answer = deliver(
                self._tools.decider,
                record,
                self._tools.secrets,
                request,
                timeout_s=limit_s,
                cancelled=revoked,
            )
            if isinstance(answer, Deferred):
                answer = _waited(until, revoked)
            return None if revoked() else to_command(answer, decision, call, facts, state)

        return limit_s, body

    def _state(self) -> Any:
        holding = self._holding
        seq = holding.session.state_seq
        if not seq:
            return None
        found = state_of(holding.session, holding.loaded.logged)
        if found is None:
            store = self._tools.store
            found = state_of(
                holding.session, store.materialise(holding.key, store.log(holding.key, seq, seq))
            )
        return found.state if found else None

    def _owner(self) -> dict[str, Any]:
        """Return the session's owner as a worker sees it. Source: decision-protocol Q-8."""
        for commit in self._holding.loaded.logged:
            for event in commit.events:
                if isinstance(event, SessionCreated):
                    return event.owner.model_dump(exclude_none=True)
        return {"id": self._holding.session.owner_id}


def _waited(until: float, revoked: Callable[[], bool]) -> DeliveryFailed:
    """Keep a delivery that the worker took on live until its deadline. Source: decision-protocol D-7."""
    while time.monotonic() < until and not revoked():
        time.sleep(min(0.5, max(0.0, until - time.monotonic())))
    return DeliveryFailed(
        error="the worker said that it would answer later, and did not",
        code="deadline_exceeded",
        retryable=True,
        started="unknown",
    )
