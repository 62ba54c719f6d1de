"""What the routes of calls, interrupts and workers do: a request to a use case, no rules."""

from __future__ import annotations

from http import HTTPStatus

from everturn.commands.answer_later import SettleCalls, SubmitAnswer
from everturn.commands.cancel import Cancels
from everturn.commands.interrupts import Interrupts
from everturn.commands.resolve_wait import ResolveWait
from everturn.protocol.limits import MAX_DECISION_BODY_BYTES, MAX_INPUT_BODY_BYTES
from everturn.surfaces.routes import Operation, Request, Result
from everturn.surfaces.session_routes import named_session


def decision_operations(
    answer: SubmitAnswer,
    settle: SettleCalls,
    interrupts: Interrupts,
    cancels: Cancels,
    waits: ResolveWait,
) -> dict[str, Operation]:
    """Return the operations by name. Source: decision-protocol F-1."""

    def submit_answer(request: Request) -> Result:
        was_over = answer(request.caller, request.body(MAX_DECISION_BODY_BYTES))
        return HTTPStatus.OK, {"ok": True, **({"duplicate": True} if was_over else {})}

    def settle_call(request: Request) -> Result:
        body = request.body(MAX_INPUT_BODY_BYTES)
        settle(request.caller, named_session(request), body, handlers=("worker", "client"))
        return HTTPStatus.OK, {"ok": True}

    def interrupt_session(request: Request) -> Result:
        body = request.body(MAX_INPUT_BODY_BYTES)
        interrupt_id = interrupts.interrupt(request.caller, named_session(request), body)
        return HTTPStatus.OK, {"ok": True, "interrupt_id": interrupt_id}

    def resume_session(request: Request) -> Result:
        session_id, body = named_session(request), request.body(MAX_INPUT_BODY_BYTES)
        resumed = interrupts.resume_by(request.caller, session_id, body)
        answered = {"ok": True, "session_id": session_id, "resumed": resumed}
        return HTTPStatus.ACCEPTED, answered

    def cancel_session(request: Request) -> Result:
        session_id, body = named_session(request), request.optional_body(MAX_INPUT_BODY_BYTES)
        cancelled = cancels.session(request.caller, session_id, body)
        return HTTPStatus.OK, {"ok": True, "session_id": session_id, "cancelled": cancelled}

    def cancel_turn(request: Request) -> Result:
        session_id, body = named_session(request), request.optional_body(MAX_INPUT_BODY_BYTES)
        ended = cancels.turn(request.caller, session_id, request.path["turn_id"], body)
        answered = {"ok": True, "session_id": session_id, "turn_id": ended.turn_id}
        return HTTPStatus.OK, {**answered, "cancelled": ended.is_cancelled}

    def resolve_wait(request: Request) -> Result:
        session_id, body = named_session(request), request.body(MAX_INPUT_BODY_BYTES)
        was_over = waits(request.caller, session_id, request.path["interrupt_id"], body)
        return HTTPStatus.OK, {"ok": True, **({"duplicate": True} if was_over else {})}

    return {
        "cancel_session": cancel_session,
        "cancel_turn": cancel_turn,
        "submit_answer": submit_answer,
        "settle_call": settle_call,
        "interrupt_session": interrupt_session,
        "resume_session": resume_session,
        "resolve_wait": resolve_wait,
    }
