"""Advances one session until nothing is runnable: propose, start, settle; rules are the core's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from everturn.commands.vanishing import vanishing
from everturn.drive.effects import Ended, Mail, Seen
from everturn.drive.holding import Holding, MakeCommand, OwnerChanged, Terms
from everturn.drive.lease import Lease
from everturn.drive.prepare import Preparer, Run
from everturn.drive.stream import Stream
from everturn.drive.timer import SLEPT_MS, schedule
from everturn.drive.tools import Invocation, Tools
from everturn.errors import EverturnError, LeaseLost
from everturn.observability import logger
from everturn.ports.sessions import Head, Logged, SessionKey
from everturn.ports.streams import Watch
from everturn.protocol.events import from_rfc3339
from everturn.protocol.wake import Settles, WakeUp
from everturn.push.lanes import CLOSE_S
from everturn.rejections import SessionQuarantined, UnknownSession
from everturn.session.commands import Proceed, TakeOver
from everturn.session.facts import Facts, Stamp
from everturn.session.propose import Effect, HandToMachine, propose

MARGIN_S: Final = 30
"""What must remain beside a request's own limit before it starts. Source: architecture 4."""

IDLE_S: Final = 1.0
"""Longest that the loop sleeps without a look at its lease."""

FLUSH_S: Final = 5.0
"""How long a driver that is done waits for its last frames to go out."""


class AdvanceSession:
    """The driver's use case."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def __call__(self, wake: WakeUp, lease: Lease, invocation: Invocation) -> None:
        """Work on the session until nothing is runnable, or time is short.

        Returns where another driver has it, or nobody may: it is quarantined or deleted. Raises
        `LeaseLost` or a `TransientError`: the message comes back.
        """
        tools = self._tools
        key = SessionKey(wake.tenant, wake.session)
        due_ms = from_rfc3339(wake.due) if wake.due else 0
        terms = Terms(invocation.request_id, tools.runnable_s, lease.is_held, due_ms)
        holding = Holding(key, tools.store, tools.reader, tools.clock, terms, tools.attempts)
        watch = holding.load()
        if watch is None:
            return
        lanes = tools.new_lanes(key)
        stream = Stream(key, tools.store, lanes, tools.clock.now_ms, holding.head.created)
        stream.watched_by(watch)
        drive = _Drive(tools, holding, stream, lease, invocation)
        since_version = wake.version if invocation.receive_count > 1 else None
        try:
            with vanishing(tools.store, key):
                drive.run(holding.unheard(since_version), wake.settles)
        except (OwnerChanged, SessionQuarantined, UnknownSession):
            logger.info("another driver has the session, or nobody may")
        finally:
            drive.stop()
            lanes.flush(FLUSH_S)
            lanes.close()
            lanes.flush(CLOSE_S)


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
        self._prepare = Preparer(tools, holding, stream)
        self._effects = tools.new_effects(self._body)
        self._runs: dict[Effect, Run] = {}
        self._inherited: tuple[Effect, ...] = propose(holding.session).effects
        self._handed: set[Effect] = set()
        """What the step machine is known to do."""

        self._looked_at: set[str] = set()
        """Pauses for which the budgets were looked at again."""

    def run(self, unheard: tuple[Logged, ...], settles: Settles | None) -> None:
        """Push what was found, settle what the wake-up brings, then loop until nothing is to do."""
        for commit in unheard:
            self._stream.commit(commit)
        self._take_over()
        if settles is not None:
            self._settle(settles)
        with self._tools.watching(self._tools.store, self._holding.key, self._saw):
            while self._round():
                pass

    def stop(self) -> None:
        """Let go of everything under way."""
        self._effects.revoke_all()

    def _take_over(self) -> None:
        """Replace what another driver was running, before any effect of ours.

        Source: architecture 4.
        """
        if not propose(self._holding.session).runs_here:
            return
        if self._holding.is_released:
            self._holding.claim()  # nothing was sent yet, however often this message came
        elif self._invocation.receive_count > 1 or self._holding.is_running_elsewhere():
            logger.info("taking the session over")
            if not self._commit(self._taking_over):
                self._holding.claim()

    def _settle(self, settles: Settles) -> None:
        make = self._prepare.settling(settles)
        if make is None or not self._commit(make):
            logger.info("the outcome of a function came too late, or again")

    def _taking_over(self, stamp: Stamp, facts: Facts) -> TakeOver:
        return TakeOver(stamp, facts, self._tools.deliveries)

    def _proceeding(self, stamp: Stamp, facts: Facts) -> Proceed:
        return Proceed(stamp, facts, self._tools.deliveries)

    def _round(self) -> bool:
        """Do what is due, start what may run, wait for news; returns whether to go on."""
        proposals = propose(self._holding.session)
        self._effects.keep_only(proposals.effects)
        now_ms = self._holding.now_ms()
        due_ms = proposals.next_due_ms
        has_come = due_ms is not None and due_ms <= now_ms
        is_due = proposals.is_ready or has_come or self._is_held_anew()
        if is_due and self._commit(self._proceeding):
            return True
        started = [self._start(effect) for effect in proposals.effects]
        if not self._effects:
            if not all(started):
                self._hand_over()
                return False
            if due_ms is None:
                return False
            if due_ms - now_ms > SLEPT_MS:
                schedule(self._tools.wake, self._holding, proposals)
                return False
            if not self._has_time(max(0, due_ms - now_ms) / 1000):
                self._hand_over()
                return False
        self._wait(due_ms, now_ms)
        return True

    def _is_held_anew(self) -> bool:
        """Return whether a budget pauses the session that was not looked at again yet.

        It may have been raised between the look that led to the pause and the pause itself: then
        whoever raised it did not find the session among those that are held.
        """
        held = {one.id for one in self._holding.session.interrupts if one.origin == "system"}
        is_new = not held <= self._looked_at
        self._looked_at |= held
        return is_new

    def _wait(self, due_ms: int | None, now_ms: int) -> None:
        timeout_s = IDLE_S
        if due_ms is not None and due_ms > now_ms:  # what is due already waits for room
            timeout_s = min(timeout_s, (due_ms - now_ms) / 1000)
        delta_s = self._stream.due_in_s()
        if delta_s is not None:
            timeout_s = min(timeout_s, delta_s)
        mail = self._effects.next(timeout_s)
        self._stream.tick()
        self._check_lease()
        if mail is not None:
            self._read(mail)

    def _read(self, mail: Mail) -> None:
        match mail:
            case Seen(head=head, watch=watch):
                self._look(head, watch)
            case Ended():
                self._end(mail)

    def _end(self, ended: Ended) -> None:
        effect = ended.effect
        self._runs.pop(effect, None)
        if not self._effects.done(effect):
            return  # revoked: what it brought is not wanted any more
        if ended.error is not None:
            raise ended.error
        if ended.make is not None:
            self._commit(ended.make)
        elif isinstance(effect, HandToMachine):
            self._handed.add(effect)

    def _look(self, head: Head | None, watch: Watch) -> None:
        if head is None or head.created != self._holding.head.created:
            raise OwnerChanged  # deleted meanwhile; its id may be used again
        self._stream.watched_by(watch)
        if head.version > self._holding.head.version:
            for commit in self._holding.reload():
                self._stream.commit(commit)

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
        """Who subscribed before now is pushed the commit; who does so later reads it in the log."""
        try:
            self._stream.watched_by(self._tools.store.watch(self._holding.key))
        except EverturnError as error:
            logger.warning("readers could not be looked up", reason=type(error).__name__)

    def _hand_over(self) -> None:
        """Leave the session to the next invocation, which has the time that a request needs.

        Nothing of ours is under way: what is dispatched is released, so that it is not taken for
        something that was started and lost.
        """
        self._holding.release()
        head = self._holding.head
        dedup = self._invocation.request_id
        self._tools.wake.now(self._holding.key, head.created, "llm", head.version, dedup)

    def _saw(self, head: Head | None, watch: Watch) -> None:
        self._effects.mailbox.put(Seen(head, watch))

    def _start(self, effect: Effect) -> bool:
        """Start an effect that is not under way; returns `False` where too little time is left."""
        if effect in self._effects or effect in self._handed:
            return True
        prepared = self._prepare(effect, inherited=effect in self._inherited)
        if not self._has_time(prepared.limit_s):
            return False
        self._check_lease()
        self._runs[effect] = prepared.run
        self._effects.start(effect)
        return True

    def _has_time(self, limit_s: float) -> bool:
        return self._invocation.remaining_ms() >= (limit_s + MARGIN_S) * 1000

    def _check_lease(self) -> None:
        if not self._lease.is_held():
            raise LeaseLost("the lease on the wake-up is gone")

    def _body(self, effect: Effect, revoked: Callable[[], bool]) -> MakeCommand | None:
        return self._runs[effect](revoked)
