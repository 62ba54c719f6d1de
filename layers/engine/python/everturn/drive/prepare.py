"""Makes an effect ready to run: what must be read is read on the loop's thread; starts nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from everturn.commands.worker_state import state_at
from everturn.delivery.function_answer import from_step_error, from_value
from everturn.drive.attachments import Attachments
from everturn.drive.crossing import CROSSING_LIMIT_S, sending, starting
from everturn.drive.decision import DELIVERY_LIMIT_S, deliver
from everturn.drive.holding import Holding, MakeCommand
from everturn.drive.last_words import Said, last_words
from everturn.drive.llm import Attempt, Sent, rebuilt, requested_event, run_model_call
from everturn.drive.machine import SlowDelivery, is_function, obstacle, patiently
from everturn.drive.question import pointless, question_body, to_answer_command, unsendable
from everturn.drive.replays import replays_of
from everturn.drive.stream import Stream
from everturn.drive.tool import model_order, to_command, to_request, tool_order
from everturn.drive.tools import Tools
from everturn.errors import DefectError
from everturn.llm.formats.anthropic import UnsupportedContent
from everturn.llm.formats.bodies import delta_reader
from everturn.ports.decider import DeliveryFailed, WorkerAnswer
from everturn.ports.model import MAX_ATTEMPT_S
from everturn.ports.wake import FunctionRun
from everturn.protocol.llm import StreamDelta
from everturn.protocol.wake import Settles
from everturn.session.decide.questions import EXECUTES
from everturn.session.events.model_calls import RequestHeader
from everturn.session.events.sessions import SessionCreated
from everturn.session.propose import (
    CallModel,
    DeliverToWorker,
    Effect,
    HandToMachine,
    NoteLastWords,
    SendOut,
    StartSubAgent,
)
from everturn.session.request import BuiltRequest
from everturn.session.state import Call, Decision
from everturn.tools.answer import client_inputs

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
        self._attachments = Attachments(tools.uploads, holding.key.tenant, holding.session.owner_id)
        self._said: dict[tuple[str, int], Said] = {}
        """What model calls that run here have said, by call and attempt."""

    def __call__(self, effect: Effect, *, inherited: bool = False) -> Prepared:
        """Return `effect` ready to run; `inherited` is one that an earlier driver recorded.

        Raises `DefectError` where the log contradicts the head.
        """
        match effect:
            case CallModel():
                return self._model_call(effect)
            case DeliverToWorker():
                return self._delivery(effect)
            case HandToMachine():
                return self._handing(effect, is_fresh=not inherited)
            case NoteLastWords(call_id=call_id, attempt=attempt):
                said = self._said.get((call_id, attempt))
                noted = last_words(effect, said, self._tools.store, self._holding.key)
                return Prepared(0, lambda _revoked: noted)
            case StartSubAgent():
                begins = starting(effect, self._tools, self._holding, self._owner)
                return Prepared(CROSSING_LIMIT_S, begins)
            case SendOut():
                sends = sending(effect, self._tools, self._holding, self._owner)
                return Prepared(CROSSING_LIMIT_S, sends)

    def settling(self, settles: Settles) -> MakeCommand | None:
        """Return what settles a delivery that the step machine made; `None` if it is out of date.

        It is what a driver's own delivery with that outcome would lead to.
        """
        holding, error = self._holding, settles.error
        decision = holding.session.decision(settles.decision_id)
        call = holding.session.call(decision.call_id) if decision else None
        if decision is None or call is None or not decision.by_machine:
            return None
        if decision.attempt != settles.attempt:
            return None
        answer = from_value(settles.answer) if error is None else from_step_error(error)
        return self._heard(decision, call, self._state())(answer)

    def _model_call(self, effect: CallModel) -> Prepared:
        holding, stream = self._holding, self._stream
        call = holding.session.call(effect.call_id)
        if call is None:
            raise DefectError(f"there is no model call {effect.call_id}")
        request, asked = self._rebuilt(call), requested_event(call, holding.loaded.logged)
        limit_s = self._time_left_s(call.deadline_ms, MAX_ATTEMPT_S)
        until = time.monotonic() + limit_s
        stream.begin(
            holding.dispatch_seq, call.id, call.attempt, call.turn_id, holding.session.agent_id
        )

        def show(delta: StreamDelta) -> None:
            if asked.stream:
                stream.delta(call.id, call.attempt, delta)

        said = self._said[call.id, call.attempt] = Said()
        key, logged = holding.key, holding.loaded.logged
        replays = replays_of(logged, request.body["messages"])
        client_tools = client_inputs(holding.loaded.facts.agent.config)
        filled = self._attachments.filled
        sent = Sent(key.tenant, key.session, request, filled, replays, client_tools)

        def run(revoked: Callable[[], bool]) -> MakeCommand | None:
            expired = lambda: time.monotonic() >= until  # noqa: E731  # one line of five
            attempt = Attempt(effect, expired, revoked, show, said, limit_s)
            made = run_model_call(self._tools.models, sent, attempt, self._tools.deliveries)
            stream.drain(call.id, call.attempt)
            return made

        return Prepared(limit_s, run)

    def _delivery(self, effect: DeliverToWorker) -> Prepared:
        holding, tools, stream = self._holding, self._tools, self._stream
        decision, call = self._subject(effect)
        if decision.trigger in EXECUTES and call is None:
            return Prepared(0, lambda _revoked: pointless(decision, tools.deliveries))
        state = self._state()
        try:
            request = self._request(decision, state)
        except UnsupportedContent as error:
            failed = unsendable(decision, call, str(error), tools.deliveries)
            return Prepared(0, lambda _revoked: failed)
        heard, on_delta = self._heard(decision, call, state), self._on_delta(decision, call)
        record = tools.agents(holding.key.tenant, holding.session.agent_id)
        limit_s = self._time_left_s(decision.deadline_ms, DELIVERY_LIMIT_S)

        def run(revoked: Callable[[], bool]) -> MakeCommand | None:
            answer = deliver(
                tools.decider,
                record,
                tools.secrets,
                request,
                timeout_s=limit_s,
                cancelled=revoked,
                on_delta=on_delta,
            )
            if call is not None:
                stream.drain(call.id, call.attempt)
            return None if revoked() else heard(answer)

        return Prepared(limit_s, run)

    def _request(self, decision: Decision, state: Any) -> dict[str, Any]:
        """Return the body of a delivery."""
        holding = self._holding
        if holding.session.decides == "worker":
            return question_body(holding, decision, self._owner())
        call = holding.session.call(decision.call_id)
        if call is None:
            raise DefectError(f"there is nothing to deliver for {decision.id}")
        loaded, owner = holding.loaded, self._owner()
        if call.kind == "llm_call":
            order = model_order(call, requested_event(call, loaded.logged), self._rebuilt(call))
        else:
            order = tool_order(holding.session, decision, call, loaded)
        return to_request(holding.session, decision, call, order, loaded, state, owner)

    def _rebuilt(self, call: Call) -> BuiltRequest:
        loaded = self._holding.loaded
        session = self._holding.session
        return rebuilt(session, call, loaded.logged, loaded.facts, self._stored_header)

    def _heard(
        self, decision: Decision, call: Call | None, state: Any
    ) -> Callable[[WorkerAnswer], MakeCommand]:
        """Return what tells what a worker's answer means."""
        holding, tools = self._holding, self._tools
        if call is None or holding.session.decides == "worker":
            return lambda answer: to_answer_command(
                answer, decision, holding, tools.reader, tools.deliveries
            )
        facts = holding.loaded.facts
        return lambda answer: to_command(answer, decision, call, facts, state, tools.deliveries)

    def _on_delta(self, decision: Decision, call: Call | None) -> Callable[[str], None] | None:
        """Return what shows the deltas of a model call that the worker streams. Source: W-8."""
        if call is None or decision.trigger != "llm.execute" or not call.stream:
            return None
        holding, stream = self._holding, self._stream
        read = delta_reader(requested_event(call, holding.loaded.logged).format)
        stream.begin(
            holding.dispatch_seq, call.id, call.attempt, call.turn_id, holding.session.agent_id
        )

        said = self._said[call.id, call.attempt] = Said()

        def show(text: str) -> None:
            delta = read(text)
            if delta is not None:
                said.hear(delta)
                stream.delta(call.id, call.attempt, delta)

        return show

    def _handing(self, effect: HandToMachine, *, is_fresh: bool) -> Prepared:
        holding, tools = self._holding, self._tools
        decision, call = self._subject(effect)
        if call is None:
            return Prepared(0, lambda _revoked: pointless(decision, tools.deliveries))
        state, head = self._state(), holding.head
        request, heard = self._request(decision, state), self._heard(decision, call, state)
        record = tools.agents(holding.key.tenant, holding.session.agent_id)
        slow = SlowDelivery(decision, call, request, record, is_fresh)

        def run(revoked: Callable[[], bool]) -> MakeCommand | None:
            found = obstacle(slow, tools.functions, tools.deliveries)
            if isinstance(found, DeliveryFailed):
                return heard(found)
            if found is not None or record is None or not is_function(record):
                return found
            started = FunctionRun(
                function=record.worker,
                request=request,
                decision_id=decision.id,
                attempt=decision.attempt,
                deadline_ms=decision.deadline_ms or 0,
            )
            patiently(
                lambda: tools.wake.after(holding.key, head.created, head.version, started),
                revoked,
                tools.patience_s,
            )
            return None

        return Prepared(tools.patience_s, run)

    def _subject(self, effect: DeliverToWorker | HandToMachine) -> tuple[Decision, Call | None]:
        """Return the question, and the call that it asks to run, where that is open still."""
        session = self._holding.session
        decision = session.decision(effect.decision_id)
        if decision is None:
            raise DefectError(f"there is nothing to deliver for {effect.decision_id}")
        return decision, session.call(effect.call_id)

    def _time_left_s(self, deadline_ms: int | None, limit_s: float) -> float:
        if deadline_ms is None:
            return limit_s
        return min(limit_s, max(0.0, (deadline_ms - self._holding.now_ms()) / 1000))

    def _stored_header(self, seq: int) -> dict[str, Any]:
        holding = self._holding
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
        """Return what an engine-decided session hands its worker as state, `None` for none."""
        holding, store = self._holding, self._tools.store
        if holding.session.decides == "worker":  # the question brings it along
            return None
        seq = holding.session.state_seq
        return state_at(store, holding.key, seq, holding.loaded.logged)

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
