"""What a worker says outside of a delivery: an answer to a question, the end of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from everturn.commands.change import ChangeSession
from everturn.commands.readings import readings_of, settlement_reading, with_routes
from everturn.commands.tool_answers import answer_command, settled_by
from everturn.commands.worker_state import state_at
from everturn.ports.callers import Caller
from everturn.ports.decider import DeliveryFailed
from everturn.ports.sessions import SessionKey
from everturn.protocol.action import SETTLE_ACTION
from everturn.protocol.decision import DECISION_RESPONSE, check_response
from everturn.protocol.outside import LATE_ANSWER
from everturn.protocol.wire import parse, to_json
from everturn.rejections import (
    CallNotOpen,
    DecisionNotLive,
    MissingCallId,
    ModelRequired,
    SchemaViolation,
)
from everturn.session.commands import AnswerDecision, Command, SettleCall
from everturn.session.decide.response import SETTLES
from everturn.session.facts import Facts, Stamp
from everturn.session.state import Decision, Session


class SubmitAnswer:
    """The use case behind `POST /v1/workers/submit`. Source: decision-protocol F-1, D-7, D-11."""

    def __init__(self, change: ChangeSession) -> None:
        self._change = change

    def __call__(self, caller: Caller, body: Any) -> bool:
        """Apply an answer to a live question; returns whether it was over already.

        Raises `SchemaViolation` and what an answer may be refused for, `UnknownSession`,
        `UnknownDecision`, `DecisionNotLive`.
        """
        session_id, decision_id, response = _read(body)

        def answer(stamp: Stamp, facts: Facts, session: Session) -> Command:
            decision = session.decision(decision_id)
            if session.decides == "engine" and decision is not None:
                return self._run_call(caller, session, decision, response, (stamp, facts))
            if session.decides == "engine":
                facts = with_whole_log(self._change, caller, session, facts)
            reader, owner_id = self._change.reader, session.owner_id
            routed = with_routes(facts, response, partial(reader.route, caller.tenant))
            target = partial(reader.target_problem, caller.tenant, owner_id)
            readings = readings_of(response, decision, session, facts, target)
            return AnswerDecision(stamp, routed, decision_id, response, readings)

        return not self._change(caller, session_id, answer).events

    def _run_call(
        self,
        caller: Caller,
        session: Session,
        decision: Decision,
        response: Mapping[str, Any],
        at: tuple[Stamp, Facts],
    ) -> Command:
        """Return what an answer to an order to run a call means, where the engine decides."""
        call, (stamp, facts) = session.call(decision.call_id), at
        if decision.status == "queued":
            raise DecisionNotLive(f"The decision {decision.id} has not been asked yet.")
        if call is None:
            raise CallNotOpen(f"The call {decision.call_id} has ended.")
        key = SessionKey(caller.tenant, session.session_id)
        state = state_at(self._change.store, key, session.state_seq)
        given = DECISION_RESPONSE.validate_python(response)
        settled = settled_by(given, decision.trigger, call, facts, state)
        if isinstance(settled, DeliveryFailed):
            raise SchemaViolation(settled.error)
        return answer_command(stamp, facts, decision, settled, deliveries=None)


def with_whole_log(change: ChangeSession, caller: Caller, session: Session, facts: Facts) -> Facts:
    """Return `facts` with every event: they tell whether a decision or a call ever was."""
    key = SessionKey(caller.tenant, session.session_id)
    logged = change.store.log(key, 1, session.seq)
    return replace(facts, events=dict(one for commit in logged for one in commit.numbered()))


def _read(body: Any) -> tuple[str, str, dict[str, Any]]:
    given = parse(LATE_ANSWER, body)
    check_response(given, decides="worker")
    shown = to_json(given)
    session_id, decision_id = shown.pop("session_id"), shown.pop("decision_id")
    _check_explicit(shown)
    return session_id, decision_id, shown


def _check_explicit(response: Mapping[str, Any]) -> None:
    """Nothing is filled in from a trigger that the engine is not waiting on. Source: F-1."""
    for position, action in enumerate(response.get("actions") or ()):
        if action["type"] in SETTLES and not action.get("id"):
            raise MissingCallId(f"/actions/{position}/id: is needed in an answer sent later")
        if action["type"] == "llm.call" and not action.get("model"):
            raise ModelRequired(f"/actions/{position}/model: is needed in an answer sent later")


class SettleCalls:
    """The use case behind `POST /v1/sessions/{id}/calls/settle`. Source: F-1, U-6, U-12."""

    def __init__(self, change: ChangeSession) -> None:
        self._change = change

    def __call__(
        self, caller: Caller, session_id: str, body: Any, *, handlers: tuple[str, ...]
    ) -> None:
        """End an open call that one of `handlers` runs.

        Raises `SchemaViolation`, `UnknownSession`, `UnknownCall`, `WrongHandler`, `CallNotOpen`,
        `StaleAttempt`, `InvalidLlmResponse`.
        """
        action = to_json(parse(SETTLE_ACTION, body))
        if not action.get("id"):
            raise MissingCallId("/id: names the call to end")

        def settle(stamp: Stamp, facts: Facts, session: Session) -> Command:
            if session.decides == "engine" and session.call(action["id"]) is None:
                facts = with_whole_log(self._change, caller, session, facts)
            reading = settlement_reading(action, action["id"], session, facts)
            return SettleCall(stamp, facts, action, handlers, reading)

        self._change(caller, session_id, settle)
