"""Makes an effect ready to run: what must be read is read on the loop's thread; starts nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from everturn.drive.decision import DELIVERY_LIMIT_S, deliver
from everturn.drive.holding import Holding, MakeCommand
from everturn.drive.llm import REQUEST_LIMIT_S, Attempt, rebuilt, requested_event, run_model_call
from everturn.drive.stream import Stream
from everturn.drive.tool import state_of, to_command, to_request
from everturn.drive.tools import Tools
from everturn.errors import DefectError
from everturn.ports.decider import Deferred, DeliveryFailed
from everturn.protocol.llm import StreamDelta
from everturn.session.events.model_calls import RequestHeader
from everturn.session.events.sessions import SessionCreated
from everturn.session.propose import CallModel, DeliverToWorker, Effect

Run = Callable[[Callable[[], bool]], MakeCommand | None]
"""Runs an effect; the argument tells that nobody wants its outcome any more."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An effect that can start, and the longest that it may take."""

    limit_s: float
    run: Run


class Preparer:
    """Prepares the effects of one session."""

    def __init__(self, tools: Tools, holding: Holding, stream: Stream) -> None:
        self._tools = tools
        self._holding = holding
        self._stream = stream

    def __call__(self, effect: Effect) -> Prepared:
        """Return `effect` ready to run. Raises `DefectError` where the log contradicts the head."""
        match effect:
            case CallModel():
                return self._model_call(effect)
            case DeliverToWorker():
                return self._delivery(effect)

    def _model_call(self, effect: CallModel) -> Prepared:
        holding, stream = self._holding, self._stream
        call = holding.session.call(effect.call_id)
        if call is None:
            raise DefectError(f"there is no model call {effect.call_id}")
        logged = holding.loaded.logged
        request = rebuilt(holding.session, call, logged, holding.loaded.facts, self._stored_header)
        asked = requested_event(call, logged)
        limit_s = self._time_left_s(call.deadline_ms, REQUEST_LIMIT_S)
        until = time.monotonic() + limit_s
        stream.begin(
            holding.dispatch_seq, call.id, call.attempt, call.turn_id, holding.session.agent_id
        )

        def show(delta: StreamDelta) -> None:
            if asked.stream:
                stream.delta(call.id, call.attempt, delta)

        def run(revoked: Callable[[], bool]) -> MakeCommand | None:
            attempt = Attempt(effect, lambda: time.monotonic() >= until, revoked, show)
            return run_model_call(
                self._tools.models, asked.model, request, attempt, self._tools.deliveries
            )

        return Prepared(limit_s, run)

    def _delivery(self, effect: DeliverToWorker) -> Prepared:
        holding, tools = self._holding, self._tools
        decision = holding.session.decision(effect.decision_id)
        call = holding.session.call(effect.call_id)
        if decision is None or call is None:
            raise DefectError(f"there is nothing to deliver for {effect.decision_id}")
        facts, state = holding.loaded.facts, self._state()
        request = to_request(holding.session, decision, call, holding.loaded, state, self._owner())
        record = tools.agents(holding.key.tenant, holding.session.agent_id)
        limit_s = self._time_left_s(decision.deadline_ms, DELIVERY_LIMIT_S)

        def run(revoked: Callable[[], bool]) -> MakeCommand | None:
            until = time.monotonic() + limit_s
            answer = deliver(
                tools.decider, record, tools.secrets, request, timeout_s=limit_s, cancelled=revoked
            )
            if isinstance(answer, Deferred):
                answer = _waited(until, revoked)
            if revoked():
                return None
            return to_command(answer, decision, call, facts, state, tools.deliveries)

        return Prepared(limit_s, run)

    def _time_left_s(self, deadline_ms: int | None, limit_s: float) -> float:
        if deadline_ms is None:
            return limit_s
        return min(limit_s, max(0.0, (deadline_ms - self._holding.now_ms()) / 1000))

    def _stored_header(self) -> dict[str, Any]:
        holding = self._holding
        seq = holding.session.header_seq
        logged = self._tools.store.materialise(
            holding.key, self._tools.store.log(holding.key, seq, seq)
        )
        for commit in logged:
            for number, event in commit.numbered():
                if number == seq and isinstance(event, RequestHeader):
                    header: dict[str, Any] = event.header
                    return header
        raise DefectError(f"there is no request header at event {seq}")

    def _state(self) -> Any:
        """Return the worker's state that holds, `None` where there is none."""
        holding, store = self._holding, self._tools.store
        seq = holding.session.state_seq
        if not seq:
            return None
        found = state_of(seq, holding.loaded.logged)
        if found is None:
            found = state_of(seq, store.materialise(holding.key, store.log(holding.key, seq, seq)))
        return found.state if found else None

    def _owner(self) -> dict[str, Any]:
        """Return the session's owner as a worker sees it. Source: decision-protocol Q-8."""
        holding, store = self._holding, self._tools.store
        logged = holding.loaded.logged
        if not logged or logged[0].first_seq > 1:
            logged = store.log(holding.key, 1, 1)
        created = logged[0].events[0]
        if not isinstance(created, SessionCreated):
            raise DefectError("a log begins with session.created")
        return created.owner.model_dump(exclude_none=True)


def _waited(until: float, revoked: Callable[[], bool]) -> DeliveryFailed:
    """Keep a delivery that the worker took on live until its deadline. Source: D-7."""
    while time.monotonic() < until and not revoked():
        time.sleep(min(0.5, max(0.0, until - time.monotonic())))
    return DeliveryFailed(
        error="the worker said that it would answer later, and did not",
        code="deadline_exceeded",
        retryable=True,
        started="unknown",
    )
