"""Puts a question to a worker that decides: its body, and what the answer means as a command.

It sends nothing and commits nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, assert_never

from everturn.commands.reading import SessionReader
from everturn.commands.readings import readings_of, with_routes
from everturn.drive.decision import failed_delivery
from everturn.drive.holding import Holding, MakeCommand
from everturn.errors import RejectedError
from everturn.llm.formats.bodies import to_body
from everturn.ports.decider import Answered, Deferred, DeliveryFailed, WorkerAnswer
from everturn.protocol.decision import check_response
from everturn.protocol.wire import to_json
from everturn.session.commands import (
    AnswerDecision,
    Command,
    DeferDecision,
    Deliveries,
    ModelFailure,
    SettleModelCall,
)
from everturn.session.facts import Facts, Stamp
from everturn.session.question import Asking, Readers, question
from everturn.session.records import Records
from everturn.session.state import Call, Decision, Session
from everturn.tools.schema import check_input


def question_body(holding: Holding, decision: Decision, owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `DecisionRequest` of a delivery, the same for every delivery of one question."""
    records = Records(holding.loaded.facts.events)
    readers = Readers(_checked, to_body)
    return question(Asking(holding.session, decision, owner, records, readers))


def _checked(schema: Any, text: str) -> dict[str, Any]:
    checked: dict[str, Any] = to_json(check_input(schema, text))
    return checked


def to_answer_command(
    answer: WorkerAnswer,
    decision: Decision,
    session_of: Holding,
    reader: SessionReader,
    deliveries: Deliveries,
) -> MakeCommand:
    """Return the command that a worker's answer means. Source: D-6 to D-9, P-2."""
    match answer:
        case Answered(response=response):
            try:
                check_response(response, decides="worker")
            except RejectedError as error:
                return failed_delivery(_invalid(error), decision, deliveries)
            return _answering(to_json(response), decision, session_of, reader, deliveries)
        case Deferred():
            return lambda stamp, facts: DeferDecision(stamp, facts, decision.id, decision.attempt)
        case DeliveryFailed():
            return failed_delivery(answer, decision, deliveries)
        case _:
            assert_never(answer)


def _answering(
    response: dict[str, Any],
    decision: Decision,
    holding: Holding,
    reader: SessionReader,
    deliveries: Deliveries,
) -> MakeCommand:
    def make(stamp: Stamp, facts: Facts) -> Command:
        session: Session = holding.session
        try:
            target = partial(reader.target_problem, holding.key.tenant, session.owner_id)
            readings = readings_of(response, decision, session, facts, target)
        except RejectedError as error:
            return failed_delivery(_invalid(error), decision, deliveries)(stamp, facts)
        routed = with_routes(facts, response, partial(reader.route, holding.key.tenant))
        return AnswerDecision(
            stamp, routed, decision.id, response, readings, decision.attempt, deliveries
        )

    return make


def _invalid(error: RejectedError) -> DeliveryFailed:
    return DeliveryFailed(error.message, error.code, True, "unknown", invalid=True)


def pointless(decision: Decision, deliveries: Deliveries) -> MakeCommand:
    """Return the end of an order to run what was settled meanwhile."""
    settled = DeliveryFailed("the call was settled meanwhile", "call_settled", False, "no")
    return failed_delivery(settled, decision, deliveries)


def unsendable(
    decision: Decision, call: Call | None, error: str, deliveries: Deliveries
) -> MakeCommand:
    """Return the end of a model call that its format has no place for. Source: W-6."""
    if call is None:
        return pointless(decision, deliveries)
    detail = {"reason": "unsupported_content"}
    failure = ModelFailure(error, "provider_error", retryable=False, detail=detail)
    return lambda stamp, facts: SettleModelCall(
        stamp, facts, call.id, call.attempt, failure, deliveries
    )
